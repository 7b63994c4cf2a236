#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sweeps give the same bytes with any number of threads, after being killed, with a full disk and in
# shards; and say so where they cannot. Usage: sweep.sh STEPCAST ROOT
set -euo pipefail
stepcast=$(realpath "$1")
made=$(mktemp -d)
mounted=
clean() {
  [ -z "$mounted" ] || umount "$mounted" || true
  rm -rf "$made"
}
trap clean EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"
same() { cmp "$1" "$2" >/dev/null 2>&1 || complain "$1 and $2 differ"; }
lines_of() { wc -l <"$1"; }

# As many values as make a run of about a second, so that it can be interrupted on any machine.
write_sweep() { # file, number of sequence lengths
  cat >"$1" <<YAML
model: llama3.1_8b
cluster: {gpu: [h100_sxm, h200_sxm], nodes: [1, 2, 4]}
training:
  sequence_length: {from: 1024, to: $((1024 * $2)), step: 1024}
  micro_batch_size: [1, 2, 4]
  global_batch_size: [64, 128, 256]
plan:
  tp: [1, 2, 4, 8, 3]
  pp: [1, 2, 4]
  zero: [0, 1]
  cp: {from: 1, to: 4, times: 2}
  schedule: [gpipe, 1f1b]
constraints: ["tp <= gpus_per_node"]
YAML
}
sweep=$made/sweep.yaml
for lengths in 2 4 8 16 32 64; do
  rm -f "$made"/whole.*
  write_sweep "$sweep" "$lengths"
  start=$(date +%s%N)
  # A whole run, with every output at once.
  exits 0 sweep "$sweep" --threads 1 --format json --top 50 --out "$made/whole.json" --plans "$made/whole.csv"
  [ $(($(date +%s%N) - start)) -lt 1000000000 ] || break
done
[ ! -e "$made/whole.json.part" ] || complain "the journal of a finished sweep is left"
[ ! -s "$made/out" ] || complain "a sweep in a pipe says: $(head -c 200 "$made/out")"
! ls "$made"/*.partial 2>/dev/null || complain "a temporary file is left"
# Every plan has a line: those that cannot run have no numbers and a reason.
rows=$(($(lines_of "$made/whole.csv") - 1))
python3 - "$made/whole.json" "$made/whole.csv" <<'PY' || complain "the lines are not the plans of the report"
import collections, csv, json, sys
report, rows = json.load(open(sys.argv[1])), list(csv.DictReader(open(sys.argv[2])))
assert [int(row["index"]) for row in rows] == list(range(report["space_size"]))
reasons = collections.Counter(row["reason"] for row in rows)
assert reasons.pop("") == report["priced"] and dict(reasons) == report["refused"], reasons
assert len(rows[0]) == len(set(rows[0])), "a column stands there twice"
kinds = ["parameters", "gradients", "optimizer", "activations", "buffers"]
for row in rows:
    if not row["reason"]:
        parts = sum(float(row[f"memory.{kind}_bytes"]) for kind in kinds)
        assert abs(parts / float(row["peak_memory_bytes"]) - 1) < 1e-12, row
    else:
        assert row["step_time_s"] == "" and row["tp"] != "", row
PY
priced=$(grep -c ',$' "$made/whole.csv" || true)
[ "$priced" -gt 1000 ] || complain "only $priced plans are priced"
echo "$priced priced plans"

# Threads, formats, and what goes to standard output.
exits 0 sweep "$sweep" --threads 2 --format json --top 50 --out "$made/two.json" --plans "$made/two.csv"
same "$made/whole.json" "$made/two.json"
same "$made/whole.csv" "$made/two.csv"
exits 0 sweep "$sweep" --threads 3 --format csv
same "$made/whole.csv" "$made/out"
exits 0 sweep "$sweep" --format json --top 50 --all
same "$made/whole.json" "$made/out"

# A search has the plans of the whole, and accounts for each; threads and shards change nothing.
exits 0 sweep "$sweep" --threads 1 --format json --top 50 --out "$made/search.json"
exits 0 sweep "$sweep" --threads 3 --format json --top 50
same "$made/search.json" "$made/out"
python3 - "$made/whole.json" "$made/search.json" <<'PY' || complain "a search finds other plans than the whole sweep"
import json, sys
whole, search = (json.load(open(name)) for name in sys.argv[1:])
assert whole["plans"] == search["plans"] and whole["pareto"] == search["pareto"]
for report in (whole, search):
    counted = report["priced"] + report["bounded"] + sum(report["refused"].values())
    assert counted == report["space_size"] == report["evaluated"], report["priced"]
assert whole["bounded"] == 0 < search["bounded"] and search["priced"] < whole["priced"] / 2
PY
mkdir "$made/best"
for k in 1 2; do
  (cd "$made" && exits 0 sweep sweep.yaml --shard "$k/2" --top 50 --out "best/$k.part"; exit $failed) || failed=1
done
exits 0 merge "$made"/best/{2,1}.part --format json --top 50
same "$made/search.json" "$made/out"
exits 2 merge "$made"/best/?.part --format csv
says 'made with --top 50 and have no other plans'
exits 2 merge "$made"/best/?.part --top 60
exits 2 sweep "$sweep" --shard 1/2 --resume --out "$made/best/1.part"
says 'the part is for the 50 best plans, not for every plan'
exits 0 sweep "$sweep" --set rank_by=power_w --top 3
says 'every plan: power_w has no bound'
exits 0 sweep "$sweep" --format jsonl --out "$made/whole.jsonl" --plans "$made/also.csv"
same "$made/whole.csv" "$made/also.csv"
[ "$(lines_of "$made/whole.jsonl")" -eq "$rows" ] || complain "jsonl has other plans than csv"
exits 0 sweep "$sweep" --format json --out "$made/all.json"
[ "$(grep -o '"index":' "$made/all.json" | wc -l)" -ge "$priced" ] || complain "json leaves plans out"
exits 0 sweep "$sweep"
says 'does not fit in memory'
cp "$made/out" "$made/whole.txt"

# Killed at any moment and started again: the same bytes.
journals=0
for after in 0.02 0.05 0.1 0.15 0.2 0.3 0.5 1; do
  rm -f "$made/killed".*
  for round in 1 2 3; do
    "$stepcast" sweep "$sweep" --threads 2 --resume --format json --top 50 --out "$made/killed.json" \
      --plans "$made/killed.csv" >"$made/out" 2>&1 &
    victim=$!
    sleep "$after"
    kill -9 "$victim" 2>/dev/null || true
    wait "$victim" 2>/dev/null || true
    [ ! -s "$made/killed.json.part" ] || journals=$((journals + 1))
  done
  exits 0 sweep "$sweep" --resume --format json --top 50 --out "$made/killed.json" --plans "$made/killed.csv"
  same "$made/whole.json" "$made/killed.json"
  same "$made/whole.csv" "$made/killed.csv"
  [ ! -e "$made/killed.json.part" ] || complain "a journal is left"
done

[ "$journals" -gt 0 ] || complain "no run was killed before its end"
# Asked to end, it keeps what is finished, says how to go on, and exits 130; then a torn tail is mended.
interrupted=no
for after in 0.4 0.3 0.2 0.15 0.1 0.05; do
  rm -f "$made/ended".*
  "$stepcast" sweep "$sweep" --threads 1 --out "$made/ended.txt" >"$made/out" 2>&1 &
  victim=$!
  sleep "$after"
  kill -TERM "$victim" 2>/dev/null || true
  code=0
  wait "$victim" || code=$?
  if [ "$code" -eq 130 ]; then
    interrupted=yes
    break
  fi
done
[ "$interrupted" = yes ] || complain "no SIGTERM gave 130, the last $code"
says 'go on with --resume'
[ -s "$made/ended.txt.part" ] || complain "no journal is kept"
[ ! -e "$made/ended.txt" ] || complain "an unfinished report"
exits 2 sweep "$sweep" --out "$made/ended.txt"
says 'ended.txt.part: error: .*--resume'
exits 2 sweep "$sweep" --set training.sequence_length=1024 --resume --out "$made/ended.txt"
says 'a part of another sweep'
printf 'torn' >>"$made/ended.txt.part"
exits 0 sweep "$sweep" --resume --out "$made/ended.txt"
says 'not written whole'
same "$made/whole.txt" "$made/ended.txt"

# A full disk: exit 1 with the reason, and the same bytes once there is room.
mkdir "$made/disk"
if mount -t tmpfs -o size=512k tmpfs "$made/disk" 2>/dev/null; then
  mounted=$made/disk
  exits 1 sweep "$sweep" --format csv --out "$made/disk/full.csv"
  says 'No space left on device'
  mount -o remount,size=1g "$made/disk"
else
  echo "no small disk can be mounted here; a limit of file sizes stands for it"
  code=0
  (ulimit -f 256; "$stepcast" sweep "$sweep" --format csv --out "$made/disk/full.csv") >"$made/out" 2>&1 || code=$?
  [ "$code" -eq 1 ] || complain "a file that is too large exits $code"
  says 'File too large'
fi
[ ! -e "$made/disk/full.csv" ] || complain "an unfinished file has the name of a finished one"
[ -s "$made/disk/full.csv.part" ] || complain "no journal beside the full disk's file"
exits 0 sweep "$sweep" --resume --format csv --out "$made/disk/full.csv"
same "$made/whole.csv" "$made/disk/full.csv"
# The journal fits, the output does not.
if [ -n "$mounted" ]; then
  rm -f "$made/disk"/*
  exits 0 sweep "$sweep" --shard 1/1 --out "$made/disk/part"
  mv "$made/disk/part" "$made/disk/full.csv.part"
  mount -o "remount,size=$(($(stat -c %s "$made/disk/full.csv.part") / 1024 + 64))k" "$made/disk"
  exits 1 sweep "$sweep" --resume --format csv --out "$made/disk/full.csv"
  says 'full.csv: cannot write: No space left on device'
  [ "$(ls "$made/disk")" = full.csv.part ] || complain "a full disk leaves $(ls "$made/disk")"
  mount -o remount,size=1g "$made/disk"
  exits 0 sweep "$sweep" --resume --format csv --out "$made/disk/full.csv"
  same "$made/whole.csv" "$made/disk/full.csv"
fi

# Shards, merged elsewhere, are the whole.
mkdir "$made/shards"
for k in 1 2 3; do
  (cd "$made" && exits 0 sweep sweep.yaml --shard "$k/3" --threads 2 --out "shards/$k.part"; exit $failed) || failed=1
done
exits 0 merge "$made"/shards/{3,1,2}.part --format json --top 50 --out "$made/merged.json" --plans "$made/merged.csv"
same "$made/whole.json" "$made/merged.json"
same "$made/whole.csv" "$made/merged.csv"
exits 0 sweep "$sweep" --all
cp "$made/out" "$made/all.txt"
exits 0 merge "$made"/shards/?.part
same "$made/all.txt" "$made/out"
cp "$made/shards/2.part" "$made/shards/again"
exits 0 sweep "$sweep" --shard 2/3 --resume --out "$made/shards/2.part"
same "$made/shards/again" "$made/shards/2.part"
exits 2 sweep "$sweep" --shard 2/3 --out "$made/shards/2.part"
exits 2 sweep "$sweep" --shard 1/3 --resume --out "$made/shards/2.part"
says 'the part is shard 2/3, not 1/3'
exits 0 sweep "$sweep" --shard 1/1 --out "$made/single.part"
exits 0 merge "$made/single.part" --format csv
same "$made/whole.csv" "$made/out"

# The job files of a cluster, given what Slurm gives them (slurm.sh runs them on a real one).
as_task() { # number; then a command
  env SLURM_ARRAY_JOB_ID=70 SLURM_JOB_ID="7$1" SLURM_ARRAY_TASK_ID="$1" SLURM_CPUS_PER_TASK=2 \
    STEPCAST="$stepcast" "${@:2}" >"$made/out" 2>&1
}
job=$2/scripts/sweep_job.sh
as_task 1 "$job" "$sweep" "$made/jobs" || complain "task 1 fails: $(cat "$made/out")"
says 'all are there: stepcast merge'
as_task 7 "$job" "$sweep" "$made/jobs" || complain "task 7 fails: $(cat "$made/out")"
says '^0 of '
as_task 1 "$2/scripts/merge_job.sh" "$made/jobs" --top 50 || complain "the merge fails: $(cat "$made/out")"
same "$made/whole.json" "$made/jobs/report.json"
same "$made/whole.csv" "$made/jobs/plans.csv"

# What cannot be merged.
exits 2 merge "$made"/shards/{1,3}.part
says 'no part of the shard 2/3'
exits 2 merge "$made"/shards/?.part "$made/shards/again"
says 'shard 2/3, as .* is; give each shard once'
truncate -s -1000 "$made/shards/again"
exits 2 merge "$made"/shards/{1,3}.part "$made/shards/again"
says 'again: error: 1 of [0-9]* chunks are missing'
exits 0 sweep "$sweep" --set training.sequence_length=1024 --shard 2/3 --out "$made/shards/foreign"
exits 2 merge "$made"/shards/{1,3}.part "$made/shards/foreign"
says 'foreign: error: a part of another sweep'
exits 2 merge "$made/sweep.yaml" "$made/none"
says 'sweep.yaml: error: this is no part of a sweep'
says 'none: error: cannot open the part'
mkdir -p "$made/data"
cp -r "$2/configs" "$2/hardware_profiles" "$made/data/"
echo '# another line' >>"$made/data/hardware_profiles/gpus/h100_sxm.yaml"
exits 2 merge "$made"/shards/?.part --data "$made/data"
says 'other profiles'

# Wrong options are all named at once; a space without a plan that runs exits 3 and says why.
exits 2 sweep "$sweep" --shard 4/3 --plans "$made/plans.txt" --resume
says '--shard 4/3: error: '
says 'ends with .csv or .jsonl'
exits 2 sweep "$sweep" --shard 1/3
says 'with --out'
exits 2 sweep "$sweep" --out "$made/nowhere/x"
says 'no folder'
exits 2 sweep "$sweep" --format csv --top 3
exits 2 sweep "$sweep" --resume
exits 3 sweep "$sweep" --set plan.tp=3 --format csv
says 'no plan of the sweep can run'
says 'does not divide the number of GPUs'

# On a terminal it says how far it is; `script` gives it one.
if command -v script >/dev/null; then
  script -qec "$stepcast sweep $sweep --out $made/terminal.txt" /dev/null >"$made/out" 2>&1 </dev/null
  grep -q 'plans/s' "$made/out" || complain "no rate on a terminal: $(head -c 300 "$made/out")"
  same "$made/whole.txt" "$made/terminal.txt"
fi
exit $failed
