#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# GPUs, clusters, models and software sets of a user's own: templates that read as they are, parts that no longer fit
# their base, intervals that widen, and the words that reports use.
# Usage: own_parts.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
root=$2
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# shellcheck source=tests/cli/run_checks.sh
source "$root/tests/cli/run_checks.sh"
cd "$made"

# Every template reads as it is, in project and, a description, in describe.
for kind in gpu cluster model software; do
  exits 0 describe --template $kind --out $kind.yaml
  exits 0 describe $kind.yaml
done
[ "$(ls "$root/configs/templates" | wc -l)" -eq 4 ] || complain "a template is not tried"
exits 0 project --gpu gpu.yaml --model model.yaml --software software.yaml
says '^8 An accelerator of my own train A model of my own at'
says '^  software  *my_software (software.yaml)$'
exits 0 project --cluster cluster.yaml --model llama3.1_8b --nodes 2
says '^16 NVIDIA H100 SXM 80 GB train'
exits 0 compare --model llama3.1_8b --gpu h100_sxm --gpu gpu.yaml
says '  on assumed constants  *3.6 %  *100.0 %'
exits 0 recommend --model llama3.1_8b --gpu gpu.yaml --tokens 1T --days 30
says 'my_gpu: '
printf '%s\n' '{"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}' >op.jsonl
exits 0 cost --gpu gpu.yaml op.jsonl
exits 2 describe --template gup
says "there is no template of 'gup'; did you mean 'gpu'?"

# The nearer a part is to those that ship, the narrower is its interval.
half_width() { # GPU
  "$stepcast" project --model llama3.1_8b --gpu "$1" --nodes 1 --mbs 1 --gbs 64 --tp 1 --format json |
    python3 -c 'import json, sys; low, high = json.load(sys.stdin)["expected_error"]["interval_80"]; print(high - low)'
}
printf '%s\n' 'name: more' 'title: More memory' 'base: h100_sxm' 'hbm: {capacity: {value: 120 GB, assumed: a}}' >more.yaml
printf '%s\n' 'name: fewer' 'title: Fewer units' 'base: h100_sxm' 'compute_units: {value: 114, assumed: a}' >fewer.yaml
widths="$(half_width h100_sxm) $(half_width more.yaml) $(half_width fewer.yaml) $(half_width gpu.yaml)"
[ "$widths" = "$(tr ' ' '\n' <<<"$widths" | sort -g | paste -sd' ')" ] || complain "intervals are $widths wide"
exits 0 project --model llama3.1_8b --gpu gpu.yaml
says 'wider for a part of your own: 2 whole vendors, each held out, are off the others by .* %, and constants of another part add 16 %'
exits 0 project --model llama3.1_8b --gpu fewer.yaml
says 'own part fewer: compute_units is the part.s own and clock.rated, 1.83 GHz, still that of h100_sxm, so that the dense bf16 peak is 855 TFLOP/s'

# What would decide the answer is an error in the user's own file, with the number that fits.
printf '%s\n' 'name: slow' 'title: Slow' 'base: b200' 'matrix_rate: {bf16: {value: 512 FLOP/clk, assumed: a}}' >slow.yaml
exits 2 project --model llama3.1_8b --gpu slow.yaml
says "^slow.yaml:4:15: error: 'matrix_rate.bf16' changes what a cycle of a unit does"
says 'bf16: {value: 775 pJ, assumed: the energy a FLOP of b200}'
printf '%s\n' 'name: pair' 'title: Pair' 'base: b200' 'scale_up: {domain_size: {value: 2, assumed: a}}' >pair.yaml
exits 2 project --model llama3.1_8b --gpu pair.yaml
says "^pair.yaml:4:11: error: 'scale_up' has a domain_size of 2, and a node has 8 GPUs"
exits 2 project --model llama3.1_8b --gpu h100_pcie --set cluster.gpus_per_node=8
says "'cluster.gpus_per_node' is more than the 2 GPUs that the fabric of h100_pcie joins"

# Words, by any of their names, and what there is.
exits 0 describe mfu
says '^MFU$'
exits 0 describe 'tensor parallelism'
says '^tp$'
exits 2 describe bubbel
says "did you mean 'bubble'?"
exits 0 list
says '^words  *[0-9]'
exits 0 list gpus
says '^mi300x  *AMD Instinct MI300X: 192.0 GiB, 1,307 TFLOP/s dense bf16, 750.0 W, 8 joined by xGMI$'
exits 0 list models
says '^deepseek_v3  *DeepSeek-V3 671B: 671 B parameters, 37.6 B active$'
exit $failed
