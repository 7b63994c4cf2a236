#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every example goes out as a framework's file and comes back as the same experiment: `project` prints the
# same bytes, as text and as JSON. An example that the framework cannot run is refused with exit 2; at least
# LEAST come back. Usage: round_trip.sh STEPCAST ROOT FRAMEWORK [LEAST]
set -euo pipefail
stepcast=$1
framework=$3
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
back=0
refused=0
failed=0
fail() { # example, what
  echo "FAILED: $1: $2"
  failed=1
}
project() { # experiment, format
  local code=0
  "$stepcast" project "$1" --format "$2" 2>&1 || code=$?
  echo "exit $code"
}
for example in "$2"/examples/*/experiment.yaml; do
  name=$(basename "$(dirname "$example")")
  code=0
  "$stepcast" export "$framework" "$example" >"$made/launch" 2>"$made/said" || code=$?
  if [ "$code" -eq 2 ] && grep -q "error: " "$made/said"; then
    echo "$name: $(head -1 "$made/said")"
    refused=$((refused + 1))
    continue
  fi
  [ "$code" -eq 0 ] || { fail "$name" "export exits $code: $(cat "$made/said")"; continue; }
  # Next to the example, so that an input of either is called the same.
  mkdir -p "$made/a" "$made/b"
  sed '/^description:/d' "$example" >"$made/a/experiment.yaml"
  "$stepcast" import "$framework" "$made/launch" --quiet --out "$made/b/experiment.yaml" ||
    { fail "$name" "import exits $?"; continue; }
  same=true
  for format in text json; do
    (cd "$made/a" && project experiment.yaml "$format") >"$made/a.out"
    (cd "$made/b" && project experiment.yaml "$format") >"$made/b.out"
    if ! diff -u "$made/a.out" "$made/b.out" >"$made/diff"; then
      fail "$name" "$format differs: $(head -c 2000 "$made/diff")"
      same=false
    fi
  done
  if $same; then back=$((back + 1)); fi
done
echo "$framework: $back examples came back, $refused refused"
if [ "$back" -lt "${4:-1}" ]; then
  echo "FAILED: fewer than ${4:-1} came back"
  failed=1
fi
exit $failed
