#!/usr/bin/env bash
# Every configuration that Primus ships is answered: projected (exit 0), refused with reasons (exit 3), or, where its
# layers hold what stepcast has no model of, refused by name (exit 2); and the counts of each are those below.
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
  code=0
  "$stepcast" project "${options[@]}" >"$made/out" 2>&1 || code=$?
  answers[$code]=$((${answers[$code]:-0} + 1))
  [ -z "${3:-}" ] || echo "$code $gpu $config $(grep -m 1 -E 'tokens/s/GPU|error:|  - ' "$made/out")"
  case $code in
    0) grep -q '^  tokens/s/GPU' "$made/out" || complain "$gpu $config: no rate" ;;
    3) grep -q '^  - ' "$made/out" || complain "$gpu $config: no reason" ;;
    2) grep -q "the model '$(model_of "$config")' is left out: there is no model of " "$made/out" ||
      complain "$gpu $config: $(head -n 3 "$made/out")" ;;
    *) complain "$gpu $config exits $code: $(head -n 3 "$made/out")" ;;
  esac
done < <(tail -n +2 "$configs")

echo "projected ${answers[0]:-0}, refused with reasons ${answers[3]:-0}, left out by name ${answers[2]:-0}"
[ $((${answers[0]:-0} + ${answers[3]:-0})) -eq 135 ] || complain "not 135 are priced"
[ "${answers[2]:-0}" -eq 11 ] || complain "not 11 are left out"
exit $failed
