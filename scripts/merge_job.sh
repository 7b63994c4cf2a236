#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The merge of a sweep's pieces, as a Slurm job: FOLDER/report.json with the best plans and the Pareto sets,
# and FOLDER/plans.csv with every plan that was priced.
#
#   sbatch --dependency=afterok:JOB scripts/merge_job.sh FOLDER [options of merge]
#
# With --dependency=afterany:JOB and --partial it merges what there is, and says what is missing.
#SBATCH --job-name=stepcast-merge
set -euo pipefail
if [ "$#" -lt 1 ]; then
  echo "usage: sbatch --dependency=afterok:JOB merge_job.sh FOLDER [options of merge]" >&2
  exit 2
fi
folder=$1
shift
exec "${STEPCAST:-stepcast}" merge "$folder" --threads "${SLURM_CPUS_PER_TASK:-1}" \
  --format json --out "$folder/report.json" --plans "$folder/plans.csv" "$@"
