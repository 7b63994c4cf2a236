#!/usr/bin/env bash
# Fuzzes every parser for a share of the seconds given (default 60). A crash is written to
# tests/fuzz/regressions, which the tests replay.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzzers
fuzzers=(build/fuzz/tests/*_fuzz)
share=$((seconds / ${#fuzzers[@]}))
for fuzzer in "${fuzzers[@]}"; do
  name=$(basename "$fuzzer")
  found=$(mktemp -d)
  "$fuzzer" -max_total_time="$((share > 0 ? share : 1))" -rss_limit_mb=4096 -timeout=10 \
    -artifact_prefix=tests/fuzz/regressions/ -verbosity=0 -print_final_stats=1 \
    "$found" "tests/fuzz/corpus/${name%_fuzz}" 2>&1 | grep -E "ERROR|number_of_executed_units|SUMMARY" |
    sed "s/^/$name: /"
  rm -rf "$found"
done
