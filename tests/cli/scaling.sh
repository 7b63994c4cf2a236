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
exits 2 project "$experiment" --gpus-from 60 --gpus-to 128
says "are no whole nodes of 8"
exits 3 project --model llama3.1_70b --gpu h100_sxm --gpus-from 8 --gpus-to 16 --tp 7
exit $failed
