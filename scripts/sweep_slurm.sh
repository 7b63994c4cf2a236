#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a sweep on a Slurm cluster: a job array whose tasks take its pieces, one after the other, from the
# folder that they share, and a merge once all have ended well. Prints the number of each job. FOLDER must
# be seen by all nodes, on a file system with hard links (NFS, Lustre).
#
#   scripts/sweep_slurm.sh [-n TASKS] [-c THREADS] SWEEP.yaml FOLDER [options of sbatch]
#   scripts/sweep_slurm.sh -n 32 -c 16 sweep.yaml results --partition=cpu --time=01:00:00
#
# The program is $STEPCAST, or stepcast on the PATH. Submitted again, with any number of tasks, only what is
# missing is priced; what an earlier submission that is still in the queue works on is left to it.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage() {
  echo "usage: sweep_slurm.sh [-n TASKS] [-c THREADS] SWEEP.yaml FOLDER [options of sbatch]" >&2
  exit 2
}
tasks=8
threads=1
while getopts "n:c:" option; do
  case $option in
    n) tasks=$OPTARG ;;
    c) threads=$OPTARG ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
[ "$#" -ge 2 ] || usage
# Said here, where it is seen, and not in the log of every task.
positive() {
  [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] && return
  echo "sweep_slurm.sh: $1 $2: error: must be a whole number from 1 to 999999" >&2
  exit 2
}
positive -n "$tasks"
positive -c "$threads"
if [ ! -f "$1" ]; then
  echo "sweep_slurm.sh: $1: error: there is no such file" >&2
  exit 2
fi
sweep=$(realpath -- "$1")
mkdir -p -- "$2"
folder=$(realpath -- "$2")
shift 2
# Claims say which job made them.
beside=()
for job in $(cat "$folder"/piece_*.claim_* 2>/dev/null |
  sed -n 's/.*"submission":"slurm_\([0-9]*\)".*/\1/p' | sort -u); do
  [ -z "$(squeue --noheader --jobs="$job" 2>/dev/null || true)" ] || beside+=(--beside "slurm_$job")
done
# In the name of an output Slurm takes % for the first letter of a number of its own, and %% for %.
logs=${folder//%/%%}
job=$(sbatch --parsable --array="1-$tasks" --cpus-per-task="$threads" \
  --output="$logs/task_%a.log" "$@" "$scripts/sweep_job.sh" "$sweep" "$folder" "${beside[@]}")
job=${job%%;*}
merge=$(sbatch --parsable --dependency="afterok:$job" --kill-on-invalid-dep=yes \
  --cpus-per-task="$threads" --output="$logs/merge.log" "$@" \
  "$scripts/merge_job.sh" "$folder" --top 100)
echo "sweep $job"
echo "merge ${merge%%;*}"
