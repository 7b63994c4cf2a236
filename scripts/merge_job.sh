#!/usr/bin/env bash
# The merge of a sweep's shards, as a Slurm job: FOLDER/report.json with the best plans and the Pareto
# sets, and FOLDER/plans.csv with every plan that was priced.
#
#   sbatch --dependency=afterok:JOB scripts/merge_job.sh FOLDER SHARDS [options of merge]
#SBATCH --job-name=stepcast-merge
set -euo pipefail
if [ "$#" -lt 2 ]; then
  echo "usage: sbatch --dependency=afterok:JOB merge_job.sh FOLDER SHARDS [options of merge]" >&2
  exit 2
fi
folder=$1
shards=$2
shift 2
parts=()
for ((k = 1; k <= shards; ++k)); do
  parts+=("$folder/shard_${k}_of_$shards.part")
done
exec "${STEPCAST:-stepcast}" merge "${parts[@]}" --threads "${SLURM_CPUS_PER_TASK:-1}" \
  --format json --out "$folder/report.json" --plans "$folder/plans.csv" "$@"
