#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites hardware_profiles/accuracy.json, the errors of held-out runs that the stated intervals follow from, from
# a release build and the shipped measurements. With --check it only says whether the file is up to date.
# Usage: update_accuracy.sh [--check] [STEPCAST]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/measured_runs.sh
source "$root/scripts/measured_runs.sh"
check=false
if [ "${1:-}" = --check ]; then
  check=true
  shift
fi
stepcast=${1:-$root/build/release/bin/stepcast}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
made="$folder/accuracy.json"
copy_measured_runs "$root" "$folder"
cd "$folder"
"$stepcast" validate "${measured_runs[@]}" --format accuracy >"$made"
if $check; then
  diff -u "$root/hardware_profiles/accuracy.json" "$made" ||
    { echo "hardware_profiles/accuracy.json is out of date: run scripts/update_accuracy.sh" >&2; exit 1; }
else
  cat "$made" >"$root/hardware_profiles/accuracy.json"
fi
