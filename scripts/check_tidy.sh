#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy, whose warnings are errors, over the product's sources.
#   check_tidy.sh          files that are not as scripts/tidied has them: their contents when the whole tree was
#                          clean; a changed header is looked at in the source beside it, or in one that includes
#                          it. Where much changed the whole tree is no slower, and looked at.
#   check_tidy.sh --all    every source, in the batches that CMake compiles, so that their headers are read once
#   check_tidy.sh --record writes scripts/tidied, after --all found the tree clean
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
sources=('simulator/*.cpp' 'simulator/*.hpp' 'backends/*.cpp' 'backends/*.hpp')
looked_at=$(mktemp)
trap 'rm -f "$looked_at"' EXIT

# The first file with this ending that includes a header, if one does.
includer() {
  { grep -rlF --include="*.$2" "\"${1#simulator/}\"" simulator backends || true; } | sort | sed -n 1p
}

# The source in which a changed file is looked at: of a header that only headers include, theirs.
source_of() {
  local file=$1 source
  [ -f "$file" ] || return 0
  case $file in
    *.cpp) echo "$file" ;;
    *.hpp)
      source=${file%.hpp}.cpp
      [ -f "$source" ] || source=$(includer "$file" cpp)
      if [ -n "$source" ]; then echo "$source"; else source_of "$(includer "$file" hpp)"; fi
      ;;
  esac
}

look() {
  xargs -r -P "$(nproc)" -n 1 clang-tidy --quiet --checks=-bugprone-suspicious-include -p build/clang \
    <"$looked_at" 2> >(grep -v "warnings generated" >&2)
}

# The commands by which the product's sources are compiled; the Python module's are among them.
configure() {
  cmake --preset clang -DSTEPCAST_TESTS=OFF -DSTEPCAST_PYTHON=ON -DPython3_EXECUTABLE=/usr/bin/python3 "$@" >/dev/null
}

look_at_all() {
  configure
  # Files that the build makes are not there, and not ours.
  sed -n 's/^ *"file": "\(.*\)".*/\1/p' build/clang/compile_commands.json |
    while read -r file; do [ ! -f "$file" ] || echo "$file"; done >"$looked_at"
  look
  echo "clang-tidy: ok, the whole tree"
}

# The hash of each file's contents, and its name.
contents() {
  git ls-files -c -o --exclude-standard -- "${sources[@]}" | sort | while read -r file; do
    [ ! -f "$file" ] || echo "$(git hash-object "$file") $file"
  done
}

case ${1:-} in
  --all) look_at_all; exit 0 ;;
  --record) contents >scripts/tidied; exit 0 ;;
esac
contents | { grep -vxFf scripts/tidied || true; } | cut -d ' ' -f 2 |
  while read -r file; do source_of "$file"; done | sort -u >"$looked_at"
if [ "$(wc -l <"$looked_at")" -gt 40 ]; then
  look_at_all
else
  configure -DCMAKE_UNITY_BUILD=OFF
  look
  echo "clang-tidy: ok, $(wc -l <"$looked_at") sources that changed since the whole tree was looked at"
fi
