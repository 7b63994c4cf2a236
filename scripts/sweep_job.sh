#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One of the tasks that price a sweep, as one task of a Slurm job array of any numbers: it takes pieces from
# FOLDER until none is left. Started again after a node failed, it takes what it was at once more.
#
#   sbatch --array=1-8 --cpus-per-task=16 scripts/sweep_job.sh SWEEP.yaml FOLDER [options of sweep]
#
# Submitted again, it prices what is missing; --beside slurm_JOB leaves what a job that still runs works on
# to it. The program is $STEPCAST, or stepcast on the PATH. scripts/sweep_slurm.sh submits this with its merge.
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
sweep=$1
folder=$2
shift 2
exec "${STEPCAST:-stepcast}" sweep "$sweep" --pieces "$folder" --threads "${SLURM_CPUS_PER_TASK:-1}" "$@"
