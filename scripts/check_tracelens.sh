#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lets TraceLens (github AMD-AGI/TraceLens) read a trace that `stepcast trace` wrote, and prints the report's time line
# and categories. A check by hand: no test needs TraceLens.
#
# Needs python3 with pandas, tqdm, tabulate, openpyxl, yaml and matplotlib (Debian: python3-pandas and so on); orjson,
# which TraceLens asks for, is stood in for by json.
#
# To expect, as with TraceLens 171dd747, for an experiment of Llama 3.1 8B under FSDP on two H200:
#   sheets gpu_timeline, ops_summary_by_category, ops_summary, ops_unique_args, unified_perf_summary, GEMM, SDPA_fwd,
#   SDPA_bwd, Normalization or UnaryElementwise, coll_analysis; no operator of the category GEMM, SDPA or MoE_comm fails;
#   gpu_timeline: total_time is the step's time, exposed_comm_time the report's exposed communication, idle_time its
#   bubble and host.
#
# Usage: check_tracelens.sh TRACELENS_CHECKOUT EXPERIMENT.yaml [STEPCAST]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tracelens=$(realpath "$1")
experiment=$2
stepcast=${3:-$root/build/release/bin/stepcast}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir "$made/shim"
cat >"$made/shim/orjson.py" <<'PYTHON'
import json


def loads(text):
    return json.loads(text)


def dumps(value, **_):
    return json.dumps(value).encode()
PYTHON
"$stepcast" trace "$experiment" --out "$made/step.json.gz"
"$stepcast" project "$experiment" | sed -n '/^Where the time goes/,/^$/p'
if ! PYTHONPATH="$made/shim:$tracelens" python3 -m TraceLens.Reporting.generate_perf_report_pytorch \
  --profile_json_path "$made/step.json.gz" --output_csvs_dir "$made/report" >"$made/log" 2>&1; then
  cat "$made/log"
  exit 1
fi
ls "$made/report"
cat "$made/report/gpu_timeline.csv"
cut -d, -f1-4 "$made/report/ops_summary_by_category.csv"
grep -o 'Failed to compute perf metrics for [0-9/]* events' "$made/log" || true
