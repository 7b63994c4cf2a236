#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast trace-compare`: a small trace beside a projection in every format, two ranks, what is no trace; and, where the
# measurements lie beside the checkout, every trace among them. Usage: trace_compare.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
root=$2
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
failed=0
complain() { echo "FAILED: $*"; failed=1; }
exits() { # expected code, arguments; output to $made/out
  local code=0 expected=$1
  shift
  "$stepcast" trace-compare "$@" >"$made/out" 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || complain "trace-compare $* exits $code, not $expected: $(head -n 3 "$made/out")"
}
says() { grep -q -- "$1" "$made/out" || complain "no '$1' in: $(head -n 5 "$made/out")"; }

# Two steps of one product each, the second 40 us long, and a gather that waits for 30 us on rank 0.
trace() { # rank, duration of the gather
  cat <<EOF
{"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "distributedInfo": {"rank": $1, "world_size": 2}, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 100, "dur": 100},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 110, "dur": 20, "args": {"Input Dims": [[4096, 4096], [4096, 4096]]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 115, "dur": 1, "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "nvjet_early", "pid": 0, "tid": 7, "ts": 50, "dur": 9, "args": {}},
{"ph": "X", "cat": "kernel", "name": "nvjet_tst", "pid": 0, "tid": 7, "ts": 150, "dur": 40, "args": {"correlation": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 140, "dur": 1, "args": {"correlation": 8}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL", "pid": 0, "tid": 22, "ts": 190, "dur": $2, "args": {"correlation": 8,
 "Collective name": "_allgather_base", "In msg nelems": 500, "Out msg nelems": 1000, "Group size": 2, "dtype": "BFloat16",
 "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}}]}
EOF
}
trace 0 50 >"$made/rank0.json"
trace 1 20 >"$made/rank1.json"
gzip -k "$made/rank1.json"
cat >"$made/experiment.yaml" <<'EOF'
model: llama3.1_8b
cluster: {gpu: h200_sxm, nodes: 1, gpus_per_node: 2}
training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 2}
plan: {zero: 3}
EOF

exits 0 "$made/experiment.yaml" "$made/rank0.json"
says '^rank0.json, rank 0 of 2, NVIDIA H200'
says 'ProfilerStep#2'
says 'step measured  *0.09 ms'
says '^  attention.o  *4096 x 4096 x 4096  *1/96  *0.04 '
says 'projected  .*steady$'
! awk 'length > 100' "$made/out" | grep -v '^  \(note\|software\) ' || complain "a line is wider than 100 columns"
exits 0 "$made/experiment.yaml" "$made/rank0.json" --step 2 --state after_pause
says 'the first step after a pause'
exits 0 "$made/experiment.yaml" "$made/rank0.json" "$made/rank1.json.gz" --format json
says '"waited_for_s": \(3\|2.9\).*e-05'
says '"version": '
exits 0 "$made/experiment.yaml" "$made/rank0.json" "$made/rank1.json.gz"
says '^  1  .* 1  *0.03$'
says '^  0.04  all_gather 1.953 KiB / 2  *0.02  *0.03  1$'
exits 0 --model llama3.1_8b --gpu h200_sxm --mbs 1 "$made/rank0.json" --format csv --out "$made/file"
[ ! -s "$made/out" ] || complain "--out prints as well"
grep -q '^operator,gemm,4096 x 4096 x 4096,' "$made/file" || complain "no row of the product in CSV"
for packed in cat gzip; do
  "$packed" <"$made/rank0.json" | "$stepcast" trace-compare "$made/experiment.yaml" - >"$made/out" 2>&1 ||
    complain "a trace of a pipe through $packed is not read: $(head -n 1 "$made/out")"
  says 'rank 0 of 2, NVIDIA H200'
done
"$stepcast" trace-compare --help >"$made/out"
says '--state STATE:{after_pause,steady}'
exits 0 "$made/experiment.yaml" "$made/rank0.json" --gpu h100_sxm
sed -n '2,3p' "$made/out" | tr -d '\n' |
  grep -q "note: the trace was taken on 'NVIDIA H200', which is h200_sxm; the experiment is on *h100_sxm" ||
  complain "another GPU is not said above the report: $(head -n 4 "$made/out")"
says 'nothing in the trace is called a backward pass'
# Products of other shapes on another GPU are of another step.
sed 's/4096/192/g; s/"_allgather_base"/"alone"/; s/NVIDIA H200/AMD Instinct MI300X/' "$made/rank0.json" >"$made/other.json"
exits 2 "$made/experiment.yaml" "$made/other.json"
says "cannot be compared with the experiment: the trace was taken on 'AMD Instinct MI300X', which is mi300x"
says 'no operator of the trace has a shape'
says 'give the experiment of the trace'
exits 3 "$made/experiment.yaml" "$made/rank0.json" --set plan.tp=3
says 'step measured'

exits 2 "$made/experiment.yaml"
says 'give a trace'
exits 2 "$made/experiment.yaml" "$made/rank0.json" --step 9
says "no step '9'; it has ProfilerStep#2"
exits 2 "$made/experiment.yaml" "$made/missing.json"
says 'cannot read'
exits 2 "$made/experiment.yaml" "$made"
says 'cannot read'
: >"$made/empty.json"
exits 2 "$made/experiment.yaml" "$made/empty.json"
says 'is empty'
head -c 700 "$made/rank0.json" >"$made/torn.json"
exits 2 "$made/experiment.yaml" "$made/torn.json"
says 'cut off'
head -c 200 "$made/rank1.json.gz" >"$made/torn.json.gz"
exits 2 "$made/experiment.yaml" "$made/torn.json.gz"
says 'damaged or cut off'
printf 'PK\003\004' >"$made/zip.json"
exits 2 "$made/experiment.yaml" "$made/zip.json"
says 'zip archive'
printf '\200\004x' >"$made/pickle.json"
exits 2 "$made/experiment.yaml" "$made/pickle.json"
says 'pickle'
exits 2 "$made/experiment.yaml" "$made/experiment.yaml"
says 'no JSON text'
echo '{"a": 1}' >"$made/foreign.json"
exits 2 "$made/experiment.yaml" "$made/foreign.json"
says "no list 'traceEvents'"
echo '{"schema": "1.0.1", "nodes": []}' >"$made/et.json"
exits 2 "$made/experiment.yaml" "$made/et.json"
says 'an execution trace (PyTorch ET or Chakra), which has no times'
printf 'SQLite format 3\0' >"$made/report.sqlite"
exits 2 "$made/experiment.yaml" "$made/report.sqlite"
says 'the database is damaged or cut off (file is not a database)'
tar -C "$made" -czf "$made/archive.tar.gz" rank0.json
exits 2 "$made/experiment.yaml" "$made/archive.tar.gz"
says 'a tar archive; unpack it'
{ printf '{"traceEvents": ["'; head -c 100000000 /dev/zero; } | gzip -1 >"$made/bomb.json.gz"
exits 2 "$made/experiment.yaml" "$made/bomb.json.gz"
says 'error: '

measured="$root/../shared/measured"
if [ ! -d "$measured" ]; then
  echo "SKIPPED: the measured traces, no shared/measured beside the checkout"
  exit $failed
fi
"$stepcast" import records "$measured/steps_2026_11/steps.jsonl" >"$made/records.jsonl"
"$stepcast" import records "$measured/stacks_2026_11/torchtitan_steps.jsonl" >>"$made/records.jsonl"
experiment_of() { # case; canonical records are JSON, which is YAML
  sed -n "s/^{\"id\":\"$1\",\"experiment\":\(.*\),\"measured\":.*/\1/p" "$made/records.jsonl" | head -n 1
}
for file in "$measured"/*/trace*/*.json.gz "$measured"/*/trace*.json.gz; do
  name=$(basename "$file" .json.gz)
  experiment_of "${name#trace_}" >"$made/case.yaml"
  known=yes
  [ -s "$made/case.yaml" ] || { known=no; cp "$made/experiment.yaml" "$made/case.yaml"; }
  [ "$known" = yes ] || continue
  exits 0 "$made/case.yaml" "$file" --format json
  matched=$(sed -n 's/^  "matched_share": \(.*\),/\1/p' "$made/out")
  if ! awk -v share="$matched" 'BEGIN { exit !(share > 0.7) }'; then
    complain "of $name only $matched is found in its projection"
  fi
done
exits 2 "$made/experiment.yaml" "$measured/published/traces/mi300x_qwen1.5_0.5b.json.gz"
says "taken on 'AMD Instinct MI300X VF'"
says 'no operator of the trace has a shape'
exit $failed
