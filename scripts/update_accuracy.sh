#!/usr/bin/env bash
# Rewrites hardware_profiles/accuracy.yaml, the errors of held-out runs that `stepcast project` speaks of, from
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
made="$folder/accuracy.yaml"
cd "$root/tests/validation"
# The SimuMax runs of training_runs.jsonl are rows of simumax_b200.jsonl too.
grep -v '^{"id":"simumax-b200' training_runs.jsonl >"$folder/training_runs.jsonl"
"$stepcast" validate "$folder/training_runs.jsonl" {h200_steps,routed_steps,simumax_b200,megatron_table5}.jsonl \
  --format accuracy >"$made"
if $check; then
  diff -u "$root/hardware_profiles/accuracy.yaml" "$made" ||
    { echo "hardware_profiles/accuracy.yaml is out of date: run scripts/update_accuracy.sh" >&2; exit 1; }
else
  cat "$made" >"$root/hardware_profiles/accuracy.yaml"
fi
