#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A Debian package and an archive, made by CPack and unpacked where they were not built: the program says what the built
# one says, the package names the libraries that it loads, and licences are there. Usage: package.sh STEPCAST ROOT
set -euo pipefail
command -v dpkg-shlibdeps >/dev/null || { echo "skipped: no dpkg-shlibdeps"; exit 77; }
build=$(cd "$(dirname "$1")/.." && pwd)
stepcast=$(realpath "$1")
root=$(realpath "$2")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$root/tests/cli/run_checks.sh"
mkdir "$made/elsewhere"
cd "$made/elsewhere"
cpack --config "$build/CPackConfig.cmake" -G "DEB;TGZ" -B "$made/packages" >"$made/out" 2>&1 || {
  cat "$made/out"
  exit 1
}
deb=$(find "$made/packages" -maxdepth 1 -name '*.deb')
archive=$(find "$made/packages" -maxdepth 1 -name '*.tar.gz')

dpkg-deb --info "$deb" >"$made/out"
says ' Package: stepcast$'
says " Version: $("$stepcast" --version | cut -d' ' -f2)\$"
dpkg-deb --field "$deb" Depends >"$made/out"
for library in libc6 libstdc++6 libyaml-0-2 libyaml-cpp libspdlog libtbb zlib1g libsqlite3-0; do says "$library"; done

question=(project --model llama3.1_8b --gpu h100_sxm --gbs 64)
"$stepcast" "${question[@]}" >built.txt
# The commands of a user find everything in the unpacked tree, also through a link, wherever it lies.
check_tree() { # its folder of bin/ and share/
  local program=$1/bin/stepcast text=$1/share/doc/stepcast
  "$program" "${question[@]}" >unpacked.txt || complain "$program fails"
  cmp built.txt unpacked.txt || complain "$program says something else"
  ln -sf "$program" linked
  ./linked "${question[@]}" | cmp - built.txt || complain "it finds no data through a link"
  cmp -s "$text/LICENSE" "$root/LICENSE" || complain "no licence in $1"
  grep -q '^Files: CLI11$' "$text/copyright" || complain "no notices in $1"
  grep -q 'Mike Bostock' "$text/d3_licence.txt" || complain "no licence of D3 in $1"
  [ -s "$1/share/man/man1/stepcast.1" ] || complain "no manual in $1"
  [ -z "$(find "$1" -perm /022 ! -type l)" ] || complain "others may write in $1"
}
umask 022
dpkg-deb -x "$deb" "$made/a folder of a package"
check_tree "$made/a folder of a package/usr"
mkdir "$made/an archive"
tar -xf "$archive" -C "$made/an archive" --strip-components=1
check_tree "$made/an archive"
mv "$made/an archive" "$made/moved"
check_tree "$made/moved"
# Whoever builds it, the files are root's.
[ -z "$(dpkg-deb -c "$deb" | awk '$2 != "root/root"')" ] || complain "the package has files of others than root"
echo "a package of $(stat -c %s "$deb") bytes, an archive of $(stat -c %s "$archive")"
exit "$failed"
