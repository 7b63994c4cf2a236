#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pages of reports: every command's, opened in headless Chromium where it is installed. Usage: html.sh STEPCAST ROOT [PICTURES]
set -euo pipefail
stepcast=$1
root=$2
pictures=${3:-}  # a folder for what each page looks like
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
failed=0
complain() { echo "FAILED: $*"; failed=1; }
page() { # name, expected exit code, arguments: the page, and the same command's JSON
  local name=$1 expected=$2 code=0
  shift 2
  "$stepcast" "$@" --quiet --html "$made/pages/$name.html" >"$made/out" 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || complain "$name exits $code, not $expected: $(head -n 3 "$made/out")"
  "$stepcast" "$@" --quiet --format json >"$made/pages/$name.json" 2>"$made/out" || code=$?
}
mkdir "$made/pages"
example=$root/examples

# A name that is markup must stay a name, in every place that it reaches.
sed 's/^name: .*/name: "<script>ran=1<\/script>"/' "$root/configs/models/llama3.1_8b.yaml" >"$made/<img src=x onerror=ran=1>.yaml"
page markup 0 project --model "$made/<img src=x onerror=ran=1>.yaml" --gpu h100_sxm --nodes 1 --fsdp 8 --set training.tokens=15T --price 'h100_sxm=2.5' --currency '</script>'
grep -F '<script>ran' "$made/pages/markup.html" >/dev/null && complain "a model's name is markup in the page"
grep -F '<img src=x' "$made/pages/markup.html" >/dev/null && complain "a file's name is markup in the page"

page project 4 project "$example/12_llama3.1_405b_h100/experiment.yaml" --set plan.vpp=2 --tokens 15T --price h100_sxm=2.50
page project_trace 0 project "$example/12_llama3.1_405b_h100/experiment.yaml"
page does_not_fit 3 project --model llama3.1_70b --gpu h100_sxm --nodes 1 --fsdp 8
page does_not_divide 3 project --model llama3.1_70b --gpu h100_sxm --nodes 1 --tp 7
page schedules 0 project "$example/12_llama3.1_405b_h100/experiment.yaml" --schedule all
page scaling 0 project "$example/12_llama3.1_405b_h100/experiment.yaml" --gpus-from 1024 --gpus-to 16384
# Sizes that cannot run, and ones that gain; more causes than there are colours.
page scaling_best 0 project --model llama3.1_8b --gpu h100_sxm --gpus-from 1 --gpus-to 16 --best-plan --gbs 64
cat >"$made/unequal.yaml" <<'EOF'
model: llama3.1_8b
cluster: {name: h100_rail_optimised, nodes: 4, oversubscription: 4}
training: {sequence_length: 4096, global_batch_size: 64, work_spread: 0.02, garbage_collection: {pause: 100 ms, steps: 10}}
EOF
page scaling_many 0 project "$made/unequal.yaml" --gpus-from 8 --gpus-to 2048 --best-plan --gbs 2048
page explain 0 explain "$example/15_deepseek_v3_h100/experiment.yaml"
page difference 0 explain "$example/04_llama3.1_8b_mi300x/experiment.yaml" "$example/01_llama3.1_70b_mi300x/experiment.yaml"
sed 's/micro_batch_size: 1/micro_batch_size: 2/' "$example/01_llama3.1_70b_mi300x/experiment.yaml" >"$made/other.yaml"
page difference_settings 0 explain "$example/01_llama3.1_70b_mi300x/experiment.yaml" "$made/other.yaml"
page constants 0 explain "$example/04_llama3.1_8b_mi300x/experiment.yaml" --provenance
page compare 0 compare "$example/04_llama3.1_8b_mi300x/experiment.yaml" --gpu mi300x --gpu h100_sxm --gpu b200 --price mi300x=2.50 --tokens 1T
ten=(--gpu mi300x --gpu mi325x --gpu mi355x --gpu h100_sxm --gpu h200_sxm --gpu h800 --gpu b200 --gpu b300 --gpu a100_80gb --gpu h100_pcie)
page compare_many 0 compare "$example/01_llama3.1_70b_mi300x/experiment.yaml" "${ten[@]}"
page compare_nodes 0 compare "$example/01_llama3.1_70b_mi300x/experiment.yaml" --gpu mi300x --gpu h200_sxm --nodes 8
page all_schedules 0 project "$example/14_deepseek_v3_h800/experiment.yaml" --schedule all
cat >"$made/many.yaml" <<'EOF'
description: "Llama 3 70B on 512 H100, ten thousand plans and more"
model: llama3_70b
cluster: {gpu: h100_sxm, nodes: 64}
software: megatron
training:
  sequence_length: 8192
  micro_batch_size: [1, 2, 4]
  global_batch_size: [512, 1024, 2048]
  recompute: [none, selective, full]
  dtype: [bf16, fp8]
plan:
  tp: [1, 2, 4, 8]
  cp: [1, 2]
  pp: [1, 2, 4, 8, 16]
  zero: [0, 1, 2, 3]
  schedule: [1f1b, {schedule: interleaved_1f1b, vpp: [2, 5]}, zb_h1]
EOF
page many_plans 0 sweep "$made/many.yaml"
page sweep 0 sweep "$root/configs/sweeps/llama3_70b_512_h100.yaml"

cat >"$made/trace.json" <<'EOF'
{"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 100, "dur": 100},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 110, "dur": 20, "args": {"Input Dims": [[4096, 4096], [4096, 4096]]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 115, "dur": 1, "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "nvjet_tst", "pid": 0, "tid": 7, "ts": 150, "dur": 40, "args": {"correlation": 7}}]}
EOF
page trace_compare 0 trace-compare --model llama3.1_8b --gpu h200_sxm --nodes 1 --set cluster.gpus_per_node=2 --zero 3 --gbs 2 "$made/trace.json"

page diagnosis 0 diagnose "$root/tests/cli/diagnose/slow_network.yaml" --measured 200tok/s --point training.micro_batch_size=4:35s
"$stepcast" trace "$root/tests/cli/diagnose/slow_network.yaml" --set cluster.link_rate='2 GB/s' --out "$made/slow.json"
page diagnosis_trace 0 diagnose "$root/tests/cli/diagnose/slow_network.yaml" --trace "$made/slow.json"
page accuracy 0 validate --groups "$root/tests/validation/h200_steps.jsonl" "$root/tests/validation/training_runs_2026.jsonl"
page recommendation 0 recommend --model llama3.1_8b --gpu h100_sxm --gpu mi300x --gpu b200 --tokens 1T --days 30 \
  --price h100_sxm=2.50 --price mi300x=2.20 --price b200=4

# The same bytes again, and on standard output, where no report stands before them.
"$stepcast" sweep "$root/configs/sweeps/llama3_70b_512_h100.yaml" --quiet --threads 1 --html "$made/one" >/dev/null
"$stepcast" sweep "$root/configs/sweeps/llama3_70b_512_h100.yaml" --quiet --threads 2 --html "$made/two" >/dev/null
diff <(sed 's/--threads [12] --html [^"]*//' "$made/one") <(sed 's/--threads [12] --html [^"]*//' "$made/two") >/dev/null ||
  complain "a page depends on the number of threads"
"$stepcast" project "$example/04_llama3.1_8b_mi300x/experiment.yaml" --html - >"$made/piped"
[ "$(head -c 15 "$made/piped")" = '<!DOCTYPE html>' ] || complain "a page on standard output does not begin with its type"
grep -c '</html>' "$made/piped" >"$made/out"
[ "$(cat "$made/out")" = 1 ] || complain "a page on standard output does not end once"
grep -F 'THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS' "$made/piped" >/dev/null || complain "the library's licence is not in the page"
code=0
"$stepcast" project "$example/04_llama3.1_8b_mi300x/experiment.yaml" --html "$made/no/such/page.html" >/dev/null 2>"$made/out" || code=$?
[ "$code" -eq 2 ] || complain "a folder that is not there exits $code"
"$stepcast" project "$example/04_llama3.1_8b_mi300x/experiment.yaml" --html "$made/a" --out "$made/a" >/dev/null 2>"$made/out" && complain "a page takes the report's file"

# A pipe, as any device, takes a page and stays what it is.
mkfifo "$made/pipe"
timeout 60 cat "$made/pipe" >"$made/through" &
timeout 60 "$stepcast" project "$example/04_llama3.1_8b_mi300x/experiment.yaml" --quiet --html "$made/pipe" >/dev/null ||
  complain "a page does not go into a pipe"
[ -p "$made/pipe" ] || complain "a page takes the place of a pipe"
wait
[ "$(tail -n 1 "$made/through")" = '</html>' ] || complain "a page does not go through a pipe whole"

# Pictures are XML that stands by itself.
"$stepcast" sweep "$root/configs/sweeps/llama3_70b_512_h100.yaml" --quiet --plot "$made/sweep.svg" >/dev/null
"$stepcast" compare "$example/04_llama3.1_8b_mi300x/experiment.yaml" --gpu mi300x --gpu h100_sxm --plot "$made/compare.svg" >/dev/null
"$stepcast" compare "$example/01_llama3.1_70b_mi300x/experiment.yaml" "${ten[@]}" --quiet --plot "$made/ten.svg" >/dev/null
python3 - "$made" <<'EOF' || failed=1
import sys, xml.dom.minidom as dom
points = dom.parse(sys.argv[1] + "/sweep.svg").getElementsByTagName("circle")
bars = [r for r in dom.parse(sys.argv[1] + "/compare.svg").getElementsByTagName("rect") if r.getAttribute("class") == "b"]
assert len(points) > 50 and all(0 <= float(p.getAttribute("cx")) <= 760 and 0 <= float(p.getAttribute("cy")) <= 460 for p in points), len(points)
assert len(bars) == 1, "the GPU that fits has a bar, the other one none"
texts = [t for t in dom.parse(sys.argv[1] + "/ten.svg").getElementsByTagName("text") if not t.getAttribute("transform")]
rows = {}
for t in texts:
    wide = 7.0 * len(t.firstChild.data)
    left = float(t.getAttribute("x")) - {"start": 0, "middle": wide / 2, "end": wide}[t.getAttribute("text-anchor")]
    rows.setdefault(t.getAttribute("y"), []).append((left, left + wide, t.firstChild.data))
for row in rows.values():
    row.sort()
    assert all(a[1] <= b[0] for a, b in zip(row, row[1:])), f"labels of a picture touch: {row}"
EOF

if command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then
  PYTHONDONTWRITEBYTECODE=1 python3 "$root/tests/cli/html_pages/check_pages.py" "$made/pages" ${pictures:+"$pictures"} || failed=1
else
  echo "SKIPPED: Chromium is not installed, so that no page was opened; apt-get install chromium"
  [ "$failed" -ne 0 ] || exit 77
fi
exit $failed
