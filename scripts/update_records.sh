#!/usr/bin/env bash
# Rewrites the shipped canonical records whose foreign files lie in ../shared/measured, from a release build; with
# --check it only says whether they are what the importers make of those files.
# Usage: update_records.sh [--check] [STEPCAST]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
check=false
if [ "${1:-}" = --check ]; then
  check=true
  shift
fi
stepcast=${1:-$root/build/release/bin/stepcast}
measured=$root/../shared/measured
if [ ! -d "$measured" ]; then
  echo "SKIPPED: no shared/measured beside the checkout"
  exit 77
fi
shipped=$root/tests/validation
made=$(mktemp)
trap 'rm -f "$made"' EXIT
stale=0
record() {
  "$stepcast" import records "$measured/$1" >"$made"
  if ! $check; then
    cat "$made" >"$shipped/$2"
  elif ! cmp -s "$made" "$shipped/$2"; then
    echo "tests/validation/$2 is not what the importers make of $1: run scripts/update_records.sh" >&2
    stale=1
  fi
}
for name in attention collectives duty gemm_bf16 gemm_fp8 grouped_gemm memory_bound sustained; do
  record "h200/$name.jsonl" "h200/$name.jsonl"
done
record h200/steps.jsonl h200_steps.jsonl
exit $stale
