#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tasks that share a folder price a sweep by pieces: the same bytes as one process, however many there are and
# wherever one is killed; a second submission fills the holes; what is missing is named. Usage: pieces.sh STEPCAST ROOT
set -euo pipefail
stepcast=$(realpath "$1")
made=$(mktemp -d)
victims=()
clean() {
  local victim
  for victim in "${victims[@]}"; do kill -9 "$victim" 2>/dev/null || true; done
  rm -rf "$made"
}
trap clean EXIT
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"
cd "$made"
same() { cmp "$1" "$2" >/dev/null 2>&1 || complain "$1 and $2 differ"; }
count() { find "$1" -name "$2" | wc -l; } # folder, pattern

cat >sweep.yaml <<'YAML'
model: llama3.1_8b
cluster: {gpu: h100_sxm, nodes: [1, 2, 4]}
training: {sequence_length: 4096, micro_batch_size: [1, 2], global_batch_size: 128}
plan: all
YAML
exits 0 sweep sweep.yaml --format json --top 50 --out whole.json --plans whole.csv
exits 0 sweep sweep.yaml --format json --top 5 --out search.json
exits 0 sweep sweep.yaml --all
cp out whole.txt
is_whole() { # folder
  exits 0 merge "$1" --format json --top 50 --out merged.json --plans merged.csv
  same whole.json merged.json
  same whole.csv merged.csv
  exits 0 merge "$1"
  same whole.txt out
}
merges_not() { # folder, pieces that are named
  exits 2 merge "$1"
  says "$1: error: pieces $2 of $pieces are missing, .*stepcast sweep --pieces $1"
}

# One task with three threads; then nothing is left to do.
exits 0 sweep sweep.yaml --pieces alone --threads 3
says '^\([0-9]*\) of \1 pieces priced here; all are there: stepcast merge alone$'
pieces=$(count alone '*.part')
[ "$pieces" -gt 20 ] || complain "only $pieces pieces"
[ "$(count alone '*')" -eq $((pieces + 2)) ] || complain "other files are left: $(ls alone)"
is_whole alone
exits 0 sweep --pieces alone
says '^0 of '
exits 0 merge alone --partial
same whole.txt out
# A merge has more files open than a shell grants, if the system lets it.
(ulimit -Sn 16; exits 0 merge alone; exit $failed) || failed=1
same whole.txt out

# Runs a task until it is within a piece, stopped; $victim, $held (the piece).
hold_task() { # folder, submission
  local claims
  while true; do
    "$stepcast" sweep sweep.yaml --pieces "$1" --submission "$2" --threads 1 >victim.log 2>&1 &
    victim=$!
    victims+=("$victim")
    until compgen -G "$1/piece_*.claim_*" >/dev/null || ! kill -0 "$victim" 2>/dev/null; do :; done
    kill -STOP "$victim" 2>/dev/null || true
    until [[ $(ps -o stat= -p "$victim" || echo gone) =~ T|gone ]]; do :; done
    claims=$(find "$1" -name 'piece_*.claim_*')
    held=$(sed -n 's/.*piece_0*\([0-9]*\)\.claim_.*/\1/p' <<<"$claims")
    [ -z "$held" ] || [ -e "$1/piece_$(printf %04d "$held").part" ] || return 0
    kill -9 "$victim" 2>/dev/null || true # between two pieces: another try
    wait "$victim" 2>/dev/null || true
    rm -r "$1"
  done
}
end_victim() {
  kill -9 "$victim"
  wait "$victim" 2>/dev/null || true
}
three_tasks() { # folder, submission: two more run beside the victim
  local k
  for k in 1 2; do
    "$stepcast" sweep sweep.yaml --pieces "$1" --submission "$2" --threads 1 >"task$k" 2>&1 &
    tasks[k]=$!
  done
}
await_tasks() {
  wait "${tasks[1]}" && wait "${tasks[2]}" || complain "a task fails: $(cat task1 task2)"
}
tasks=(0 0 0)

# Three tasks; one is held within a piece until the others have no more, then killed. They leave its piece to it.
hold_task first night
three_tasks first night
await_tasks
[ "$(count first '*.part')" -eq $((pieces - 1)) ] || complain "$(count first '*.part') of $pieces pieces, one is held"
grep -q "$((pieces - 1)) are there, the others are with tasks" task1 task2 || complain "tasks say $(cat task1 task2)"
exits 0 sweep --pieces first --submission another
says '^0 of '
end_victim
merges_not first "$held"
exits 0 merge first --partial --format json --top 50 --out partial.json --plans partial.csv
says "^missing: .* % of the plans, in part $held of $pieces$"
exits 0 merge first --partial
says "^  missing  *.* % of the plans, in part $held of $pieces;"
says 'evaluated .*a part of them'
python3 - "$held" "$pieces" <<'PY' || complain "a partial merge says something else of what is missing"
import json, sys
held, pieces = map(int, sys.argv[1:])
partial, whole = json.load(open("partial.json")), json.load(open("whole.json"))
missing = partial["missing"]
assert missing["parts"] == [held] and missing["of"] == pieces and "missing" not in whole
assert missing["plans"] == whole["evaluated"] - partial["evaluated"] > 0
assert missing["share"] == missing["plans"] / whole["space_size"]
rows, all_rows = (open(name).read().split("\n") for name in ("partial.csv", "whole.csv"))
assert set(rows) <= set(all_rows) and len(rows) == partial["evaluated"] + 2 and partial["priced"] <= whole["priced"]
PY
# The second submission fills exactly the hole.
exits 0 sweep --pieces first --submission another
says "^1 of $pieces pieces priced here; all are there"
is_whole first
diff -r -x 'task_*' alone first || complain "parts of other tasks have other bytes"
# Of the killed task nothing is left.
[ "$(count first '*')" -eq $((pieces + 2)) ] || complain "a killed task left files: $(ls first)"

# Killed while others run: these find it gone and fill its piece. The merge is the whole at once.
hold_task second night
end_victim
three_tasks second night
await_tasks
is_whole second
diff -r -x 'task_*' alone second || complain "a killed task leaves other bytes"

# Asked to end, a task gives its piece back.
hold_task third night
kill -TERM "$victim"
kill -CONT "$victim"
code=0
wait "$victim" || code=$?
[ "$code" -eq 130 ] || complain "a task that is asked to end exits $code"
grep -q 'others go on with: stepcast sweep --pieces third' victim.log || complain "it says $(cat victim.log)"
[ "$(count third '*.claim_*')" -eq 0 ] && [ "$(count third '*.open_*')" -eq 0 ] || complain "it leaves $(ls third)"

# Claims of tasks of other hosts. Those of one's own submission, and of one that is said to run, are left to them.
mkdir fourth
claim() { # piece, submission
  echo '{"submission":"'"$2"'","task":"1","host":"elsewhere","process":1,"started":1}' >"fourth/piece_000$1.claim_1"
}
claim 2 night
claim 3 evening
claim 5 morning
exits 0 sweep --pieces fourth --submission night --beside evening sweep.yaml
says "^$((pieces - 2)) of $pieces pieces priced here; $((pieces - 2)) are there"
merges_not fourth 2-3
exits 0 sweep --pieces fourth --submission again --beside evening --beside day
says '^1 of '
merges_not fourth 3
# A task of Slurm that is started again elsewhere goes on with what it was at.
echo '{"submission":"slurm_7","task":"4..0","host":"elsewhere","process":1,"started":1}' >fourth/piece_0003.claim_1
code=0
for task in 5 4; do
  SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$task SLURM_PROCID=0 "$stepcast" sweep --pieces fourth >"$made/out" || code=$?
  [ "$code" -eq 0 ] || complain "task $task exits $code"
  says "^$((5 - task)) of "
done
is_whole fourth

# The best plans alone; a folder is of one sweep.
exits 0 sweep sweep.yaml --pieces best --top 5
exits 0 merge best --format json --top 5
same search.json out
exits 2 merge best --format csv
says 'made with --top 5 and have no other plans'
rm best/piece_0001.part
exits 0 sweep --pieces best
says '^1 of '
exits 0 merge best --format json --top 5
same search.json out
exits 2 sweep sweep.yaml --pieces best
says 'best: error: the part is for the 5 best plans, not for every plan'
exits 2 sweep sweep.yaml --set training.sequence_length=1024 --pieces alone
says 'alone: error: a part of another sweep'
mkdir -p data
cp -r "$2/configs" "$2/hardware_profiles" data/
echo '# another line' >>data/hardware_profiles/gpus/h100_sxm.yaml
exits 2 sweep --pieces alone --data data
says 'alone: error: a part of another sweep, or of other profiles'
exits 2 merge alone --data data
cp best/piece_0002.part alone/
exits 2 merge alone
says 'made with another --top than'

# Torn by a disk, a part is named with what to do, and so is a folder that has none.
truncate -s -1000 first/piece_0004.part
exits 2 merge first
says 'first/piece_0004.part: error: .* chunks are missing; remove it and run: stepcast sweep --pieces first'
rm first/*.part
exits 2 merge first --partial
says 'first: error: no piece is finished yet; this prices them: stepcast sweep --pieces first'
exits 2 merge data --partial
says 'data: error: there is no part in the folder'
exits 2 merge third second
says 'give one folder of parts alone'

# Shards may be merged in part as well.
exits 0 sweep sweep.yaml --shard 1/3 --out 1.part
exits 0 sweep sweep.yaml --shard 3/3 --out 3.part
exits 2 merge 1.part 3.part
exits 0 merge 1.part 3.part --partial
says '^missing: 3[0-9]\.[0-9] % of the plans, in part 2 of 3$'

# What is refused before any work is done.
exits 2 sweep sweep.yaml --pieces new --shard 1/2 --out x --resume
says '--pieces new: error: pieces are shards and go on by themselves'
exits 2 sweep sweep.yaml --pieces new --submission 'a b'
says "--submission a b: error: a submission is named with letters"
exits 2 sweep sweep.yaml --beside night
says '--beside: error: is of tasks that share a folder'
exits 2 sweep --pieces new
says 'give an experiment file'
[ ! -e new ] || complain "a refused task makes a folder"
exit $failed
