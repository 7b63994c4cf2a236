#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is written arrives whole, or the exit code says that it did not: closed and full standard streams, limits of file
# sizes, runs that write one file at the same time. Usage: streams.sh STEPCAST ROOT
set -euo pipefail
stepcast=$(realpath "$1")
root=$(realpath "$2")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
source "$root/tests/cli/run_checks.sh"
ln -s "$root/configs" "$made/configs"
cd "$made"
gives() { # expected code, what is said on standard error, a command with its redirections
  local code=0 expected=$1 said=$2
  shift 2
  { eval "$*"; } 2>said || code=$?
  [ "$code" -eq "$expected" ] || complain "$* exits $code, not $expected: $(head -n 2 said)"
  [ -z "$said" ] || grep -q -- "$said" said || complain "$* does not say '$said': $(head -n 2 said)"
}
cat >sweep.yaml <<'YAML'
model: llama3.1_8b
cluster: {gpu: h100_sxm, nodes: 1}
training: {sequence_length: 4096, micro_batch_size: [1, 2], global_batch_size: 64}
plan: {tp: [1, 2, 4, 8], zero: [0, 1, 2, 3]}
YAML
project="'$stepcast' project --model llama3.1_8b --gpu h100_sxm --nodes 1 --data '$root'"
sweep="'$stepcast' sweep sweep.yaml --quiet"

# A standard output that is closed or full: no command says that all went well.
for command in "$project" "$project --format json" "$sweep" "$sweep --all --format csv" "'$stepcast' --help" \
  "'$stepcast' sweep --help" "'$stepcast' help sweep" "'$stepcast' --version" "'$stepcast' list gpus" \
  "'$stepcast' describe h100_sxm" "'$stepcast' completion bash" "'$stepcast' manual"; do
  gives 1 'fault: standard output: cannot write: No space left on device' "$command >/dev/full"
  gives 1 'fault: standard output: cannot write: Bad file descriptor' "$command >&-"
done
# Files that are written meanwhile get none of the standard streams' numbers, and so nothing that is said on these.
gives 0 '' "$project --out report.txt"
gives 0 '' "$sweep --all --plans plans.csv >/dev/null"
for closed in '>&-' '<&-' '2>&-' '<&- >&- 2>&-'; do
  gives 0 '' "$project --out other.txt $closed"
  cmp -s report.txt other.txt || complain "with $closed the report is another: $(head -n 2 other.txt)"
  gives 0 '' "$sweep --all --plans other.csv --out other.txt $closed"
  cmp -s plans.csv other.csv || complain "with $closed the plans are others"
done
code=0
eval "$project --gpu none" 2>&- || code=$?
[ "$code" -eq 2 ] || complain "without a standard error bad input exits $code"
gives 2 'the file is empty' "'$stepcast' project - <&-"
# A reader that has had enough ends the program in silence.
code=0
eval "$sweep --all --format csv" 2>said | head -n 1 >first || code=$?
{ [ "$code" -eq 141 ] || [ "$code" -eq 0 ]; } && [ ! -s said ] || complain "before a pipe that closes it exits $code: $(cat said)"
[ "$(cat first)" = "$(head -n 1 plans.csv)" ] || complain "the pipe got $(cat first)"

# - is standard output, and no file of that name.
gives 0 '' "$project --out - >dash.txt"
cmp -s report.txt dash.txt || complain "--out - gives $(head -n 1 dash.txt)"
gives 0 '' "$sweep --all --format csv --out - >dash.csv"
cmp -s plans.csv dash.csv || complain "--out - gives $(head -n 1 dash.csv)"
gives 0 '' "'$stepcast' trace --model llama3.1_8b --gpu h100_sxm --nodes 1 --out - | head -c 1 >dash.json || [ \$? -eq 141 ]"
[ "$(cat dash.json)" = '{' ] || complain "a trace on standard output begins with $(cat dash.json)"
gives 2 'is one file; with --ranks give a folder' "'$stepcast' trace --model llama3.1_8b --gpu h100_sxm --nodes 1 --ranks all --out -"
[ ! -e ./- ] || complain "there is a file called -"

# A limit of file sizes, in KiB, is said like a full disk, and leaves no half of a file.
echo old >limited.csv
gives 1 'limited.csv.*: cannot write.*: File too large' "(ulimit -f 1; $sweep --format csv --out limited.csv)"
gives 1 'limited.json: cannot write: File too large' "(ulimit -f 1; $project --format json --out limited.json)"
gives 1 'limited.html: cannot write: File too large' "(ulimit -f 1; $project --html limited.html >/dev/null)"
gives 1 'limited.json.gz: cannot write: File too large' "(ulimit -f 1; '$stepcast' trace --model llama3.1_8b --gpu h100_sxm --nodes 1 --out limited.json.gz)"
[ "$(cat limited.csv)" = old ] || complain "a file that was not finished replaced another"
[ "$(ls limited.* | tr '\n' ' ')" = 'limited.csv limited.csv.part ' ] || complain "there is $(ls limited.*)"
gives 0 '' "$sweep --format csv --out limited.csv --resume"
cmp -s limited.csv plans.csv || complain "what goes on is not what one run gives"

# Runs that write one file at the same time: each has a file of its own until it is whole.
eval "$project --format json --out report.json"
runs=()
for format in text json text json text json text json; do
  eval "$project --format $format --out shared.txt" &
  runs+=($!)
done
for run in "${runs[@]}"; do
  wait "$run" || complain "one of eight runs that write one file exits $?"
done
cmp -s shared.txt report.txt || cmp -s shared.txt report.json || complain "eight runs make another file than any of them"
[ "$(ls shared.*)" = shared.txt ] || complain "eight runs leave $(ls shared.*)"
exit $failed
