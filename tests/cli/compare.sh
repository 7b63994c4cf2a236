#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast compare`: every column is the `project` run with the same option, byte for byte; the cross product,
# prices, formats, and what is refused. Usage: compare.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
experiment="$2/examples/01_llama3.1_70b_mi300x/experiment.yaml"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"

# The columns of JSON in $made/out, one a file, each as `project` prints it: four blanks further left.
split_columns() {
  rm -f "$made"/column_*
  awk -v folder="$made" '
    /^  "columns": \[/ { inside = 1; next }
    inside && /^  \]/ { inside = 0 }
    inside { line = substr($0, 5)
             if (line ~ /^[{]/) { ++n }
             sub(/^},$/, "}", line)
             print line > (folder "/column_" n) }' "$made/out"
}
same_as_project() { # column, options of project
  local column="$made/column_$1"
  shift
  "$stepcast" project "$experiment" --format json "$@" >"$made/alone" || true
  cmp -s "$column" "$made/alone" || complain "the column of $* differs from its project run: $(diff "$column" "$made/alone" | head -n 4)"
}

gpus=(mi300x mi325x h100_sxm h200_sxm b200)
exits 0 compare "$experiment" --format json "${gpus[@]/#/--gpu=}"
split_columns
for i in "${!gpus[@]}"; do same_as_project $((i + 1)) --gpu "${gpus[i]}"; done
clocks=(1200 1500 2100)
exits 0 compare "$experiment" --format json "${clocks[@]/#/--gpu-clock-mhz=}"
split_columns
for i in "${!clocks[@]}"; do same_as_project $((i + 1)) --gpu-clock-mhz "${clocks[i]}"; done

# The cross product: the GPU varies slowest, then nodes, the power limit and the software.
exits 0 compare "$experiment" --format json --gpu h100_sxm --gpu mi300x --nodes 8 --nodes 16 \
  --power-limit '500 W' --power-limit '600 W' --software megatron --tp 2 --fsdp 32
split_columns
[ "$(ls "$made"/column_* | wc -l)" -eq 8 ] || complain "$(ls "$made"/column_* | wc -l) columns, not 8"
same_as_project 2 --gpu h100_sxm --nodes 8 --power-limit '600 W' --software megatron --tp 2 --fsdp 32
same_as_project 7 --gpu mi300x --nodes 16 --power-limit '500 W' --software megatron --tp 2 --fsdp 32

# For people, with prices.
exits 0 compare "$experiment" --gpu mi300x --gpu b200 --price mi300x=2.50 --price b200=4
says '^ *mi300x  *b200$'
says '^  ratio to mi300x  *1.000  *[0-9.]*$'
says '^  price a million tokens  *[0-9.]*  *[0-9.]*$'
says '^    computation '
exits 0 compare "$experiment" --gpu mi300x --gpu b200
! grep -q price "$made/out" || complain "a price that nobody gave"
exits 0 compare "$experiment" --gpu mi300x --gpu b200 --format csv --out "$made/file"
[ "$(wc -l <"$made/file")" -eq 3 ] || complain "CSV of two columns has $(wc -l <"$made/file") lines"

# Each column with its own best plan: the first of the sweep over all plans, projected as `project` projects
# it, beside what was searched.
small=(--model llama3.1_8b --nodes 1 --gbs 64 --recompute none --dtype bf16)
exits 0 compare "${small[@]}" --gpu h100_sxm --gpu mi300x --best-plan --tp 2 --format json
split_columns
cp "$made/out" "$made/searched"
for i in 1 2; do
  gpu=$([ $i = 1 ] && echo h100_sxm || echo mi300x)
  "$stepcast" sweep "${small[@]}" --gpu "$gpu" --set plan.all=offered --tp 2 --top 1 --format json >"$made/sweep"
  # The axes of the best, "plan.tp":2 as --set plan.tp=2.
  settings=()
  while IFS=: read -r key value; do
    key=${key//\"/} value=${value//\"/}
    [ "$value" = null ] || settings+=(--set "$key=$value")
  done < <(grep -m 1 '"index":' "$made/sweep" | sed 's/.*"axes":{\([^}]*\)}.*/\1/' | tr , '\n')
  [ "${#settings[@]}" -gt 4 ] || complain "no axes in the best of the sweep: ${settings[*]}"
  "$stepcast" project "${small[@]}" --gpu "$gpu" --tp 2 "${settings[@]}" --format json >"$made/alone"
  # The member "searched" is the last.
  awk '/^  "searched": \{/ { exit } { print }' "$made/column_$i" >"$made/column"
  sed '$d' "$made/alone" | sed '$s/$/,/' >"$made/whole"
  cmp -s "$made/column" "$made/whole" ||
    complain "the best plan on $gpu is not projected as alone: $(diff "$made/column" "$made/whole" | head -n 4)"
  # The options say the same in the report.
  for setting in "${settings[@]}"; do
    [ "$setting" = --set ] || grep -q "\"${setting%%=*}\": \"${setting#*=}\"" "$made/column_$i" ||
      complain "the settings of the best plan on $gpu lack $setting"
  done
  number=$(sed -n 's/^  "space_size": \([0-9]*\),/\1/p' "$made/sweep")
  looked=$(sed -n 's/^ *"plans": \([0-9]*\),$/\1/p' "$made/column_$i" | head -n 1)
  [ "${looked:-0}" -ge "$number" ] || complain "not all $number plans are looked at on $gpu"
done
python3 - "$made/searched" <<'PY' || complain "a search does not account for each of its plans"
import json, sys
for column in json.load(open(sys.argv[1]))["columns"]:
    searched = column["searched"]
    counted = searched["priced"] + searched["bounded"] + sum(searched["refused"].values())
    assert counted == searched["plans"] and 0 < searched["priced"] < searched["plans"] / 2, searched
PY
exits 0 compare "${small[@]}" --gpu h100_sxm --gpu mi300x --best-plan --tp 2 --format json --threads 3
cmp -s "$made/out" "$made/searched" || complain "three threads find something else"
exits 0 compare "${small[@]}" --gpu h100_sxm --best-plan --tp 2
says "^  plan  *each column's own: the most tokens/s/GPU"
says '^  tp  *2$'
says '^  plans looked at  *[1-9]'
exits 0 compare "${small[@]}" --gpu h100_sxm --gpu mi300x --best-plan --tp 2 --format csv
[ "$(sed 's/"[^"]*"//g; s/[^,]//g' "$made/out" | sort -u | wc -l)" -eq 1 ] || complain "lines of CSV differ in their fields"
# The plan of a file is replaced, also where it cannot run on a column.
exits 0 compare "$experiment" --gpu mi300x --best-plan --nodes 4 --nodes 8 --tp 8 --set plan.zero=1
says '^  plans looked at '
# A column for which there is no plan says why.
exits 3 compare --model llama3.1_405b --gpu h100_sxm --gpu mi300x --nodes 1 --gbs 64 --best-plan
says '^  - h100_sxm, 1 node: .* plans: does not fit in memory'

# A clock that the power limit does not allow is a column that cannot run.
exits 0 compare "$experiment" --gpu-clock-mhz 1200 --gpu-clock-mhz 2100
says '^  - .*2100 MHz: locked at 2,100 MHz a GPU draws [0-9,]* W, more than the limit of 750 W: the part could not keep this clock$'

# A column that cannot run says why; if none can, the exit code does.
exits 0 compare "$experiment" --nodes 4 --nodes 8
says '^  can run  *no  *yes$'
says '^  - 4 nodes: '
exits 3 compare "$experiment" --nodes 4 --nodes 2
says '^These cannot run:'

# Wrong input: all of it at once.
exits 2 compare "$experiment" --gpu mi300x --gpu mi300y --gpu h100_smx
says "unknown GPU 'mi300y'"
says "unknown GPU 'h100_smx'"
exits 2 compare "$experiment" --gpu h100_sxm --gpu mi300x --gpu-clock-mhz 2100
says "at most the GPU's peak, 1.98 GHz"
exits 2 compare "$experiment" --gpu mi300x --price mi300=2 --price mi300x=free --price mi300x=-1
says "did you mean 'mi300x'"
says 'price mi300x=free'
says 'price mi300x=-1'
# Experiments, models, number formats, degrees and any key several times: each value is a column.
other="$2/examples/04_llama3.1_8b_mi300x/experiment.yaml"
exits 0 compare "$experiment" "$other"
says '^ *01_llama3.1_70b_mi300x/experiment  *04_llama3.1_8b_mi300x/experiment$'
says '^  model  *llama3.1_70b  *llama3.1_8b$'
says '^  training  *bf16, sequence 8,192, global batch 128$'
exits 0 compare llama3.1_8b qwen3_8b --gpu h100_sxm --tp 1 --tp 2 --mbs 1 --gbs 64 --format csv --out "$made/file"
[ "$(cut -d, -f1-4 "$made/file" | tail -n +2 | cut -d'"' -f2 | paste -sd';')" = \
  'llama3.1_8b, h100_sxm, tp 1;llama3.1_8b, h100_sxm, tp 2;qwen3_8b, h100_sxm, tp 1;qwen3_8b, h100_sxm, tp 2' ] ||
  complain "columns are $(cut -d'"' -f2 "$made/file")"
exits 0 compare "$experiment" --format json --set plan.tp=1 --set plan.tp=2 --set plan.fsdp=8
says '"label": "plan.tp 2"'
split_columns
same_as_project 2 --set plan.tp=2 --set plan.fsdp=8
# Where steps differ in size, times are of a token on a GPU: one over the rate.
exits 0 compare "$experiment" --gpus 64 --gpus 128 --mbs 1 --format csv --out "$made/file"
python3 - "$made/file" <<'END' || complain "time a token and GPU is not one over the rate"
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    assert abs(float(row["time_per_token_gpu_s"]) * float(row["tokens_per_second_per_gpu"]) - 1) < 1e-12
END
exits 0 compare "$experiment" --gpus 64 --gpus 128 --mbs 1
says '^  time a token and GPU  *[0-9.]* [mu]*s  *[0-9.]* [mu]*s$'
says '^    computation  *[0-9.]* ms  *[0-9.]* ms$'
exits 0 compare "$experiment" --gpu mi300x --gpu mi325x
! grep -q 'time a token' "$made/out" || complain "steps of one size have a time of a token"
# Many columns are rows.
exits 0 compare "$experiment" --gpus 64 "${gpus[@]/#/--gpu=}" --gpu h800
says '^  *GPUs  *tokens/s/GPU  *80 % interval  *ratio to the first'
says '^  h800, 64 GPUs  *64  *[0-9.]* .* plan\|^  h800, 64 GPUs  *64  *[0-9.]* .*tp 1, cp 1'
exit $failed
