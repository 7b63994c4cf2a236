#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites hardware_profiles/accuracy.json, the errors of held-out runs that the stated intervals follow from, from
# a release build and the shipped measurements. With --check it only says whether the file is up to date.
# Usage: update_accuracy.sh [--check] [STEPCAST]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
check=false
if [ "${1:-}" = --check ]; then
  check=true
  shift
fi
stepcast=${1:-$root/build/release/bin/stepcast}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
made="$folder/accuracy.json"
cd "$root/tests/validation"
# Runs under a profiler are no plain runs: they have a time that no batch changes.
# One run of training_runs.jsonl is a row of torchtitan_671b.jsonl, with the settings that its thread states.
grep -v '^{"id":"titan-dsv3-671b' training_runs.jsonl >"$folder/training_runs.jsonl"
grep -v 'under the profiler' minimal_async_ep.jsonl >"$folder/minimal_async_ep.jsonl"
"$stepcast" validate "$folder/training_runs.jsonl" {h200_steps,routed_steps,pair_steps,megatron_table5,primus_projection,blackwell_ultra}.jsonl \
  {nemo_automodel,torchtitan_671b,mixer_steps,primus_mixers}.jsonl "$folder/minimal_async_ep.jsonl" \
  {user_reports,training_runs_2026,training_runs_2026_b}.jsonl --format accuracy >"$made"
if $check; then
  diff -u "$root/hardware_profiles/accuracy.json" "$made" ||
    { echo "hardware_profiles/accuracy.json is out of date: run scripts/update_accuracy.sh" >&2; exit 1; }
else
  cat "$made" >"$root/hardware_profiles/accuracy.json"
fi
