#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a bare Debian 12 machine to a projection: installs what is missing, builds, and projects the
# default example; with arguments, passes them to the stepcast program.
#   scripts/run.sh
#   scripts/run.sh project --model llama3.1_8b --gpu h100_sxm
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/scripts/packages.sh"
"$root/scripts/install_packages.sh" "${build_packages[@]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! (cd "$root" && cmake --preset release && cmake --build --preset release --target stepcast_cli) \
  >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
if [ "$#" -eq 0 ]; then
  set -- project "$root/examples/01_llama3.1_70b_mi300x/experiment.yaml"
fi
"$root/build/release/bin/stepcast" "$@"
