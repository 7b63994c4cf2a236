#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `import FILE` and `project FILE` find out what a file is, and say so; what nothing reads is named with what to do.
# usage: known_files.sh PROGRAM SOURCE_FOLDER
set -eu
program=$1
source_folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "known_files: $*" >&2
  exit 1
}
# wants CODE TEXT ARGS...: the program ends with CODE and says TEXT.
wants() {
  local code=$1 text=$2
  shift 2
  local got=0 said
  said=$("$program" "$@" 2>&1) || got=$?
  [ "$got" -eq "$code" ] || fail "$* ends with $got, not $code: $said"
  [[ $said == *"$text"* ]] || fail "$* does not say '$text': $said"
}

cat >train.sh <<'END'
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
  --max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 64 --bf16 --vocab-size 50257
END
printf 'pipe_parallel_size: 4\nnum_layers: 44\n' >neox.yml
printf '[]\n' >list.yaml
printf 'system:\n  tensor_model_parallel_size: 2\nmodel:\n  num_layers: 4\n  global_batch_size: 8\n' >flagscale.yaml
printf 'swift sft \\\n  --model Qwen/Qwen2.5-7B\n' >swift.sh
printf 'torchrun -m verl.trainer.fsdp_sft_trainer data.max_length=2048\n' >verl.sh
printf '{"model_type": "llama", "hidden_size": 64}' >config.json

wants 0 "a script of Megatron-LM, by its 'pretrain_gpt' in line 4: import megatron" import train.sh --gpu h100_sxm
cmp <("$program" import train.sh --gpu h100_sxm --quiet) <("$program" import megatron train.sh --gpu h100_sxm --quiet) ||
  fail "a file that is recognized is read in another way"
cmp <("$program" import train.sh --gpu h100_sxm --quiet | tail -n +2) <("$program" import - --gpu h100_sxm --quiet <train.sh | tail -n +2) ||
  fail "standard input is read in another way than the file"
wants 0 "standard input: a script of Megatron-LM, by its 'pretrain_gpt' in line 4: import megatron" import - --gpu h100_sxm <train.sh
wants 2 "standard input: error: shows no sign of a format that is known" import - <list.yaml
wants 0 "a script of Megatron-LM" --verbose import train.sh --gpu h100_sxm
cmp <("$program" --quiet import train.sh --gpu h100_sxm) <("$program" import megatron train.sh --gpu h100_sxm --quiet) ||
  fail "an option before import changes what is read"
wants 0 "a script of Megatron-LM" --data "$source_folder" import train.sh --gpu h100_sxm
wants 2 "neox.yml:1:1: error: is a configuration of GPT-NeoX, by its 'pipe_parallel_size'" import neox.yml
wants 2 "is a configuration of GPT-NeoX" import megatron neox.yml --gpu h100_sxm --nodes 1
wants 2 "is a configuration of GPT-NeoX" project neox.yml --gpu h100_sxm --nodes 1
wants 2 "is a configuration of FlagScale, by its 'system.tensor_model_parallel_size'" import flagscale.yaml
wants 2 "swift.sh:1:1: error: is a script of ms-swift, by its 'swift sft'" import swift.sh
wants 2 "is a script of verl that fine-tunes" import verl.sh
wants 2 "shows no sign of a format that is known" import list.yaml
wants 2 "needs no import: stepcast project FILE" import "$source_folder/examples/12_llama3.1_405b_h100/experiment.yaml"

wants 2 "and does not say on what it runs; give --gpu" project train.sh
wants 0 "16 NVIDIA H100" project train.sh --gpu h100_sxm
sed -i '/SBATCH/d' train.sh
wants 2 "give --gpu and --nodes" project train.sh
wants 2 "goes behind the file of an import: stepcast import megatron train.sh KEY=VALUE" project train.sh --gpu h100_sxm --nodes 3
wants 2 "give --nodes" project train.sh --gpu h100_sxm
wants 0 "8 NVIDIA H100" project train.sh --gpu h100_sxm --nodes 1
"$program" import train.sh --gpu h100_sxm --nodes 1 --out mine.yaml --quiet
cmp <("$program" project train.sh --gpu h100_sxm --nodes 1 --quiet) <("$program" project mine.yaml --quiet) ||
  fail "a projection of a file is not that of its import"
echo "known_files: ok"
