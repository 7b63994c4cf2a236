#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad input is refused with exit 2 (or 3 for a plan that cannot run), with the messages of the .expected
# file beside it: every problem at once, each with a place and a remedy. Usage: bad_input.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
cd "$2/tests/cli/bad"
failed=0
check() { # input, expected exit code, command
  local code=0 text
  text=$("$stepcast" "${@:3}" "$1" 2>&1) || code=$?
  if [ "$code" -ne "$2" ]; then
    echo "FAILED: $1 exits $code, not $2"
    failed=1
  fi
  if ! diff -u "${1%.*}.expected" <(printf '%s\n' "$text"); then
    echo "FAILED: $1: other messages"
    failed=1
  fi
}
for input in *.yaml; do
  case $input in
    plan_*) check "$input" 3 project ;;
    sweep_*) check "$input" 2 sweep ;;
    *) check "$input" 2 project ;;
  esac
done
for input in cost_*; do
  [ "${input##*.}" = expected ] || check "$input" 2 cost --gpu h200_sxm
done
for input in validate_*; do
  [ "${input##*.}" = expected ] || check "$input" 2 validate
done
# Files that are no text, or empty, made here because they cannot be kept as text.
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
printf '\x7fELF\x02\x01\x01\x00' >"$made/binary.yaml"
: >"$made/empty.yaml"
mkdir "$made/folder.yaml"
for input in binary empty folder missing; do
  code=0
  text=$("$stepcast" project "$made/$input.yaml" 2>&1) || code=$?
  if [ "$code" -ne 2 ] || ! grep -q "error: " <<<"$text"; then
    echo "FAILED: $input exits $code: $text"
    failed=1
  fi
done
# Measurements in no known format are refused with one message.
code=0
text=$("$stepcast" validate "$2/README.md" 2>&1) || code=$?
if [ "$code" -ne 2 ] || [ "$(wc -l <<<"$text")" -ne 1 ]; then
  echo "FAILED: validating a file of another format exits $code: $text"
  failed=1
fi
# Nothing is half-written: the output file appears whole or not at all.
code=0
"$stepcast" project "$2/examples/01_llama3.1_70b_mi300x/experiment.yaml" --out "$made/no/such/folder" \
  2>/dev/null || code=$?
[ "$code" -eq 2 ] || { echo "FAILED: writing into a missing folder exits $code"; failed=1; }
exit $failed
