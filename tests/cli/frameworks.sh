#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every example survives its way out to a framework of Megatron's family and back: the same text and the same JSON, or a
# refusal that names what the framework cannot run. Every configuration that Primus ships is imported and projected.
# Usage: frameworks.sh STEPCAST ROOT [-v]
set -euo pipefail
stepcast=$1
root=$2
verbose=${3:-}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
failed=0
complain() { echo "FAILED: $*"; failed=1; }

project_to() { # EXPERIMENT FILE
  local format
  for format in text json; do
    "$stepcast" project "$1" --format "$format" >"$2.$format" 2>&1 || true
  done
}

# A script finds what lies beside it from its own folder as well.
there=$made/there
mkdir "$there"
"$stepcast" export megatron "$root/examples/01_llama3.1_70b_mi300x/experiment.yaml" --out "$there" >/dev/null 2>&1
sed -Ei 's/(--seq-length) .*/\1 $SEQUENCE/; 2i source sizes.sh' "$there/train.sh"
echo 'SEQUENCE=4096' >"$there/sizes.sh"
"$stepcast" import megatron "$there/train.sh" --quiet --out "$made/elsewhere.yaml" || complain "a script beside another"
(cd "$there" && "$stepcast" import megatron train.sh --quiet --out "$made/own.yaml") || complain "a script in its own folder"
grep -q 'sequence_length: 4096' "$made/own.yaml" || complain "a script in its own folder: $(grep sequence "$made/own.yaml")"
cmp <(tail -n +2 "$made/elsewhere.yaml") <(tail -n +2 "$made/own.yaml") || complain "a script in its own folder reads as another"

# An import that makes no experiment is refused, at the line of the framework's file.
refuses() { # FRAMEWORK FILE MESSAGE
  local code=0
  "$stepcast" import "$1" "$2" --gpu h100_sxm --nodes 1 >"$made/out.txt" 2>&1 || code=$?
  { [ "$code" -eq 2 ] && grep -q -- "$3" "$made/out.txt"; } || complain "import $1 exits $code: $(head -n 2 "$made/out.txt")"
}
small=(--model llama3_8b --gpu h100_sxm --nodes 1 --gbs 64)
for framework in megatron primus torchtitan; do
  "$stepcast" export "$framework" "${small[@]}" --out "$made/small" --quiet
done
sed 's/^global_batch_size = .*/global_batch_size = 1000000000000000000/' "$made/small/train.toml" >"$made/odd.toml"
refuses torchtitan "$made/odd.toml" "odd.toml:[0-9]*:[0-9]*: error: 'training.global_batch_size': 1000000000000000000 is out of range"
sed 's/^GPUS_PER_NODE=.*/GPUS_PER_NODE=1000000000000000000/' "$made/small/train.sh" >"$made/odd.sh"
refuses megatron "$made/odd.sh" "odd.sh.*: error: 'cluster.gpus_per_node': 1000000000000000000 is out of range"
for share in -1 1.5 1e308; do
  sed "s/attention_dropout: .*/attention_dropout: $share/" "$made/small/llama3_8b-pretrain.yaml" >"$made/odd.yaml"
  refuses primus "$made/odd.yaml" "odd.yaml:[0-9]*:[0-9]*: error: 'attention_dropout' is .*; give a share from 0 to 1"
done

# torchtitan's sets are of a time, which a file's form says and --release otherwise; an export of a set after its TOML files
# says that those are gone, and comes back as it was.
printf '[model]\nname = "llama3"\nflavor = "8B"\n[parallelism]\ntensor_parallel_degree = 8\n' >"$made/job.toml"
refuses torchtitan "$made/job.toml" "job.toml:5:[0-9]*: error: 'parallelism.tensor_parallel_degree' without FSDP makes torchtitan train in fp32"
titan() { "$stepcast" import torchtitan "$made/job.toml" --gpu h100_sxm --nodes 2 "$@" 2>"$made/said"; }
titan | grep -q '^software: torchtitan_eager$' || complain "a job config of torchtitan: $(cat "$made/said")"
grep -q 'software torchtitan_eager: --release may also be 2025-09' "$made/said" || complain "other releases: $(cat "$made/said")"
titan --release 2026-03 | grep -q '^software: torchtitan_eager_2026_03$' || complain "--release: $(cat "$made/said")"
! titan --release soon >/dev/null && grep -q 'must be a month such as 2026-03' "$made/said" || complain "--release soon: $(cat "$made/said")"
! "$stepcast" import maxtext "$made/job.toml" --release 2026-03 >/dev/null 2>&1 || complain "--release of MaxText"
for set in torchtitan_2024 torchtitan_2026_03 torchtitan_eager_2026_08; do
  "$stepcast" export torchtitan --model qwen3_8b --gpu h100_sxm --nodes 2 --fsdp 16 --gbs 64 --software "$set" \
    --out "$made/titan" 2>"$made/said"
  case $set in
    *2026*) grep -q 'reads recipes in Python alone' "$made/said" || complain "$set is exported without a word: $(cat "$made/said")" ;;
    *) ! grep -q Python "$made/said" || complain "$set is said to have no TOML" ;;
  esac
  "$stepcast" import torchtitan "$made/titan/train.toml" --quiet | grep -q "^software: $set\$" || complain "$set does not come back"
done

# Files of Hugging Face's Trainer: each by its own name or by its form, with what it names beside it; what makes no experiment is
# refused at its line, and adapters become a part of one.
mkdir "$made/tuning" "$made/tuning/configs"
cat >"$made/tuning/axolotl.yml" <<'YAML'
base_model: NousResearch/Meta-Llama-3.1-8B
sequence_len: 4096
micro_batch_size: 1
gradient_accumulation_steps: 4
adapter: lora
lora_r: 16
lora_target_linear: true
gradient_checkpointing: true
attn_implementation: flash_attention_2
optimizer: adamw_bnb_8bit
deepspeed: configs/zero2.json
YAML
echo '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}}' >"$made/tuning/configs/zero2.json"
cat >"$made/tuning/fsdp.yaml" <<'YAML'
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 8
fsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: true}
YAML
cat >"$made/tuning/train.sh" <<'SH'
accelerate launch --config_file fsdp.yaml --num_processes 4 train.py --model_name_or_path "${MODEL}" --bf16 True \
  --max_length 2048 --per_device_train_batch_size 1 --gradient_checkpointing True
SH
echo '{"peft_type": "LORA", "r": 8, "target_modules": ["q_proj", "v_proj"]}' >"$made/tuning/adapter_config.json"
tuned() { # WORDS OF AN IMPORT
  (cd "$made/tuning" && "$stepcast" import "$@" --gpu h100_sxm --out "$made/tuned.yaml" 2>"$made/said") || complain "import $*: $(cat "$made/said")"
  "$stepcast" project "$made/tuned.yaml" >"$made/out.txt" 2>&1 || complain "import $*: $(head -n 2 "$made/out.txt")"
}
tuned axolotl axolotl.yml --nodes 1
cp "$made/tuned.yaml" "$made/named.yaml"
grep -q 'plan: {tp: 1, pp: 1, zero: 2}' "$made/tuned.yaml" || complain "axolotl.yml: $(cat "$made/tuned.yaml")"
tuned axolotl.yml --nodes 1
cmp "$made/named.yaml" "$made/tuned.yaml" || complain "axolotl.yml by its form is another experiment"
tuned accelerate train.sh MODEL=Qwen/Qwen3-4B
grep -q 'plan: {tp: 1, pp: 1, fsdp: 4}' "$made/tuned.yaml" || complain "train.sh: $(cat "$made/tuned.yaml")"
tuned accelerate fsdp.yaml model_name_or_path=llama3.2_1b max_length=2048 gradient_checkpointing=true adapter_config=adapter_config.json
grep -q 'lora: {rank: 8, targets: \[q, v\]}' "$made/tuned.yaml" || complain "fsdp.yaml: $(cat "$made/tuned.yaml")"
tuned deepspeed configs/zero2.json model_name_or_path=llama3.2_1b max_length=2048 per_device_train_batch_size=1 bf16=true num_processes=2
refuses deepspeed "$made/tuning/configs/zero2.json" "zero2.json: error: 'model_name_or_path' is not in the file; give model_name_or_path=NAME"
sed -i 's/lora_r: 16/lora_rank: 16/' "$made/tuning/axolotl.yml"
refuses axolotl "$made/tuning/axolotl.yml" "axolotl.yml: error: 'lora_r' is needed for adapters"
refuses trl "$made/tuning/axolotl.yml" 'is a file of another door: stepcast import axolotl'
"$stepcast" import hf "$made/tuning/adapter_config.json" | grep -q 'lora: {rank: 8, targets: \[q, v\]}' || complain "adapter_config.json"

declare -A back=() refused=()
comments=0
for example in "$root"/examples/*/experiment.yaml; do
  project_to "$example" "$made/there"
  for framework in megatron primus megatron_bridge; do
    rm -rf "$made/out"
    if ! "$stepcast" export "$framework" "$example" --out "$made/out" >/dev/null 2>"$made/why"; then
      grep -q "experiment.yaml:[0-9:]* error: $framework cannot run '" "$made/why" || complain "$example as $framework: $(head -n 2 "$made/why")"
      refused[$framework]=$((${refused[$framework]:-0} + 1))
      continue
    fi
    file=$(find "$made/out" -type f)
    comments=$((comments + $(grep -c '^# stepcast: ' "$file")))
    "$stepcast" import "$framework" "$file" --quiet --out "$made/back.yaml" || complain "$example from $framework"
    project_to "$made/back.yaml" "$made/again"
    for format in text json; do
      cmp -s "$made/there.$format" "$made/again.$format" || complain "$example by $framework: another $format"
    done
    back[$framework]=$((${back[$framework]:-0} + 1))
  done
done
for framework in megatron primus megatron_bridge; do
  echo "$framework: ${back[$framework]:-0} examples came back, ${refused[$framework]:-0} refused"
done
echo "$comments comments"
[ "${back[megatron]:-0}" -eq 18 ] || complain "not 18 examples came back from megatron"
[ "${back[primus]:-0}" -eq 19 ] || complain "not 19 examples came back from primus"
[ "${back[megatron_bridge]:-0}" -eq 3 ] || complain "not 3 examples came back from megatron_bridge"

configs=$root/../shared/reference/seed_experiments/primus_configs.csv
if [ ! -f "$configs" ]; then
  echo "SKIPPED: no shared/reference/seed_experiments/primus_configs.csv beside the checkout"
  exit $failed
fi

yaml_of() { # of the columns of a row
  local kind method layers
  cat <<END
modules:
  pre_trainer:
    framework: megatron
    config: pre_trainer.yaml
    model: ${config%%-*}.yaml
    overrides:
      seq_length: $sequence
      micro_batch_size: $micro
      global_batch_size: $global
      tensor_model_parallel_size: $tp
      pipeline_model_parallel_size: $pp
      expert_model_parallel_size: $ep
      enable_primus_turbo: true
      use_turbo_attention: true
      use_turbo_grouped_gemm: true
      cross_entropy_loss_fusion: true
      cross_entropy_fusion_impl: te
END
  [ "$vpp" = 1 ] || echo "      num_virtual_stages_per_pipeline_rank: $vpp"
  [ "$fsdp" = no ] || printf '      use_torch_fsdp2: true\n      use_distributed_optimizer: false\n'
  case $config in
    *-MXFP8) printf '      fp8: hybrid\n      fp8_recipe: mxfp8\n' ;;
    *-FP8) echo "      fp8: hybrid" ;;
  esac
  read -r kind method layers <<<"$recompute"
  [ "$kind" = full ] || return 0
  echo "      recompute_granularity: full"
  [ "$method" = - ] || printf '      recompute_method: %s\n      recompute_num_layers: %s\n' "$method" "$layers"
}

declare -A answers=()
while IFS=, read -r gpu config sequence micro global tp pp vpp ep fsdp recompute nodes; do
  yaml_of >"$made/primus.yaml"
  if ! "$stepcast" import primus "$made/primus.yaml" --gpu "$gpu" --nodes "${nodes%$'\r'}" --out "$made/run.yaml" \
    2>"$made/why"; then
    grep -q "has the model '${config%%-*}', which is no shipped one" "$made/why" ||
      complain "$gpu $config: $(head -n 2 "$made/why")"
    answers[2]=$((${answers[2]:-0} + 1))
    continue
  fi
  [ -z "$verbose" ] || echo "$gpu $config $(head -n 1 "$made/why")"
  code=0
  "$stepcast" project "$made/run.yaml" >"$made/out.txt" 2>&1 || code=$?
  [ "$code" = 4 ] && code=0  # its memory is tight
  answers[$code]=$((${answers[$code]:-0} + 1))
  [ "$code" = 0 ] || [ "$code" = 3 ] || complain "$gpu $config exits $code: $(head -n 2 "$made/out.txt")"
done < <(tail -n +2 "$configs")
echo "Primus: projected ${answers[0]:-0}, refused with reasons ${answers[3]:-0}, models that are not shipped ${answers[2]:-0}"
[ $((${answers[0]:-0} + ${answers[3]:-0})) -eq 146 ] || complain "not 146 of Primus' configurations are priced"
exit $failed
