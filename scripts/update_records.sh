#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
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
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
made=$folder/made
stale=0
# record FOREIGN_FILE SHIPPED_NAME [FILE_WITH_THE_ROWS_THAT_SHIP]
record() {
  "$stepcast" import records "${3:-$measured/$1}" | grep -v '"measured":{}' >"$made"
  if ! $check; then
    cat "$made" >"$shipped/$2"
  elif ! cmp -s "$made" "$shipped/$2"; then
    echo "tests/validation/$2 is not what the importers make of $1: run scripts/update_records.sh" >&2
    stale=1
  fi
}
for name in attention_in_graphs collectives duty gemm_bf16 gemm_fp8 grouped_gemm memory_bound sustained; do
  record "h200/$name.jsonl" "h200/$name.jsonl"
done
# Of kernels by library those that Primus-Turbo timed with what it ran by default in April 2026.
usual='flash_attn \(AITER|gemm bf16 \(hipBLASLt|grouped_gemm bf16,|g[a-z_]*emm fp8 tensorwise \('
usual+='|gemm fp8 blockwise \(tuned\),2026-04 round 10,gemm_[a-z]*,fp8_blockwise'
for part in "MI300X,Primus-Turbo ($usual)" "MI355X,\"Primus-Turbo gemm fp8 blockwise \\(tuned, Triton 3.7\\)"; do
  gpu=${part%%,*}
  awk -v part="^$part" 'NR == 1 || $0 ~ part' "$measured/published/amd_kernels.csv" >"$folder/amd_kernels.csv"
  record published/amd_kernels.csv "${gpu,,}_kernels.jsonl" "$folder/amd_kernels.csv"
done
record h200/steps.jsonl h200_steps.jsonl
record stacks_2026_11/torchtitan_steps.jsonl torchtitan_trainer.jsonl
# Of the published runs those of pretraining whose settings are stated (grades A and B), the first of each
# configuration that a source measured more than once; and LoRA runs, whose benchmark or recipe states the settings, the
# first of each configuration and release, of parts that have a profile.
mkdir "$folder/published"
awk '/"task":"LoRA"/ && match($0, /"config_group":"[^"]*"/) {
       group = substr($0, RSTART, RLENGTH)
       match($0, /"title":"[^"]*"/)
       if (!seen[group substr($0, RSTART, RLENGTH)]++) print
     }
     /"completeness":"[AB]"/ && /"task":"pretrain"/ && match($0, /"config_group":"[^"]*"/) {
       if (!seen[substr($0, RSTART, RLENGTH)]++) print
     }' "$measured/published/training_runs.jsonl" >"$folder/published/training_runs.jsonl"
record published/training_runs.jsonl training_runs.jsonl "$folder/published/training_runs.jsonl"
# What users report and what was published since: runs of which nothing was fitted that the others do not say too.
for name in user_reports training_runs_2026 training_runs_2026_b; do
  record "published/$name.jsonl" "$name.jsonl"
done
exit $stale
