#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast validate --regret` and `--sku-ratios`: what a search over measured plans keeps, and how the ratio
# of two GPUs is predicted. Usage: regret.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
runs="$2/tests/validation/training_runs.jsonl"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"

exits 0 validate --sku-ratios "$runs"
says '^  a100_80gb  h100_sxm '
says '^  median error  *[0-9.]* %$'
exits 0 validate --sku-ratios "$runs" --format json
says '"median_abs_error": '

# Groups of runs and their page are reports of their own, and no option is lost beside them.
exits 2 validate --regret "$runs" --html "$made/page.html"
says '^--regret: error: is not of groups of runs, which --html reports on'
[ ! -e "$made/page.html" ] || { echo "FAILED: a page without a report"; exit 1; }
exits 2 validate --groups "$runs" --format csv --baseline
says '^--baseline: error: is not of groups of runs, which --groups reports on'
says '^--format csv: error: is not of groups of runs'

# Five plans of one model on one node, the fewest that a search can choose among.
columns='name,nodes,seq_len,mbs,batch_accum,gbs,tok/s/gpu,AllReduce (GB/s),AllGather (GB/s),ReduceScatter (GB/s),AR Intra-node (GB/s),AG Intra-node (GB/s),dp,tp,pp,tp_mode,tp_async_comm,hidden_size,interm_dim,num_layers,num_heads,num_kv_heads,vocab_size,tie_word_embeddings,zero_stage,status,after_pp_fix'
grid="$made/grid.csv"
echo "$columns" >"$grid"
for plan in 8,1,1,40000 4,2,1,30000 2,4,1,20000 1,8,1,10000; do
  IFS=, read -r dp tp pp rate <<<"$plan"
  echo "1.34G_dp${dp}_tp$tp,1.0,4096,1,$((32 / dp)).0,32.0,$rate,450,260,260,450,260,$dp,$tp,$pp,REDUCE_SCATTER,True,2048,8192,16,32,32.0,131072,True,1,Success,True"
done >>"$grid"
exits 0 validate --regret "$grid"
says '^  groups  *0$'
sed -n '$s/_tp8,1.0,4096,1,32.0,/_tp8m,1.0,4096,4,8.0,/p' "$grid" >>"$grid"
exits 0 validate --regret "$grid"
says '^  1.34G  *1  *5  dp8 tp1 pp1 mbs1 zero1 .* 1.00  '
says '^  kept, worst  *1.00$'
exits 0 validate --regret "$grid" --format json
says '"worst": 1.0'

exits 2 validate --regret --sku-ratios "$runs"
exits 2 validate --regret "$runs" --format csv
exits 2 validate --regret "$2/tests/validation/mi355x_gemm.jsonl"
says 'and no runs'
exit $failed
