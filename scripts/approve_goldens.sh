#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites what the tests expect of reports and messages, the errors to expect (update_accuracy.sh), the page of
# accuracy, the measured runs that diagnoses show (update_published_runs.sh) and the README's outputs, from a release
# build.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
stepcast="$root/build/release/bin/stepcast"
"$root/scripts/update_accuracy.sh" "$stepcast"
"$root/scripts/update_accuracy_page.sh" "$stepcast"
"$root/scripts/update_published_runs.sh" "$stepcast"
for folder in "$root"/examples/*/; do
  [ -f "$folder/experiment.yaml" ] || continue
  "$stepcast" project "$folder/experiment.yaml" >"$folder/expected.txt" || [ $? -eq 4 ]  # memory is tight
  [ ! -f "$folder/expected_explain.txt" ] ||
    "$stepcast" explain "$folder/experiment.yaml" >"$folder/expected_explain.txt"
done
"$stepcast" layer "$root/tests/cli/layer/sonic_moe.yaml" >"$root/tests/cli/layer/sonic_moe.expected"
"$stepcast" diagnose "$root/tests/cli/diagnose/slow_network.yaml" --measured 200tok/s \
  >"$root/tests/cli/diagnose/slow_network.expected"
cd "$root/tests/cli/bad"
for input in *.yaml; do
  case $input in
    sweep_*) command=sweep ;;
    *) command=project ;;
  esac
  "$stepcast" "$command" "$input" >"${input%.yaml}.expected" 2>&1 || true
done
for input in cost_*.jsonl; do
  "$stepcast" cost --gpu h200_sxm "$input" >"${input%.*}.expected" 2>&1 || true
done
for input in validate_*.jsonl validate_*.csv; do
  "$stepcast" validate "$input" >"${input%.*}.expected" 2>&1 || true
done
cd "$root/tests/cli/cost"
for input in *.jsonl; do
  "$stepcast" cost --gpu h200_sxm --terms "$input" >"${input%.*}.expected"
done
"$root/tests/cli/published_runs.sh" --fix "$stepcast" "$root"
"$root/scripts/readme_outputs.sh" --fix "$stepcast"
