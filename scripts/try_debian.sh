#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds what is committed with the packages of another Debian, warnings as errors, in a folder of its own, and
# runs the release tests there. Needs root, debootstrap and what scripts/tsan.sh says of where packages come
# from; some 20 minutes of one processor the first time.
#   scripts/try_debian.sh trixie           builds, runs the tests
#   scripts/try_debian.sh trixie PATTERN   those of them whose name has PATTERN
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
suite=${1:?usage: try_debian.sh SUITE [PATTERN]}
pattern=${2:-.}
system=$PWD/build/debian_$suite
source scripts/packages.sh
scripts/install_packages.sh debootstrap
if [[ ! -e $system/etc/debian_version ]]; then
  mirror=$(apt-cache policy libtbb-dev | sed -nE 's|^ +500 (http[^ ]*) [a-z]+/main .*|\1|p' | sed -n 1p)
  debootstrap --variant=minbase "$suite" "$system" "$mirror"
fi
# A copy that knows its commit; what was built there before is kept.
[[ -e $system/stepcast ]] || git clone -q --no-hardlinks . "$system/stepcast"
git push -qf "$system/stepcast" HEAD:refs/heads/tried
git -C "$system/stepcast" checkout -qf --detach tried

# Commands see the distribution's files alone; the data of measurements is read where it is.
inside() {
  chroot "$system" /usr/bin/env -i PATH="$PATH" LANG=C.UTF-8 HOME=/root bash -euo pipefail -c "cd /stepcast; $1"
}
mounted=()
# Lazily: a process that is left inside holds its place, and nothing may stay mounted in the build folder.
trap 'for place in "${mounted[@]}"; do umount --lazy "$place"; done' EXIT
mount_in() {
  mkdir -p "$system/$2"
  mount --bind "$1" "$system/$2"
  mounted+=("$system/$2")
}
mount_in /proc proc
mount_in /dev dev
if [[ -d ../shared ]]; then mount_in ../shared shared; fi
inside "scripts/install_packages.sh ${build_packages[*]} ${python_packages[*]}"
inside 'cmake --preset release -DSTEPCAST_PYTHON=ON -DPython3_EXECUTABLE=/usr/bin/python3 >/dev/null
  cmake --build --preset release'
inside "ctest --preset release --label-exclude '^all\$' --tests-regex '$pattern'"
