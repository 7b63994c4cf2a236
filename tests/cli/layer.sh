#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast layer`: its report is the one in layer/sonic_moe.expected, it has its keys in JSON, a map, and it refuses a layer
# that the model does not have. Usage: layer.sh STEPCAST ROOT
# scripts/approve_goldens.sh rewrites the report; say in the commit why a number moved.
set -euo pipefail
stepcast=$1
folder="$2/tests/cli/layer"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
failed=0
complain() { echo "FAILED: $*"; failed=1; }
exits() { # expected code, arguments; output to $made/out
  local code=0 expected=$1
  shift
  "$stepcast" layer "$@" >"$made/out" 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || complain "layer $* exits $code, not $expected"
}
says() { grep -q -- "$1" "$made/out" || complain "no '$1' in: $(head -n 5 "$made/out")"; }

diff -u "$folder/sonic_moe.expected" <("$stepcast" layer "$folder/sonic_moe.yaml") ||
  complain "the report differs (expected above with -, result with +)"
exits 0 "$folder/sonic_moe.yaml" --format json
for key in exchanges saved forward_s backward_s tflops_per_gpu local exposed_s scaling version; do
  says "\"$key\": "
done
exits 0 "$folder/sonic_moe.yaml" --forward-only --format json
! grep -q '"backward' "$made/out" || complain "inference has a backward"
exits 0 "$folder/sonic_moe.yaml" --block whole --gpu-clock-mhz 1400
says 'layer  .* attention, feed-forward'
exits 0 --model llama3.1_8b --gpu h100_sxm --layer 31 --out "$made/file"
[ ! -s "$made/out" ] || complain "--out prints as well"
grep -q 'dense layer by itself' "$made/file" || complain "--out wrote something else"

exits 0 "$folder/sonic_moe.yaml" --map --map-ranks 4,8 --map-nodes 1,2 --map-topk 2 --map-tokens 4096
says ' 4  *1  *2  *4096 .*sonic (rank_dedup + a2a)'
says 'left out  *minimal_async_ep '
exits 0 "$folder/sonic_moe.yaml" --map --map-tokens 4096 --format json
says '"fastest": "'

exits 2 --model llama3.1_8b --gpu h100_sxm --map
says '^--map: error: needs experts'
exits 2 "$folder/sonic_moe.yaml" --map --map-ranks 0
exits 2 "$folder/sonic_moe.yaml" --layer 1
says '^--layer 1: error: must be moe, dense or the number of a layer from 0'
exits 2 --model llama3.1_8b --gpu h100_sxm --block experts
says '--block whole'
exits 2 "$folder/sonic_moe.yaml" --block half
exits 3 "$folder/sonic_moe.yaml" --set plan.ep=3
says 'does not divide'
exit $failed
