#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A Hugging Face config.json becomes a model file that projects. Usage: import_hf.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
count=0
for config in "$2"/tests/data/hf/*.json; do
  "$stepcast" import hf "$config" --name imported --out "$made/imported.yaml"
  code=0
  "$stepcast" project --model "$made/imported.yaml" --gpu mi355x --nodes 32 --gbs 256 \
    --set training.recompute=full >"$made/out" || code=$?
  if [ "$code" -ne 0 ] || ! grep -q "^imported on 256 x mi355x" "$made/out"; then
    echo "FAILED: $config exits $code"
    cat "$made/out"
    exit 1
  fi
  count=$((count + 1))
done
echo '{"model_type": "lama"}' >"$made/bad.json"
code=0
message=$("$stepcast" import hf "$made/bad.json" 2>&1) || code=$?
[ "$code" -eq 2 ] && grep -q "llama" <<<"$message" || { echo "FAILED: bad input: $message"; exit 1; }
# An activation that nobody knows is refused, and so is what is none.
for activation in '"x"' -1 '[]' '""'; do
  for model in llama3.1_8b deepseek_v3; do
    sed -e '/"hidden_act"/d' -e "0,/{/s//{ \"hidden_act\": $activation,/" "$2/tests/data/hf/$model.config.json" >"$made/odd.json"
    code=0
    message=$("$stepcast" import hf "$made/odd.json" 2>&1) || code=$?
    [ "$code" -eq 2 ] && grep -q "odd.json:[0-9]*:[0-9]*: error: 'hidden_act'" <<<"$message" ||
      { echo "FAILED: $model with the activation $activation: $message"; exit 1; }
  done
done
mkdir "$made/Llama-3.1-8B"
cp "$2/tests/data/hf/llama3.1_8b.config.json" "$made/Llama-3.1-8B/config.json"
for given in "$made/Llama-3.1-8B" "$made/Llama-3.1-8B/config.json"; do
  name=$("$stepcast" import hf "$given" | head -n 1)
  [ "$name" = "name: Llama-3.1-8B" ] || { echo "FAILED: $given is called '$name'"; exit 1; }
done
# The file itself, its folder, or its name in an experiment stand for the model file that it makes.
cp "$made/Llama-3.1-8B/config.json" "$made/llama.json"
"$stepcast" import hf "$made/llama.json" --out "$made/llama.yaml"
printf 'model: llama.json\ncluster: {gpu: h100_sxm, nodes: 1}\ntraining: {sequence_length: 4096, global_batch_size: 128}\n' >"$made/mine.yaml"
printf 'model: llama.json\ncluster: {gpu: h100_sxm, nodes: 1}\ntraining: {sequence_length: 4096, global_batch_size: 128}\nplan: {tp: [1, 2]}\n' >"$made/plans.yaml"
rate() { grep '^  tokens/s/GPU'; }
for given in "$made/llama.yaml" "$made/llama.json" "$made/Llama-3.1-8B/"; do
  "$stepcast" project --model "$given" --gpu h100_sxm --nodes 1 --gbs 128 | rate >"$made/rate"
  cmp -s "$made/rate" "$made/first" 2>/dev/null || [ ! -e "$made/first" ] || { echo "FAILED: project --model $given"; exit 1; }
  cp "$made/rate" "$made/first"
done
"$stepcast" project "$made/mine.yaml" | rate | cmp -s - "$made/first" || { echo "FAILED: model: llama.json"; exit 1; }
"$stepcast" sweep "$made/plans.yaml" >"$made/out" || { echo "FAILED: a sweep of llama.json"; exit 1; }
for bad in '{"peft_type": "LORA", "r": 8}|makes the key training.lora' '{"model_type": "jamba"}|state space models'; do
  echo "${bad%|*}" >"$made/bad.json"
  code=0
  message=$("$stepcast" project --model "$made/bad.json" --gpu h100_sxm --nodes 1 2>&1) || code=$?
  [ "$code" -eq 2 ] && grep -q "${bad#*|}" <<<"$message" || { echo "FAILED: $bad: $message"; exit 1; }
done
echo "$count models"
