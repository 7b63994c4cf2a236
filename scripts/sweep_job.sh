#!/usr/bin/env bash
# One shard of a sweep, as one task of a Slurm job array. Started again after a node failed or a time
# limit struck, it goes on from its part.
#
#   sbatch --array=1-8 --cpus-per-task=16 scripts/sweep_job.sh SWEEP.yaml FOLDER [options of sweep]
#
# To run single shards again:  STEPCAST_SHARDS=8 sbatch --array=3,5 scripts/sweep_job.sh ...
# The program is $STEPCAST, or stepcast on the PATH. scripts/sweep_slurm.sh submits this with its merge.
#SBATCH --job-name=stepcast-sweep
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
if [ "$#" -lt 2 ]; then
  echo "usage: sbatch --array=1-N sweep_job.sh SWEEP.yaml FOLDER [options of sweep]" >&2
  exit 2
fi
if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
  echo "sweep_job.sh: this is no task of a job array; submit it with sbatch --array=1-N" >&2
  exit 2
fi
shards=${STEPCAST_SHARDS:-${SLURM_ARRAY_TASK_COUNT:?}}
if [ -z "${STEPCAST_SHARDS:-}" ] &&
  { [ "${SLURM_ARRAY_TASK_MIN:?}" -ne 1 ] || [ "${SLURM_ARRAY_TASK_MAX:?}" -ne "$shards" ]; }; then
  echo "sweep_job.sh: number the array 1-N, or say with STEPCAST_SHARDS how many shards there are" >&2
  exit 2
fi
sweep=$1
folder=$2
shift 2
mkdir -p "$folder"
exec "${STEPCAST:-stepcast}" sweep "$sweep" --shard "$SLURM_ARRAY_TASK_ID/$shards" \
  --threads "${SLURM_CPUS_PER_TASK:-1}" --resume \
  --out "$folder/shard_${SLURM_ARRAY_TASK_ID}_of_$shards.part" "$@"
