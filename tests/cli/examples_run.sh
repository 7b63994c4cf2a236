#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every shipped experiment projects (exit 0, or 4 where memory is tight), on every GPU also 3 with reasons, and says the
# same twice. Usage: examples_run.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
root=$2
gpus=$("$stepcast" list gpus | awk '{print $1}')
failed=0
runs=0
out=$(mktemp)
again=$(mktemp)
trap 'rm -f "$out" "$again"' EXIT
complain() { echo "FAILED: $*"; failed=1; }
for experiment in "$root"/examples/*/experiment.yaml "$root"/configs/experiments/*.yaml; do
  # Measured runs that took more than what is sure to be there ship, too.
  "$stepcast" project "$experiment" >"$out" || [ $? -eq 4 ] || complain "$experiment exits $? as shipped"
  "$stepcast" project "$experiment" >"$again" || true
  cmp -s "$out" "$again" || complain "$experiment: two runs differ"
  runs=$((runs + 2))
  for gpu in $gpus; do
    code=0
    "$stepcast" project "$experiment" --gpu "$gpu" >"$out" || code=$?
    runs=$((runs + 1))
    case $code in
      0) ;;
      4) grep -q "tight" "$out" || complain "$experiment on $gpu: exit 4 without tight memory" ;;
      3) grep -q "^  - " "$out" || complain "$experiment on $gpu: exit 3 without a reason" ;;
      *) complain "$experiment on $gpu exits $code" ;;
    esac
  done
done
echo "$runs runs"
exit $failed
