#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes every parser for a share of the seconds given (default 60). A crash is written to
# tests/fuzz/regressions, which the tests replay.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
mapfile -t targets < <(basename -s _fuzz.cpp tests/fuzz/*_fuzz.cpp)
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target stepcast_fuzz | tail -n 1
mkdir -p tests/fuzz/regressions
share=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))
for target in "${targets[@]}"; do
  found=$(mktemp -d)
  log=$(mktemp)
  if ! "build/fuzz/tests/fuzz_$target" -max_total_time="$share" -rss_limit_mb=4096 -timeout=10 \
    -artifact_prefix=tests/fuzz/regressions/ -print_final_stats=1 \
    "$found" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
    tail -n 60 "$log"
    echo "fuzz_$target: failed; the input is in tests/fuzz/regressions"
    exit 1
  fi
  echo "fuzz_$target: $(grep number_of_executed_units "$log" | tr -s ' ' | cut -d' ' -f2) inputs"
  rm -rf "$found" "$log"
done
