#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The backend `measured` in every command that prices: rows come back, the report says where each price is
# from, and files that are wrong are refused with their place. Usage: measured.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"
mkdir -p "$made/experiments" "$made/tables"
table="$made/tables/mine.jsonl"
locked='"state": {"locked_mhz": 1500}'
for k in 4096 14336; do
  echo "{\"kind\": \"gemm\", \"m\": 4096, \"n\": 4096, \"k\": $k, $locked, \"gpu\": \"h200_sxm\", \"s\": 0.000$((k / 10))}"
done >"$table"
echo "{\"kind\": \"gemm\", \"m\": 64, \"n\": 64, \"k\": 64, $locked, \"gpu\": \"mi300x\", \"s\": 0.001}" >>"$table"
with=(--backend "gemm=measured:$table")

# An exact row, one between, one outside, one that only another GPU has.
for shape in '4096, "k": 4096' '5000, "k": 5000' '40000, "k": 4096' '64, "k": 64'; do
  echo "{\"kind\": \"gemm\", \"m\": ${shape%%,*}, \"n\": 4096,${shape#*,}, $locked}"
done >"$made/operators.jsonl"
exits 0 cost --gpu h200_sxm "${with[@]}" "$made/operators.jsonl"
origins=$(grep -o '"origin":"[a-z]*"' "$made/out" | cut -d'"' -f4 | tr '\n' ' ')
[ "$origins" = 'measured interpolated fallback fallback ' ] || complain "origins $origins"
head -n 1 "$made/out" | grep -qE '"predicted_s":0.000(409,|40899999|40900000)' || complain "no 409 us: $(head -n 1 "$made/out")"
"$stepcast" cost --gpu h200_sxm "$made/operators.jsonl" >"$made/plain"
! grep -q origin "$made/plain" || complain "an origin without a table"
# What the table has nothing near has the model's price.
price() { tail -n 2 "$1" | grep -o '"predicted_s":[^,]*'; }
[ "$(price "$made/out")" = "$(price "$made/plain")" ] || complain "a fallback has another price"
exits 0 validate "${with[@]}" "$table"
says 'h200_sxm bf16 gemm .* 100 '

# In an experiment the file lies beside it; on the command line where the user is.
cat >"$made/experiments/mine.yaml" <<'YAML'
model: llama3.1_8b
cluster: {gpu: h200_sxm}
training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 64}
backends: {gemm: "measured:../tables/mine.jsonl"}
YAML
exits 0 project "$made/experiments/mine.yaml"
says 'note .* measured (.*interpolated (.*fallback ('
cp "$made/out" "$made/projected"
(cd "$made/tables" && "$stepcast" project ../experiments/mine.yaml --backend gemm=measured:mine.jsonl) >"$made/out"
diff "$made/projected" "$made/out" || complain "the command line's table gives another projection"
exits 0 explain "$made/experiments/mine.yaml"
says ' origin$'
says ' measured$'
says '^  origin   measured: '
exits 0 explain "$made/experiments/mine.yaml" --format csv --terms
says ',origin,terms_s$'
exits 0 explain "$made/experiments/mine.yaml" --format json
says '"origin": "measured"'
exits 0 explain "$made/experiments/mine.yaml" --provenance
says ' %  measured  *measured operators  *the tables that the experiment names$'
exits 0 describe gemm=measured
says 'equation .*ratio'

# One node measured, more nodes projected: each file serves the roles that it has rows of, the rest are models.
echo '{"kind": "attention", "batch": 1, "seq": 4096, "heads": 32, "kv_heads": 8, "d_qk": 128, "gpu": "h200_sxm", "s": 4e-4}' >"$made/tables/attention.jsonl"
both=(--measured "$table" --measured "$made/tables/attention.jsonl")
exits 0 project "$made/experiments/mine.yaml" "${both[@]}" --nodes 8
says '^llama3.1_8b on 64 x h200_sxm (8 nodes)'
says 'note  *operators with a table, and their share of its time: [1-9][0-9]* measured ([0-9.]* %), [0-9]* interpolated'
cp "$made/out" "$made/eight"
exits 0 project "$made/experiments/mine.yaml" --backend "gemm=measured:$table" \
  --backend "attention=measured:$made/tables/attention.jsonl" --nodes 8
diff "$made/eight" "$made/out" || complain "--measured projects otherwise than the backends that it stands for"
exits 0 explain "$made/experiments/mine.yaml" "${both[@]}" --nodes 8
says "attention.core .* measured\$"
exits 0 compare "$made/experiments/mine.yaml" --gpu h200_sxm --nodes 1 --nodes 8 "${both[@]}"
says 'note .* measured ('
# Two files with rows of one role are one table; constants that `calibrate` wrote stand for what no row reaches.
head -n 1 "$table" >"$made/tables/first.jsonl"
sed -n 2p "$table" >"$made/tables/second.jsonl"
exits 0 cost --gpu h200_sxm --backend "gemm=measured:$made/tables/first.jsonl,$made/tables/second.jsonl" "$made/operators.jsonl"
origins=$(grep -o '"origin":"[a-z]*"' "$made/out" | cut -d'"' -f4 | tr '\n' ' ')
[ "$origins" = 'measured interpolated fallback fallback ' ] || complain "origins of two files $origins"
sed -E '0,/start_up: \{value: [0-9.]+ us/s//start_up: {value: 90 us/' "$2/hardware_profiles/kernels/gh100.yaml" >"$made/experiments/mine_kernels.yaml"
exits 0 project "$made/experiments/mine.yaml" "${both[@]}" --nodes 8 --set cluster.kernels=mine_kernels.yaml --format json
grep -q '"kernels": ".*experiments/mine_kernels.yaml"' "$made/out" || complain "the report does not name the constants"
cp "$made/out" "$made/own.json"
exits 0 project "$made/experiments/mine.yaml" "${both[@]}" --nodes 8 --format json
step() { grep -m 1 '"step_time_s"' "$1"; }
[ "$(step "$made/out")" != "$(step "$made/own.json")" ] || complain "constants of its own change nothing"
exits 0 project "$made/own.json" --format json
diff "$made/own.json" "$made/out" || complain "the report gives another projection"
exits 2 project "$made/experiments/mine.yaml" --measured "$made/tables/missing.jsonl"
says 'missing.jsonl: error: '
exits 2 project "$made/experiments/mine.yaml" --set cluster.kernels=missing.yaml
says 'missing.yaml: error: '

# Files that are wrong.
exits 2 project "$made/experiments/mine.yaml" --backend attention=measured:mine
says 'mine: error: '
exits 2 cost --gpu h200_sxm --backend "attention=measured:$table" "$made/operators.jsonl"
says "mine.jsonl:1:1: error: .*no rows for the role 'attention'"
{ cat "$table" && echo '{"kind": "gemm", "m": -1, "n": 64, "k": 64, "gpu": "h200_sxm", "s": 1e-5}'; } >"$made/wrong.jsonl"
exits 2 cost --gpu h200_sxm --backend "gemm=measured:$made/wrong.jsonl" "$made/operators.jsonl"
says 'wrong.jsonl:4:[0-9]*: error: '
exits 2 cost --gpu h200_sxm --backend "gemm=measured:$2/README.md" "$made/operators.jsonl"
exits 2 cost --gpu h200_sxm --backend gemm=measured "$made/operators.jsonl"
says 'needs a file'
exits 2 cost --gpu h200_sxm --backend "gemm=tile:$table" "$made/operators.jsonl"
says 'takes no file'
exit $failed
