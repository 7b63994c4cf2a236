#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same bytes with one thread and with as many as there are processors. Usage: one_processor.sh STEPCAST ROOT
set -euo pipefail
stepcast=$(realpath "$1")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$2/tests/validation"
files=(training_runs.jsonl h200/sustained.jsonl h200_steps.jsonl)
one=$(taskset -pc $$ | grep -o '[0-9]*$') # the last processor that this process may use
for format in text json csv; do
  "$stepcast" validate "${files[@]}" --format "$format" >"$made/all"
  taskset -c "$one" "$stepcast" validate "${files[@]}" --format "$format" >"$made/one"
  [ -s "$made/all" ] && cmp "$made/all" "$made/one" ||
    { echo "FAILED: validate --format $format differs with one processor"; exit 1; }
done
