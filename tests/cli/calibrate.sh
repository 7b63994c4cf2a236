#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast calibrate` finds constants again from rows that `stepcast cost` priced with others, writes a
# file of kernels that loads, and refuses what it cannot fit. Usage: calibrate.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"

# A machine whose kernels start in 1.3 us and ramp up in 1.7 us.
cp -r "$2/hardware_profiles" "$made/data"
mkdir "$made/root" && mv "$made/data" "$made/root/hardware_profiles" && cp -r "$2/configs" "$made/root/configs"
kernels="$made/root/hardware_profiles/kernels/gh100.yaml"
sed -i -E 's/(start_up: \{value: )[0-9.]+ us/\11.3 us/; s/(ramp: \{value: )[0-9.]+ us/\11.7 us/' "$kernels"
for m in 192 320 768 1280 2304 5120; do
  for n in 384 1792 4096; do
    echo "{\"kind\": \"gemm\", \"m\": $m, \"n\": $n, \"k\": 1024, \"state\": {\"locked_mhz\": 1500}}"
    echo "{\"kind\": \"memory_bound\", \"op\": \"copy\", \"rows\": $m, \"cols\": $n, \"state\": {\"locked_mhz\": 1500}}"
  done
done >"$made/operators.jsonl"
# The price becomes the measured time.
"$stepcast" --data "$made/root" cost --gpu h200_sxm "$made/operators.jsonl" |
  sed -E 's/,"predicted_s":([^,]*),.*/,"gpu":"h200_sxm","s":\1}/' >"$made/rows.jsonl"
[ "$(wc -l <"$made/rows.jsonl")" -eq 36 ] || complain "$(wc -l <"$made/rows.jsonl") rows"

fit() { echo calibrate "$made/rows.jsonl" --gpu h200_sxm --constant gemm.start_up --constant memory_bound.ramp "$@"; }
# shellcheck disable=SC2046
exits 0 $(fit --date 2026-11-21)
says '^# Constants of the models of kernels, fitted by .stepcast calibrate. on 2026-11-21.'
says 'FIT[0-9]*: "least squares on rows.jsonl, 2026-11-21"'
says 'start_up: {value: 1.[23][0-9]* us, source: FIT[0-9]*, kind: fitted'
says 'ramp: {value: 1.[67][0-9]* us, source: FIT[0-9]*, kind: fitted'
cp "$made/out" "$made/first.yaml"
# shellcheck disable=SC2046
exits 0 $(fit --date 2026-11-21 --out "$made/second.yaml")
says 'gemm.start_up .* -> 1.[23]'
says 'mean absolute error'
cmp -s "$made/first.yaml" "$made/second.yaml" || complain "--out writes another file, or a run differs"
# The file is one of kernels, and says so of its numbers.
cp "$made/first.yaml" "$kernels"
exits 0 --data "$made/root" describe h200_sxm
says 'gemm.start_up .* fitted, FIT'
says 'FIT[0-9]*  *least squares on rows.jsonl'
"$stepcast" --data "$made/root" validate "$made/rows.jsonl" >"$made/out" || complain "validate fails"
says 'rows.jsonl .* 36 '

# A trace of products at 500 TFLOP/s, each launched by an operator with its shape.
{
  echo '{"traceEvents": ['
  at=0
  for size in 1024 1536 2048 2560 3072 3584 4096 4608 5120 5632; do
    echo "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 1, \"ts\": $at, \"dur\": 9,"
    echo " \"args\": {\"Input Dims\": [[$size, 4096], [4096, $size]]}},"
    echo "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": $((at + 1)),"
    echo " \"dur\": 1, \"args\": {\"correlation\": $size}},"
    echo "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"nvjet_tst\", \"pid\": 0, \"tid\": 7, \"ts\": $((at + 5)),"
    echo " \"dur\": $((2 * size * size * 4096 / 500000000)), \"args\": {\"correlation\": $size}},"
    at=$((at + 2000))
  done
  echo '{"ph": "M"}]}'
} >"$made/trace.json"
exits 0 calibrate "$made/trace.json" --gpu h200_sxm --out "$made/of_trace.yaml"
says 'h200_sxm trace gemm  .* held back'
says 'gemm.port_bytes_per_clock .* -> '
says 'power.matrix_energy.bf16 .* times without watts do not settle power'
says 'not fitted: others move the rows more'
exits 0 calibrate "$made/trace.json" --gpu "$2/hardware_profiles/gpus/h200_sxm.yaml"
says 'fitted by .stepcast calibrate'
says 'does not say what it was taken on; it counts for h200_sxm'
exits 2 calibrate "$made/trace.json" --gpu h200_sxm --of exchanges
says 'no rows of this GPU'
# Kernels of another part are none of its own; a name that two parts have is either's.
sed '1s/{/{"deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X OAM"}], /' "$made/trace.json" >"$made/mi300x.json"
exits 2 calibrate "$made/mi300x.json" --gpu h200_sxm
says "taken on 'AMD Instinct MI300X OAM', which is mi300x, and not h200_sxm: .*give --gpu"
sed '1s/{/{"deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], /' "$made/trace.json" >"$made/a100.json"
exits 0 calibrate "$made/a100.json" --gpu a100_40gb --constant gemm.start_up
says 'may be a100_40gb or a100_80gb; it counts for a100_40gb'
echo '{"schema": "1.0.1", "nodes": []}' >"$made/et.json"
exits 2 calibrate "$made/et.json" --gpu h200_sxm
says 'an execution trace'

exits 2 calibrate "$made/rows.jsonl" --gpu h200_sxm --constant gemm.startup
says "gemm.startup: error: .*did you mean 'gemm.start_up'?"
exits 2 calibrate "$made/rows.jsonl" --gpu h200_sxm --constant power.matrix_energy.fp4
says 'power.matrix_energy.fp4: error: '
exits 2 calibrate "$made/rows.jsonl" --gpu h200_sxm --constant gemm.matrix_efficiency.fp8
says 'gemm.matrix_efficiency.fp8: error: no row depends on it'
exits 2 calibrate "$made/rows.jsonl" --gpu h200
says "unknown GPU 'h200'"
exits 2 calibrate "$made/rows.jsonl" --gpu mi300x
says "gpu mi300x: error: .*they have rows of h200_sxm"
head -n 4 "$made/rows.jsonl" >"$made/few.jsonl"
exits 2 calibrate "$made/few.jsonl" --gpu h200_sxm
says 'rows are too few to fit'
exits 2 calibrate "$made/missing.jsonl" --gpu h200_sxm
exits 2 calibrate "$2/README.md" --gpu h200_sxm
exits 2 calibrate "$made/rows.jsonl" --gpu h200_sxm --backend "gemm=measured:$made/rows.jsonl"
says 'a table of measurements has no constants'
exit $failed
