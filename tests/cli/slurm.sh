#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A sweep as a job array and its merge on a real Slurm, started for this test on this host alone: the same
# bytes as one process. Exits 77, and says why, where Slurm's daemons cannot be started.
# Usage: slurm.sh STEPCAST ROOT
set -euo pipefail
export STEPCAST
STEPCAST=$(realpath "$1")
stepcast=$STEPCAST
root=$(realpath "$2")
made=$(mktemp -d)
source "$(dirname "${BASH_SOURCE[0]}")/run_checks.sh"
pids=()
stop() {
  local pid
  for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null || true
  done
  for _ in $(seq 50); do
    jobs -r | grep -q . || break
    sleep 0.1
  done
  for pid in "${pids[@]}"; do
    kill -9 "$pid" 2>/dev/null || true
  done
  rm -rf "$made"
}
trap stop EXIT
trap 'exit 1' INT TERM
skip() {
  echo "SKIPPED: $*"
  tail -n 5 "$made"/slurm/*.log 2>/dev/null || true
  exit 77
}
waits_for() { # seconds, command
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}

for program in munged mungekey slurmctld slurmd sbatch scontrol; do
  PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || skip "there is no $program"
done
PATH=$PATH:/usr/sbin:/sbin
mkdir -p "$made/slurm/state" "$made/slurm/spool"
chmod 755 "$made" "$made/slurm"
dir=$made/slurm
host=$(hostname -s)
user=$(id -un)
free_port() { # the first port from $1 on that nothing listens on
  local port=$1
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}
first=$((20000 + $$ % 20000))
ctld_port=$(free_port "$first")
slurmd_port=$(free_port $((ctld_port + 1)))
cat >"$dir/slurm.conf" <<CONF
ClusterName=stepcast
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$ctld_port
SlurmdPort=$slurmd_port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1
SchedulerType=sched/builtin
ReturnToService=2
KillWait=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$dir/slurm.conf

mungekey --create --keyfile="$dir/munge.key" >"$dir/mungekey.log" 2>&1 || skip "no key for munge"
munged --foreground --force --socket="$dir/munge.socket" --key-file="$dir/munge.key" \
  --log-file="$dir/munged.log" --pid-file="$dir/munged.pid" --seed-file="$dir/munge.seed" \
  >"$dir/munged_start.log" 2>&1 &
pids+=($!)
waits_for 10 munge --socket="$dir/munge.socket" --no-input || skip "munged does not start"
slurmctld -D -i >"$dir/slurmctld_start.log" 2>&1 &
pids+=($!)
waits_for 20 scontrol ping || skip "slurmctld does not start"
waits_for 5 bash -c "scontrol ping | grep -q 'is UP'" || skip "slurmctld does not answer"
slurmd -D -N "$host" >"$dir/slurmd_start.log" 2>&1 &
pids+=($!)
waits_for 20 bash -c "sinfo -h -o %T | grep -qx idle" || skip "slurmd does not start"
echo "$(slurmctld -V): $(sinfo -h -o '%n %c CPUs %T')"

cat >"$made/sweep.yaml" <<'YAML'
model: llama3.1_8b
cluster: {gpu: h100_sxm, nodes: [1, 2]}
training: {sequence_length: 4096, micro_batch_size: [1, 2], global_batch_size: [64, 128]}
plan: all
YAML
"$root/scripts/sweep_slurm.sh" -n 3 -c 1 "$made/sweep.yaml" "$made/out" >"$made/submitted" || complain "not submitted"
sed 's/^/job /' "$made/submitted"
[ "$(wc -l <"$made/submitted")" -eq 2 ] || complain "two jobs are submitted: $(cat "$made/submitted")"
waits_for 300 bash -c '! squeue -h | grep -q .' || complain "jobs are left: $(squeue)"
for k in 1 2 3; do
  grep -q 'pieces priced here' "$made/out/task_$k.log" || complain "task $k: $(cat "$made/out/task_$k.log")"
done
pieces=$(find "$made/out" -name 'piece_*.part' | wc -l)
priced=$(cat "$made"/out/task_?.log | awk '/priced here/ { sum += $1 } END { print sum }')
[ "$pieces" -gt 1 ] && [ "$priced" -eq "$pieces" ] || complain "3 tasks priced $priced of $pieces pieces"
! ls "$made"/out/*.claim_* "$made"/out/*.open_* 2>/dev/null || complain "claims are left"
"$stepcast" sweep "$made/sweep.yaml" --threads 1 --format json --top 100 --out "$made/report.json" \
  --plans "$made/plans.csv"
for file in report.json plans.csv; do
  cmp "$made/out/$file" "$made/$file" || complain "$file differs: $(cat "$made/out/merge.log")"
done
echo "$(($(wc -l <"$made/plans.csv") - 1)) priced plans, $(wc -c <"$made/plans.csv") bytes, equal"

# Two pieces are gone, one of them with the claim of a job that has ended: a second submission, of other tasks, prices
# these two.
rm "$made/out/report.json" "$made/out/plans.csv" "$made"/out/task_?.log "$made"/out/piece_000[12].part
echo '{"submission":"slurm_1","task":"1..0","host":"elsewhere","process":1,"started":1}' >"$made/out/piece_0002.claim_1"
"$root/scripts/sweep_slurm.sh" -n 2 -c 2 "$made/sweep.yaml" "$made/out" | sed 's/^/job /'
waits_for 300 bash -c '! squeue -h | grep -q .' || complain "jobs are left: $(squeue)"
priced=$(cat "$made"/out/task_?.log | awk '/priced here/ { sum += $1 } END { print sum }')
[ "$priced" -eq 2 ] || complain "the second submission priced $priced pieces: $(cat "$made"/out/task_?.log)"
for file in report.json plans.csv; do
  cmp "$made/out/$file" "$made/$file" || complain "$file differs after going on: $(cat "$made/out/merge.log")"
done

# What a job in the queue has claimed is left to it; the merge names it.
held=$(sbatch --parsable --hold --output=/dev/null --wrap true)
rm "$made/out/piece_0001.part" "$made/out/merge.log"
echo "{\"submission\":\"slurm_$held\",\"task\":\"1..0\",\"host\":\"elsewhere\",\"process\":1,\"started\":1}" \
  >"$made/out/piece_0001.claim_1"
"$root/scripts/sweep_slurm.sh" -n 1 "$made/sweep.yaml" "$made/out" | sed 's/^/job /'
waits_for 300 bash -c "! squeue -h -o %A | grep -vqx $held" || complain "jobs are left: $(squeue)"
grep -q 'pieces 1 of .* are missing' "$made/out/merge.log" || complain "the merge says $(cat "$made/out/merge.log")"
scancel "$held"

# A task that fails: the merge does not run.
STEPCAST=/bin/false "$root/scripts/sweep_slurm.sh" -n 2 "$made/sweep.yaml" "$made/failing" >"$made/submitted"
waits_for 60 bash -c '! squeue -h | grep -q .' || complain "jobs are left: $(squeue)"
[ ! -e "$made/failing/report.json" ] || complain "a failed sweep was merged"
[ ! -e "$made/failing/merge.log" ] || complain "the merge ran after a failed task"
exit $failed
