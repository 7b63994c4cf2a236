#!/usr/bin/env bash
# Runs a sweep on a Slurm cluster: a job array of its shards, and a merge once all have ended well.
# Prints the number of each job. FOLDER must be seen by all nodes.
#
#   scripts/sweep_slurm.sh [-n SHARDS] [-c THREADS] SWEEP.yaml FOLDER [options of sbatch]
#   scripts/sweep_slurm.sh -n 32 -c 16 sweep.yaml results --partition=cpu --time=01:00:00
#
# The program is $STEPCAST, or stepcast on the PATH. Submitted again, shards go on from their parts.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage() {
  echo "usage: sweep_slurm.sh [-n SHARDS] [-c THREADS] SWEEP.yaml FOLDER [options of sbatch]" >&2
  exit 2
}
shards=8
threads=1
while getopts "n:c:" option; do
  case $option in
    n) shards=$OPTARG ;;
    c) threads=$OPTARG ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
[ "$#" -ge 2 ] || usage
sweep=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
job=$(sbatch --parsable --array="1-$shards" --cpus-per-task="$threads" \
  --output="$folder/shard_%a.log" "$@" "$scripts/sweep_job.sh" "$sweep" "$folder")
job=${job%%;*}
merge=$(sbatch --parsable --dependency="afterok:$job" --kill-on-invalid-dep=yes \
  --cpus-per-task="$threads" --output="$folder/merge.log" "$@" \
  "$scripts/merge_job.sh" "$folder" "$shards" --top 100)
echo "sweep $job"
echo "merge ${merge%%;*}"
