#!/usr/bin/env bash
# The report of every example is the one in its expected.txt. Usage: goldens.sh STEPCAST ROOT
# scripts/approve_goldens.sh rewrites them; say in the commit why a number moved.
set -euo pipefail
stepcast=$1
root=$2
failed=0
for folder in "$root"/examples/*/; do
  [ -f "$folder/experiment.yaml" ] || continue
  if ! diff -u "$folder/expected.txt" <("$stepcast" project "$folder/experiment.yaml"); then
    echo "FAILED: $(basename "$folder") differs from expected.txt (expected above with -, result with +)"
    failed=1
  fi
done
exit $failed
