#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast cost` prices every kind of operator as tests/cli/cost says, from a file and from standard
# input alike; options act on lines as documented, and a long input is quick. Usage: cost.sh STEPCAST ROOT
# scripts/approve_goldens.sh rewrites what is expected; say in the commit why a number moved.
set -euo pipefail
stepcast=$1
cd "$2/tests/cli/cost"
failed=0
complain() { echo "FAILED: $*"; failed=1; }
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cost() { "$stepcast" cost --gpu h200_sxm "$@"; }
for input in *.jsonl; do
  cost --terms "$input" >"$made/out"
  diff -u "${input%.jsonl}.expected" "$made/out" || complain "$input: other prices"
  cost --terms <"$input" | cmp -s - "$made/out" || complain "$input: standard input differs from the file"
  cost --terms "$input" --out "$made/file" && cmp -s "$made/file" "$made/out" || complain "$input: --out differs"
  # What comes out can go in again, and says the same.
  cost --terms "$made/out" | cmp -s - "$made/out" || complain "$input: its output has another price"
done
# As CSV: a line for each of JSON below the header, with the same times.
cost every_kind.jsonl | grep -o '"predicted_s":[^,]*' | cut -d: -f2 >"$made/times"
cost every_kind.jsonl --format csv --out "$made/table"
[ "$(wc -l <"$made/table")" -eq "$(($(wc -l <"$made/times") + 1))" ] || complain "CSV has $(wc -l <"$made/table") lines"
while read -r seconds; do grep -q ",$seconds," "$made/table" || complain "no $seconds in the CSV"; done <"$made/times"
# A locked clock acts on every line but those that lock their own.
clocks=$(cost --gpu-clock-mhz 1200 every_kind.jsonl | grep -o '"clock_mhz":[0-9.]*' | sort -u | tr '\n' ' ')
[ "$clocks" = '"clock_mhz":1200.0 "clock_mhz":1500.0 ' ] || complain "--gpu-clock-mhz gives $clocks"
cost --power-limit '300 W' every_kind.jsonl >/dev/null || complain "--power-limit is refused"
cost </dev/null >"$made/out" && [ ! -s "$made/out" ] || complain "an empty input is no empty output"
# Options that are wrong.
for wrong in "--gpu-clock-mhz 9999" "--gpu-clock-mhz nan" "--power-limit 60" "--power-limit 40W" \
  "--backend gemm=none" "--backend gemm" "--gpu h200"; do
  code=0
  # shellcheck disable=SC2086
  "$stepcast" cost --gpu h200_sxm $wrong every_kind.jsonl >"$made/out" 2>"$made/message" || code=$?
  if [ "$code" -ne 2 ] || [ -s "$made/out" ] || [ ! -s "$made/message" ]; then
    complain "$wrong exits $code: $(cat "$made/out" "$made/message")"
  fi
done
# Every collective, algorithm and dispatcher states its equation and source.
for name in $("$stepcast" list collectives) $("$stepcast" list dispatchers) ring tree recursive_doubling direct \
  hierarchical in_switch pxn; do
  "$stepcast" describe "$name" >"$made/out" && grep -q '^  equation' "$made/out" &&
    grep -q '^  source' "$made/out" || complain "describe $name: $(cat "$made/out")"
done
# 100,000 lines in seconds; a sanitizer's build gets its time.
awk 'BEGIN { for (i = 1; i <= 100000; i++)
  printf "{\"kind\": \"gemm\", \"m\": %d, \"n\": %d, \"k\": %d, \"id\": %d}\n", i % 9973 + 1, i % 7919 + 1, i % 4099 + 1, i }' \
  >"$made/long.jsonl"
timeout 60 "$stepcast" cost --gpu h200_sxm "$made/long.jsonl" >"$made/out" || complain "100,000 lines take over a minute"
[ "$(wc -l <"$made/out")" -eq 100000 ] || complain "100,000 lines in, $(wc -l <"$made/out") out"
exit $failed
