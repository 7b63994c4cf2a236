#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every configuration that Primus ships is answered: projected (exit 0) or refused with reasons (exit 3); and the counts
# of each are those below.
# Usage: primus_configs.sh STEPCAST ROOT [-v]
set -euo pipefail
stepcast=$1
configs=$2/../shared/reference/seed_experiments/primus_configs.csv
if [ ! -f "$configs" ]; then
  echo "SKIPPED: no shared/reference/seed_experiments/primus_configs.csv beside the checkout"
  exit 77
fi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
failed=0
complain() { echo "FAILED: $*"; failed=1; }
declare -A answers=()

# deepseek_v2-BF16 is the model deepseek_v2 in bf16.
dtype_of() {
  case $1 in *-MXFP8) echo fp8_block ;; *-FP8) echo fp8 ;; *) echo bf16 ;; esac
}
model_of() {
  local name=${1%%-*}
  name=${name,,}
  echo "${name%_v0.1}"
}
# Kimi K3 runs with 8 of its layers, or small (kimi_k3_8L_official.yaml and kimi_k3_curve.yaml of Primus).
shape_of() {
  local layers="[linear_attention, linear_attention, linear_attention, attention]"
  case $1 in
    kimi_k3-*-8L-*) echo "model={base: kimi_k3, layers: 8, mixers: $layers}" ;;
    kimi_k3-*-curve)
      echo "model={base: kimi_k3, layers: 24, mixers: $layers, hidden_size: 2048, vocabulary: 151665, residual_block: 8," \
        "attention: {heads: 16, q_lora_rank: 512, kv_lora_rank: 256}, linear_attention: {heads: 16, qk_heads: 16}," \
        "mlp: {ffn_hidden: 9728}, moe: {experts: 32, experts_per_token: 4, expert_ffn_hidden: 1024," \
        "shared_expert_ffn_hidden: 2048, latent_hidden: 1024}}"
      ;;
  esac
}
recompute_of() { # "full block 14", "full uniform 1", "full - -": layers that are named one by one, taken as all
  local kind method layers
  read -r kind method layers <<<"$1"
  echo "--recompute $kind"
  [ "$method" != block ] || echo "--set training.recompute_method=block --set training.recompute_layers=$layers"
}

while IFS=, read -r gpu config sequence micro global tp pp vpp ep fsdp recompute nodes; do
  nodes=${nodes%$'\r'}
  [ "$gpu" != gpu ] || continue
  options=(--model "$(model_of "$config")" --gpu "$gpu" --nodes "$nodes" --seq "$sequence" --mbs "$micro" --gbs "$global"
    --tp "$tp" --pp "$pp" --ep "$ep" --dtype "$(dtype_of "$config")" --software primus_turbo)
  [ "$vpp" = 1 ] || options+=(--vpp "$vpp")
  [ "$pp" = 1 ] || options+=(--set plan.stage_layout=balanced)
  [ "$fsdp" = no ] && options+=(--zero 1) || options+=(--zero 3)
  # shellcheck disable=SC2207 # words of options
  options+=($(recompute_of "$recompute"))
  shape=$(shape_of "$config")
  [ -z "$shape" ] || options+=(--set "$shape")
  code=0
  "$stepcast" project "${options[@]}" >"$made/out" 2>&1 || code=$?
  [ "$code" = 4 ] && code=0  # its memory is tight
  answers[$code]=$((${answers[$code]:-0} + 1))
  [ -z "${3:-}" ] || echo "$code $gpu $config $(grep -m 1 -E 'tokens/s/GPU|error:|  - ' "$made/out")"
  case $code in
    0) grep -q '^  tokens/s/GPU' "$made/out" || complain "$gpu $config: no rate" ;;
    3) grep -q '^  - ' "$made/out" || complain "$gpu $config: no reason" ;;
    *) complain "$gpu $config exits $code: $(head -n 3 "$made/out")" ;;
  esac
done < <(tail -n +2 "$configs")

echo "projected ${answers[0]:-0}, refused with reasons ${answers[3]:-0}"
[ $((${answers[0]:-0} + ${answers[3]:-0})) -eq 146 ] || complain "not all 146 are answered"
exit $failed
