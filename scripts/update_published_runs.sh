#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites hardware_profiles/published_runs.json, the measured runs that a diagnosis stands beside, from a release build
# and the shipped measurements. With --check it only says whether the file is up to date.
# Usage: update_published_runs.sh [--check] [STEPCAST]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/measured_runs.sh
source "$root/scripts/measured_runs.sh"
# Steps that were measured for stepcast are no runs of others.
others=()
for file in "${measured_runs[@]}"; do
  case $file in
    h200_steps.jsonl | routed_steps.jsonl | pair_steps.jsonl | mixer_steps.jsonl) ;;
    *) others+=("$file") ;;
  esac
done
report_of_runs "$root" published_runs published update_published_runs.sh others "$@"
