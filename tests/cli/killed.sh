#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs that are killed at random moments: what stood there stands there still or is replaced whole, and the next run gives
# the bytes of one that nobody killed. The moments follow from SEED, which is printed. Usage: killed.sh STEPCAST ROOT MOMENTS [SEED]
set -euo pipefail
stepcast=$(realpath "$1")
root=$(realpath "$2")
moments=$3
seed=${4:-1}
made=$(mktemp -d)
victim=
clean() {
  [ -z "$victim" ] || kill -9 "$victim" 2>/dev/null || true
  rm -rf "$made"
}
trap clean EXIT
source "$root/tests/cli/run_checks.sh"
ln -s "$root/configs" "$made/configs"
cd "$made"
RANDOM=$seed
echo "$moments moments of seed $seed"
cat >sweep.yaml <<'YAML'
model: llama3.1_8b
cluster: {gpu: h100_sxm, nodes: [1, 2]}
training: {sequence_length: {from: 1024, to: 4096, step: 1024}, micro_batch_size: [1, 2], global_batch_size: [64, 128]}
plan: {tp: [1, 2, 4, 8], pp: [1, 2, 4], zero: [0, 1], cp: [1, 2]}
YAML
mkdir whole
exits 0 sweep sweep.yaml --shard 1/2 --out whole/1.part
exits 0 sweep sweep.yaml --shard 2/2 --out whole/2.part
model=(--model llama3.1_405b --gpu h100_sxm --nodes 64 --tp 8 --pp 8)

# Each kind of run: what it writes into the folder `run`, and the options that let it go on.
run_of() { # kind
  case $1 in
    sweep) set -- sweep sweep.yaml --threads 2 --resume --format json --top 50 --out run/report.json --plans run/plans.csv ;;
    shard) set -- sweep sweep.yaml --threads 2 --resume --shard 1/3 --out run/1.part ;;
    pieces) set -- sweep sweep.yaml --threads 2 --pieces run ;;
    merge) set -- merge whole/1.part whole/2.part --format json --out run/merged.json --plans run/merged.jsonl ;;
    page) set -- sweep sweep.yaml --resume --out run/report.txt --html run/report.html --plot run/plot.svg ;;
    best) set -- sweep sweep.yaml --resume --out run/report.txt --save-dir run/best ;;
    trace) set -- trace "${model[@]}" --out run/trace.json.gz ;;
    project) set -- project "${model[@]}" --format json --out run/report.json --html run/report.html ;;
  esac
  exec "$stepcast" "$@" --quiet
}
kinds=(sweep shard pieces merge page best trace project)
declare -A takes # microseconds
for kind in "${kinds[@]}"; do
  mkdir run
  began=$(date +%s%N)
  (run_of "$kind") >out 2>&1 || [ $? -eq 4 ] || complain "$kind fails: $(head -n 3 out)"
  takes[$kind]=$((($(date +%s%N) - began) / 1000))
  mv run "whole/$kind"
  echo "$kind takes ${takes[$kind]} us"
done
# Whether the file has either what stood there before or what a whole run writes.
is_whole_or_old() { # file, kind
  cmp -s "run/$1" "whole/$2/$1" || [ "$(head -c 4 "run/$1")" = old ]
}
killed=0
for ((moment = 0; moment < moments; moment++)); do
  kind=${kinds[moment % ${#kinds[@]}]}
  rm -rf run
  mkdir run
  old=no
  # Every other time files of the same names stand there from before.
  if [ $((moment / ${#kinds[@]} % 2)) -eq 1 ] && [ "$kind" != pieces ] && [ "$kind" != best ]; then
    old=yes
    for file in "whole/$kind"/*; do echo old >"run/${file##*/}"; done
    [ "$kind" != shard ] || rm -f run/1.part
  fi
  for round in 1 2; do
    after=$((takes[$kind] * (RANDOM * 32768 + RANDOM) / 1073741824))
    run_of "$kind" >out 2>&1 &
    victim=$!
    sleep "$((after / 1000000)).$(printf '%06d' $((after % 1000000)))"
    kill -9 "$victim" 2>/dev/null && killed=$((killed + 1)) || true
    wait "$victim" 2>/dev/null || true
    victim=
    for file in run/*; do
      name=${file##*/}
      case $name in
        '*' | *.partial* | *.claim_* | *.open_*) continue ;;
        *.part) [ "$kind" = pieces ] || continue ;;  # a journal
        best) continue ;;  # compared whole
      esac
      if [ -e "whole/$kind/$name" ]; then
        is_whole_or_old "$name" "$kind" ||
          complain "moment $moment, $kind killed after $after us: $name is torn: $(head -c 60 "$file")"
        [ "$old" = yes ] || cmp -s "$file" "whole/$kind/$name" || complain "moment $moment: $name is neither"
      fi
    done
  done
  (run_of "$kind") >out 2>&1 || [ $? -eq 4 ] || complain "moment $moment, $kind killed after $after us does not go on: $(head -n 3 out)"
  # A killed task leaves the files that are called after its process, and its claim to a piece that it had just finished:
  # nobody reads them, since the piece is there.
  diff -r -x 'task_*' -x 'header_*' -x '*.claim_*' "whole/$kind" run >differs ||
    complain "moment $moment, $kind killed after $after us: other bytes than of a whole run: $(head -n 3 differs)"
done
echo "$killed runs were killed before their end"
[ $((killed * 4)) -ge "$moments" ] || complain "of two runs at $moments moments only $killed were killed"
exit $failed
