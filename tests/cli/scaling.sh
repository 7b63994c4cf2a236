#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast project --gpus-from --gpus-to`: each size is what `project` says of it alone, formats, and what is refused.
# Usage: scaling.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
experiment="$2/examples/01_llama3.1_70b_mi300x/experiment.yaml"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"

rate_in() { # file, number of GPUs
  awk -v gpus="$2" '/"gpus":/ { at = $2 + 0 == gpus } at && /"tokens_per_second_per_gpu":/ { print $2; exit }' "$1"
}

# The experiment has 64 GPUs and a batch of 128.
exits 0 project "$experiment" --gpus-from 64 --gpus-to 256 --format json
cp "$made/out" "$made/curve"
exits 0 project "$experiment" --format json
[ "$(rate_in "$made/curve" 64)" = "$(awk '/"tokens_per_second_per_gpu":/ { print $2; exit }' "$made/out")" ] ||
  complain "the first size is not the experiment itself"
exits 0 project "$experiment" --gpus-from 64 --gpus-to 256
says "weak: the global batch grows with the GPUs"
exits 0 project "$experiment" --gpus-from 64 --gpus-to 200 --gbs 1600 --format csv
[ "$(cut -d, -f1 "$made/out" | sort -un | tr '\n' ' ')" = "gpus 64 128 200 " ] || complain "a curve does not end where it should"
exits 0 project --model llama3.1_8b --gpu h100_sxm --gpus-from 8 --gpus-to 16 --best-plan --gbs 64 --tp 2
says "strong: the global batch stays"
says "Best plan of each size"
says "GPUs  micro-batch  recompute  schedule"

# What is assumed of the batch and the plan is told, and the batch is no larger on more GPUs.
exits 0 project --model llama3.1_8b --gpu h100_sxm --gpus-from 8 --gpus-to 1024
says "strong: the global batch stays"
says "no batch given: the usual one, 2,048 sequences, stays at every size"
says "no plan given: the fastest that a quick search found on 8 GPUs"
says "1,024         2,048"
# One GPU has too little memory; what the others lose is of the rate of two.
exits 0 project --model llama3.1_8b --gpu h100_sxm --gpus-from 1 --gpus-to 8
says "lost: of the rate of 2 GPUs"
exits 0 project "$experiment" --gpus-from 64 --gpus-to 128
says "fsdp 64 of the experiment grows with the GPUs"
says "dp 64, fsdp 64"
exits 0 project "$experiment" --gpus-from 64 --gpus-to 128 --fsdp 64
says "fsdp 64 stays at every size"
exits 0 project "$experiment" --gpus-from 64 --gpus-to 128 --set 'training={global_batch_size: 256, sequence_length: 8192}'
says "strong: the global batch stays"
# Twelve GPUs are no whole nodes of eight; 24 are answered.
exits 0 project "$experiment" --gpus-from 6 --gpus-to 24 --gbs 48 --format csv
says "^12,,,false,.*are no whole nodes of 8"
says "^24,3,48,true"

exits 2 project "$experiment" --gpus-to 256
says "add --gpus-from 64"
exits 2 project "$experiment" --gpus-from 64
says "add --gpus-to 1024"
exits 2 project "$experiment" --best-plan
says "is of a scaling curve"
exits 2 project "$experiment" --gpus-from 64 --gpus-to 32
says "is less than the 64 GPUs"
exits 2 project "$experiment" --gpus-from 64 --gpus-to 128 --tokens 1B
says "compares steps"
exits 2 project "$experiment" --gpus-from 64 --gpus-to 128 --schedule all
exits 2 project "$experiment" --gpus-from 60 --gpus-to 130
says "^--gpus-from 60: error: .* are no whole nodes of 8; give 56 or 64"
says "^--gpus-to 130: error: .* are no whole nodes of 8; give 128 or 136"
exits 2 project "$experiment" --gpus-from 64 --gpus-to 128 --threads 2
says "^--threads: error: nothing is searched; add --best-plan"
exits 2 project "$experiment" --threads 2
says "nothing is searched; add --gpus-from 64 --gpus-to 1024 --best-plan"
exits 3 project --model llama3.1_70b --gpu h100_sxm --gpus-from 8 --gpus-to 16 --tp 7
says "8  tp = 7 does not divide the number of attention heads = 64"
exit $failed
