#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A report says all that ran: its context, given back as an input file, projects to the same bytes, also
# with options, backends and files of the user's own. Usage: context.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
root=$2
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# shellcheck source=tests/cli/run_checks.sh
source "$root/tests/cli/run_checks.sh"
same() { # arguments of project
  "$stepcast" project "$@" --format json >"$made/report.json" || [[ $? =~ ^[34]$ ]]
  sed -n '/^    "input": {/,/^    }/p' "$made/report.json" | sed '1s/.*/{/; $s/,$//' >"$made/input.yaml"
  for given in report.json input.yaml; do
    "$stepcast" project "$made/$given" --format json >"$made/again.json" 2>"$made/message" || [[ $? =~ ^[34]$ ]] ||
      complain "$*: its $given is refused: $(head -n 3 "$made/message")"
    diff "$made/report.json" "$made/again.json" >"$made/diff" ||
      complain "$*: its $given says: $(head -n 5 "$made/diff")"
  done
}
cd "$root"
for file in examples/*/experiment.yaml configs/experiments/*.yaml; do
  same "$file"
done
same --model llama3.1_8b --gpu h100_sxm --nodes 1
same --model llama3.1_8b --gpu mi300x --nodes 1 --backend gemm=roofline --backend collective=ring_direct
same --model mixtral_8x7b --gpu b200 --nodes 2 --ep 8 --software torchtitan --set software.deepep=true --dtype fp8
same --model deepseek_v3 --gpu h800 --nodes 32 --pp 16 --ep 32 --schedule dualpipev --gbs 1024 \
  --set plan.stage_layout=balanced
same --model llama3.1_70b --gpu h200_sxm --nodes 4 --tp 8 --gpu-clock-mhz 1400 --power-limit '500 W'
same --model llama3.1_8b --gpu h100_sxm --nodes 1 --tp 3
same --model llama3.1_8b --gpu h100_sxm --gpus 2 --set 'training.lora={rank: 8}'
# A model in a file of the user's own, and a table of measurements that lies elsewhere.
mkdir "$made/own"
sed 's/^name: .*/name: mine/' configs/models/llama3.2_1b.yaml >"$made/own/mine.yaml"
echo '{"gpu": "h100_sxm", "kind": "gemm", "m": 64, "n": 64, "k": 64, "s": 1e-5}' >"$made/own/table.jsonl"
cat >"$made/own/experiment.yaml" <<'EOF'
model: mine.yaml
cluster: {name: h100_weak_ethernet, nodes: 2}
training: {sequence_length: 4096, global_batch_size: 32}
backends: {gemm: "measured:table.jsonl"}
EOF
same "$made/own/experiment.yaml"
# What is given on top counts.
"$stepcast" project --model llama3.1_8b --gpu h100_sxm --nodes 1 --format json >"$made/report.json"
"$stepcast" project "$made/report.json" --tp 2 --nodes 2 --format json >"$made/again.json"
grep -q '"tp": 2' "$made/again.json" && grep -q '"nodes": 2' "$made/again.json" || complain "options on top do not count"
# What is chosen anew is no longer said to be what a search chose.
grep -q 'no plan given' "$made/report.json" || complain "a plan that was searched is not said so"
grep -q 'no plan given' "$made/again.json" && complain "a plan with options on top is said to be searched"
exit $failed
