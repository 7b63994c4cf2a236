#!/usr/bin/env bash
# clang-tidy, whose warnings are errors, over the product's sources.
#   check_tidy.sh         what changed since the commit that scripts/tidied names, at which the whole tree was
#                         clean; a changed header is looked at in the source beside it, or in one that includes
#                         it. Where much changed the whole tree is no slower, and looked at.
#   check_tidy.sh --all   every source, in the batches that CMake compiles, so that their headers are read once
# To move scripts/tidied on:  check_tidy.sh --all && git rev-parse HEAD >scripts/tidied
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
sources=('simulator/*.cpp' 'simulator/*.hpp' 'backends/*.cpp' 'backends/*.hpp')
looked_at=$(mktemp)
trap 'rm -f "$looked_at"' EXIT

# The source in which a changed file is looked at.
source_of() {
  [ -f "$1" ] || return 0
  case $1 in
    *.cpp) echo "$1" ;;
    *.hpp)
      if [ -f "${1%.hpp}.cpp" ]; then
        echo "${1%.hpp}.cpp"
      else
        grep -rlF --include='*.cpp' "\"${1#simulator/}\"" simulator backends | sort | head -n 1
      fi
      ;;
  esac
}

look() {
  xargs -r -P "$(nproc)" -n 1 clang-tidy --quiet --checks=-bugprone-suspicious-include -p build/clang \
    <"$looked_at" 2> >(grep -v "warnings generated" >&2)
}

look_at_all() {
  cmake --preset clang -DSTEPCAST_TESTS=OFF >/dev/null
  sed -n 's/^ *"file": "\(.*\)".*/\1/p' build/clang/compile_commands.json >"$looked_at"
  look
  echo "clang-tidy: ok, the whole tree"
}

clean=$(cat scripts/tidied)
if [ "${1:-}" = --all ] || ! git cat-file -e "$clean^{commit}" 2>/dev/null; then
  look_at_all
  exit 0
fi
git diff --name-only "$clean" -- "${sources[@]}" |
  while read -r file; do source_of "$file"; done | sort -u >"$looked_at"
if [ "$(wc -l <"$looked_at")" -gt 40 ]; then
  look_at_all
else
  cmake --preset clang -DSTEPCAST_TESTS=OFF -DCMAKE_UNITY_BUILD=OFF >/dev/null
  look
  echo "clang-tidy: ok, $(wc -l <"$looked_at") files that changed since $clean"
fi
