#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `--save-dir` of sweep, merge and compare: each of the best plans as an experiment that projects to the figures of
# its row, and as launch files that come back as it; the input as it was resolved, which gives the same sweep; what is
# refused. Usage: save_dir.sh STEPCAST ROOT
set -euo pipefail
stepcast=$(realpath "$1")
root=$(realpath "$2")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$root/tests/cli/run_checks.sh"
ln -s "$root/configs" "$made/configs"
cd "$made"

# Numbers of `project` and of a line of a sweep or a comparison are the same to the last bit.
value() { sed -n "s/.*\"$2\": \{0,1\}\([0-9.e+-]*\).*/\1/p" "$1" | head -n 1; }
same_numbers() { # JSON, JSON
  local key
  for key in tokens_per_second_per_gpu step_time_s mfu peak_memory_bytes; do
    [ -n "$(value "$1" $key)" ] && awk "BEGIN { exit !($(value "$1" $key) == $(value "$2" $key)) }" ||
      complain "$key of $1 is $(value "$1" $key), of $2 $(value "$2" $key)"
  done
}
# Every rank of a folder, by the index that stands in its first line, against the lines of the sweep.
ranks_are_rows() { # folder, lines
  local file index
  for file in "$1"/rank_??.yaml; do
    index=$(sed -n '1s/.*: plan \([0-9]*\) of the sweep.*/\1/p' "$file")
    grep "^{\"index\":$index," "$2" >row || complain "$file is of no row of the sweep: $(head -n 1 "$file")"
    projects "$file" --format json >projected || complain "$file does not project"
    same_numbers row projected
  done
}
comes_back() { # framework, launch file, experiment
  "$stepcast" import "$1" "$2" --quiet --out back.yaml || complain "$2 is not imported"
  diff <(projects "$3" --format csv) <(projects back.yaml --format csv) >/dev/null ||
    complain "$2 comes back as another experiment than $3"
}

# The example of --help, narrowed. The software is named: its framework alone is written.
example=$("$stepcast" sweep --help | sed -n 's/^Example: stepcast //p')
grep -q -- '--save-dir best$' <<<"$example" || complain "the example of sweep: $example"
# shellcheck disable=SC2086
exits 0 $example --set training.micro_batch_size=1 --set 'plan.tp=[4, 8]' --format json --plans rows.jsonl
[ "$(ls best | tr '\n' ' ')" = "pareto.csv rank_01.megatron.sh rank_01.yaml rank_02.megatron.sh rank_02.yaml rank_03.megatron.sh rank_03.yaml rank_04.megatron.sh rank_04.yaml rank_05.megatron.sh rank_05.yaml resolved.yaml " ] ||
  complain "the folder has $(ls best)"
ranks_are_rows best rows.jsonl
comes_back megatron best/rank_01.megatron.sh best/rank_01.yaml
head -n 1 best/rank_01.yaml | grep -Eq '^# rank 1 by tokens_per_second_per_gpu: plan [0-9]+ of the sweep, [0-9.]+ tokens/s/GPU' ||
  complain "the first line is $(head -n 1 best/rank_01.yaml)"
# The best is the best.
best=$(sed -n 's/.*"tokens_per_second_per_gpu":\([0-9.]*\).*/\1/p' rows.jsonl | sort -g | tail -n 1)
projects best/rank_01.yaml --format json >projected
[ "$(value projected tokens_per_second_per_gpu)" = "$best" ] || complain "rank 1 is not the best, $best"
# The resolved input needs no option, and the Pareto set is made of its lines.
exits 0 sweep best/resolved.yaml --format jsonl --out again.jsonl
cmp -s rows.jsonl again.jsonl || complain "resolved.yaml is another sweep"
exits 0 sweep best/resolved.yaml --format csv --out rows.csv
[ "$(wc -l <best/pareto.csv)" -ge 2 ] || complain "pareto.csv has $(wc -l <best/pareto.csv) lines"
! grep -vxFf rows.csv best/pareto.csv >/dev/null || complain "pareto.csv has other lines than the sweep"

# A second run replaces its files, with --format csv too, and says what is left of the first; 3 are usual.
cp -r best before
cp best/resolved.yaml again.yaml
exits 0 sweep again.yaml --save-dir best --format csv --out other.csv
says 'best/rank_05.yaml is of an earlier run'
! grep -q 'rank_03.yaml is of' out || complain "rank 3 is said to be of an earlier run"
diff -r best before >/dev/null || complain "the same sweep writes other files"

# Files that the input names are found from the folder, wherever the input lay.
mkdir -p inputs/parts
sed 's/^name: .*/name: mine/' "$root/configs/models/llama3.1_8b.yaml" >inputs/parts/mine.yaml
printf '%s\n' 'name: own' 'title: Own' 'base: h100_sxm' 'kernels_measured_on: h100_sxm' 'hbm:' \
  '  capacity: {value: 160 GiB, assumed: a test}' >inputs/parts/own.yaml
cat >inputs/own_sweep.yaml <<YAML
model: parts/mine.yaml
cluster: {gpu: [parts/own.yaml, h100_sxm], nodes: [1, 2]}
training: {sequence_length: 4096, micro_batch_size: [1, 2], global_batch_size: 64}
plan: all
YAML
exits 0 sweep inputs/own_sweep.yaml --set plan.tp=2 --save-dir inputs/saved --top 2 --format json --plans own.jsonl
ranks_are_rows inputs/saved own.jsonl
exits 0 sweep inputs/saved/resolved.yaml --format jsonl --out again.jsonl
diff own.jsonl <(sed "s|$made/inputs/||g" again.jsonl) >/dev/null || complain "the resolved sweep of files is another"
[ -s inputs/saved/pareto_gpus.csv ] || complain "no set for a number of GPUs that varies"
# Without a named software each framework is written that can say the plan; why not is said of the others.
exits 0 sweep inputs/own_sweep.yaml --set plan.tp=2 --save-dir inputs/each --top 1 --out text
written=0
for framework in megatron primus megatron_bridge torchtitan maxtext; do
  if ls inputs/each/rank_01."$framework".* >/dev/null 2>&1; then
    written=$((written + 1))
    comes_back "$framework" inputs/each/rank_01."$framework".* inputs/each/rank_01.yaml
  else
    says "^rank_01: nothing is written for $framework: "
  fi
done
[ "$written" -ge 1 ] || complain "no framework is written"

# A merge of shards saves the same.
for shard in 1 2; do exits 0 sweep best/resolved.yaml --shard $shard/2 --out shard$shard.part; done
exits 0 merge shard1.part shard2.part --save-dir merged --out text
cmp -s merged/rank_01.yaml best/rank_01.yaml || complain "a merge saves another best plan"

# A comparison: every column that runs, the fastest first.
exits 0 compare --model llama3.1_8b --gbs 64 --fsdp 8 --gpu h100_sxm --gpu b200 --save-dir columns --format csv \
  --out columns.csv
cmp -s columns.csv columns/comparison.csv || complain "comparison.csv is another table"
head -n 1 columns/rank_01.yaml | grep -q '^# rank 1 by tokens_per_second_per_gpu: b200, ' || complain "$(head -n 1 columns/rank_01.yaml)"
for rank in 1:b200 2:h100_sxm; do
  projects columns/rank_0${rank%%:*}.yaml --format json >projected
  projects --model llama3.1_8b --gbs 64 --fsdp 8 --gpu "${rank#*:}" --format json >alone
  same_numbers projected alone
done
exits 0 compare --model llama3.1_8b --nodes 1 --gbs 64 --gpu h100_sxm --best-plan --tp 2 --save-dir planned --format json
projects planned/rank_01.yaml --format json >projected
same_numbers out projected

exits 0 project columns/resolved.yaml --format json
same_numbers out alone

# What is refused, before any work is done.
: >file
exits 2 sweep best/resolved.yaml --save-dir file
says 'this is a file; give a folder'
mkdir -p taken/rank_01.yaml
exits 2 sweep best/resolved.yaml --save-dir taken
says "'rank_01.yaml' in it is no regular file and is not replaced; move it away or give another folder"
rmdir taken/rank_01.yaml
ln -s "$made/file" taken/pareto.csv
exits 2 compare --model llama3.1_8b --gpu h100_sxm --save-dir taken
says "'pareto.csv' in it is no regular file"
exits 2 sweep best/resolved.yaml --save-dir shard --shard 1/2 --out shard.part
says '--save-dir are for stepcast merge'
# No plan runs: no rank, and exit 3.
exits 3 sweep best/resolved.yaml --set cluster.nodes=1 --set 'plan.tp=[3]' --save-dir none
[ "$(ls none | tr '\n' ' ')" = "pareto.csv resolved.yaml " ] || complain "of no plan there is $(ls none)"
exit $failed
