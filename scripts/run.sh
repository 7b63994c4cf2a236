#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a bare Debian 12 machine to a projection: installs what is missing, builds, and projects the
# default example; with arguments, passes them to the stepcast program. What it does meanwhile is said on
# standard error.
#   scripts/run.sh
#   scripts/run.sh project --model llama3.1_8b --gpu h100_sxm
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
program=$build/bin/stepcast
source "$root/scripts/packages.sh"
source "$root/scripts/progress.sh"
"$root/scripts/install_packages.sh" "${build_packages[@]}"
if [ "$#" -eq 0 ]; then
  set -- project "$root/examples/01_llama3.1_70b_mi300x/experiment.yaml"
fi

# A build folder that is there is configured again by the build itself, where a file of CMake changed.
if [ ! "$build/build.ninja" -nt "$root/CMakePresets.json" ]; then
  quietly "configuring" cmake -S "$root" --preset release
fi
built=false
# Looking up the commit is a step of every build; what is more than it and a link takes its time.
if [ "$(ninja -C "$build" -n stepcast_cli | grep -c '^\[')" -gt 3 ]; then
  built=true
  say "building: about 3 minutes on two cores"
  with_progress "$build" stepcast_cli
else
  quietly "" ninja -C "$build" stepcast_cli
fi
"$program" "$@"
if $built; then
  say
  say "built in ${SECONDS} s. To have it as 'stepcast':"
  say "  cmake --install $build --prefix ~/.local     # into ~/.local/bin, without root"
  say "  cpack -G DEB --config $build/CPackConfig.cmake -B $build/packages    # a Debian package; needs dpkg-dev"
  say "  export PATH=$build/bin:\$PATH                 # or as it lies here"
fi
