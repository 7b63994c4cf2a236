#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An output costs nobody a file: not an input, nor a file that an input names, nor another output, nor what only looks
# like the program's own; a file that is replaced keeps its permissions, and an open one is written where it is.
# Usage: outputs.sh STEPCAST ROOT
set -euo pipefail
stepcast=$(realpath "$1")
root=$(realpath "$2")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# shellcheck source=tests/cli/run_checks.sh
source "$root/tests/cli/run_checks.sh"
cd "$made"

cat >base.yaml <<'YAML'
model: llama3.1_8b
cluster: {gpu: h100_sxm, nodes: 1}
training: {sequence_length: 4096, global_batch_size: 64}
YAML
cp "$root/configs/models/llama3.1_8b.yaml" mine.yaml
sed 's/llama3.1_8b/mine.yaml/' base.yaml >named.yaml
sed 's/llama3.1_8b/rank_01.yaml/' base.yaml >ranked.yaml
{ cat base.yaml; echo 'plan: {tp: [1, 2]}'; } >resolved.yaml
{ cat base.yaml; echo 'plan: {tp: 1}'; } >train.sh
cp mine.yaml rank_01.yaml
echo 'sku,dtype,m,n,k,latency_us' >table.csv
echo '{"kind":"gemm","m":4096,"n":4096,"k":4096}' >lines.jsonl
mkdir folder traces
echo '{}' >folder/config.json
cp base.yaml traces/rank0_trace.json.gz
ln base.yaml hard.yaml
ln -s base.yaml soft.yaml
md5sum ./*.yaml train.sh table.csv lines.jsonl folder/* traces/* >inputs.md5
keeps() { # what the message says, arguments
  local said=$1
  shift
  exits 2 "$@"
  says "$said"
  md5sum --quiet -c inputs.md5 || complain "$* costs an input"
}

# Inputs, however they are named.
for name in base.yaml ./base.yaml hard.yaml soft.yaml folder/../base.yaml; do
  keeps "^--out $name: error: would replace the input" project base.yaml --out "$name"
done
keeps 'would replace a file that the input named.yaml names' project named.yaml --out mine.yaml
keeps 'would replace the input' project base.yaml --set model=mine.yaml --out mine.yaml
keeps 'would replace the input' project base.yaml --backend gemm=measured:table.csv --out table.csv
keeps 'would replace the input' project base.yaml --measured table.csv --html table.csv
keeps 'would replace the input' import hf folder --out folder/config.json
keeps 'would replace the input' cost --gpu h100_sxm --out lines.jsonl <lines.jsonl
keeps "writes 'train.sh' in it, which would replace the input" export megatron train.sh --out .
keeps "writes 'rank_01.yaml' in it, which would replace a file that the input ranked.yaml names" \
  compare ranked.yaml --gpu b200 --gpu h100_sxm --save-dir .
keeps "writes 'resolved.yaml' in it, which would replace the input" sweep resolved.yaml --save-dir .
keeps "writes 'rank0_trace.json.gz' in it, which would replace the input" trace traces/rank0_trace.json.gz --ranks all --out traces
# A comment names nothing.
{ cat base.yaml; echo '# the report is in report.txt'; } >commented.yaml
echo old >report.txt
exits 0 project commented.yaml --out report.txt
holds 'tokens/s/GPU' <report.txt || complain "a file that only a comment names is not written"

# Other outputs.
ln -s later link
keeps 'is the file of --out too' project base.yaml --out a.txt --html ./a.txt
keeps 'is the file of --out too' project base.yaml --out link --html later
keeps 'is the file of --html too' compare base.yaml --gpu b200 --gpu h100_sxm --html w --plot w
keeps 'is the file of --plans too' sweep resolved.yaml --plans ./w.csv --html w.csv
keeps "is a name of --save-dir's in its folder" compare base.yaml --gpu b200 --gpu h100_sxm --html best/rank_01.yaml --save-dir best
exits 0 project base.yaml --out /dev/null --html /dev/null

# What looks like the program's own.
for name in report.txt.partial report.txt.partial2 .stepcast_1_1.partial; do echo precious >"$name"; done
ln report.txt.partial twice
exits 0 project base.yaml --out report.txt
for name in report.txt.partial report.txt.partial2 .stepcast_1_1.partial twice; do
  [ "$(cat "$name")" = precious ] || complain "$name is lost"
done
mkfifo fifo.txt.partial
exits 0 project base.yaml --out fifo.txt

# Permissions.
for mode in 600 640 755; do
  echo old >private.txt
  chmod "$mode" private.txt
  exits 0 project base.yaml --out private.txt
  [ "$(stat -c %a private.txt)" = "$mode" ] || complain "a file of mode $mode has $(stat -c %a private.txt)"
done

# Open files are written where they are.
"$stepcast" project base.yaml >report.txt
{ echo before; "$stepcast" project base.yaml --out /dev/stdout; echo behind; } >open.txt
cmp -s <(echo before; cat report.txt; echo behind) open.txt || complain "standard output is written elsewhere"
"$stepcast" project base.yaml --out /dev/stdout | cmp -s report.txt - || complain "a pipe is not written"
"$stepcast" project base.yaml --out /proc/self/fd/5 5>five.txt
cmp -s report.txt five.txt || complain "an open file is not written"
code=0
"$stepcast" project base.yaml --out /dev/stdout >&- 2>said || code=$?
[ "$code" -ne 0 ] && grep -q 'cannot write' said || complain "what a closed output loses is not said: $code"
exits 0 sweep resolved.yaml --out /dev/null
[ -z "$(ls /dev/*.part 2>/dev/null)" ] || complain "a device has a journal"
[ -z "$(ls -A | grep '^.stepcast_' | grep -v '^.stepcast_1_1.partial$')" ] || complain "there is left $(ls -A)"
exit $failed
