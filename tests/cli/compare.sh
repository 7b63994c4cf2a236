#!/usr/bin/env bash
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
exit $failed
