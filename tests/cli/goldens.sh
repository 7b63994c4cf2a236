#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The report of every example is the one in its expected.txt, and where there is an
# expected_explain.txt, its operators are those. Usage: goldens.sh STEPCAST ROOT
# scripts/approve_goldens.sh rewrites them; say in the commit why a number moved.
set -euo pipefail
stepcast=$1
root=$2
failed=0
check() { # expected, command
  if ! diff -u "$folder/$1" <("$stepcast" "$2" "$folder/experiment.yaml"); then
    echo "FAILED: $(basename "$folder") differs from $1 (expected above with -, result with +)"
    failed=1
  fi
}
for folder in "$root"/examples/*/; do
  [ -f "$folder/experiment.yaml" ] || continue
  check expected.txt project
  [ ! -f "$folder/expected_explain.txt" ] || check expected_explain.txt explain
done
exit $failed
