#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `stepcast trace`: plain and compressed traces, the same bytes twice, one for each pipeline rank, and refusals.
# Usage: trace.sh STEPCAST ROOT
set -euo pipefail
stepcast=$1
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$2/tests/cli/run_checks.sh"
dense=(--model llama3.1_8b --gpu h200_sxm --nodes 1 --zero 3 --gbs 8 --seq 4096)
piped=(--model llama3.1_8b --gpu mi300x --nodes 1 --tp 2 --pp 2 --gbs 8 --seq 4096)

exits 0 trace "${dense[@]}" --out "$made/step.json"
[ ! -s "$made/out" ] || complain "a trace prints something"
for text in '"schemaVersion":1' '"deviceProperties":\[{"id":0,' '"distributedInfo":' '"displayTimeUnit":"ms"' \
  '"baseTimeNanoseconds":0' '"aten::mm"' 'cudaLaunchKernel' '"ac2g"' 'ncclDevKernel_AllGather' '"ph":"C"'; do
  grep -q -- "$text" "$made/step.json" || complain "no $text in the trace"
done
exits 0 trace "${dense[@]}" --out "$made/step.json.gz"
exits 0 trace "${dense[@]}" --out "$made/again.json.gz"
cmp -s "$made/step.json.gz" "$made/again.json.gz" || complain "the same experiment gives other bytes"
gzip -t "$made/step.json.gz" || complain "the compressed trace is damaged"
gzip -dc "$made/step.json.gz" | cmp -s - "$made/step.json" || complain "compressed and plain traces differ"
[ ! -e "$made/step.json.gz.partial" ] || complain "a partial file is left"

exits 0 trace "${piped[@]}" --rank 5 --out "$made/rank5.json"
grep -q '"rank":5' "$made/rank5.json" || complain "the trace is not of rank 5"
grep -q 'hipLaunchKernel' "$made/rank5.json" || complain "no launch of HIP"
exits 0 trace "${piped[@]}" --ranks all --out "$made/all"
[ "$(ls "$made/all")" = $'rank0_trace.json.gz\nrank1_trace.json.gz' ] || complain "files are $(ls "$made/all")"
gzip -dc "$made/all/rank1_trace.json.gz" >"$made/rank1.json"
grep -q '"rank":4' "$made/rank1.json" || complain "pipeline rank 1 does not begin with rank 4"

exits 2 trace "${piped[@]}" --rank 8 --out "$made/none.json"
says 'is 8, but the ranks are 0 to 7'
exits 2 trace "${piped[@]}" --rank 1 --ranks all --out "$made/none"
exits 2 trace "${piped[@]}"
exits 2 trace "${piped[@]}" --out "$made/no/such/folder.json"
exits 3 trace --model llama3.1_70b --gpu h100_sxm --nodes 1 --gbs 8 --seq 4096 --tp 1 --zero 0 --out "$made/none.json"
says 'GiB'
exits 3 trace --model llama3.1_8b --gpu h100_sxm --nodes 1 --gbs 8 --seq 4096 --tp 3 --out "$made/none.json"
[ ! -e "$made/none.json" ] || complain "a plan that cannot run has a trace"
exits 0 trace --help
says 'stepcast trace examples'
exit $failed
