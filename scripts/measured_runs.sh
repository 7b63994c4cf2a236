# SPDX-License-Identifier: Apache-2.0
# Sourced: the shipped measurements of whole runs, in which each run stands once.
# Usage: copy_measured_runs ROOT FOLDER; then "${measured_runs[@]}" are names in FOLDER.
measured_runs=(training_runs.jsonl h200_steps.jsonl routed_steps.jsonl pair_steps.jsonl megatron_table5.jsonl primus_projection.jsonl
  blackwell_ultra.jsonl nemo_automodel.jsonl torchtitan_671b.jsonl mixer_steps.jsonl primus_mixers.jsonl minimal_async_ep.jsonl
  user_reports.jsonl training_runs_2026.jsonl training_runs_2026_b.jsonl)

copy_measured_runs() {
  local file
  for file in "${measured_runs[@]}"; do
    cp "$1/tests/validation/$file" "$2/$file"
  done
  # Runs under a profiler are no plain runs: they have a time that no batch changes.
  # One run of training_runs.jsonl is a row of torchtitan_671b.jsonl, with the settings that its thread states.
  grep -v '^{"id":"titan-dsv3-671b' "$1/tests/validation/training_runs.jsonl" >"$2/training_runs.jsonl"
  grep -v 'under the profiler' "$1/tests/validation/minimal_async_ep.jsonl" >"$2/minimal_async_ep.jsonl"
}

# Writes hardware_profiles/NAME.json from a report of runs, or says with --check whether it is up to date.
# Usage: report_of_runs ROOT NAME FORMAT SCRIPT RUNS [--check] [STEPCAST]; RUNS names an array of files.
report_of_runs() {
  local root=$1 shipped="$1/hardware_profiles/$2.json" format=$3 script=$4 check=false folder stepcast
  local -n runs=$5
  shift 5
  if [ "${1:-}" = --check ]; then
    check=true
    shift
  fi
  stepcast=${1:-$root/build/release/bin/stepcast}
  folder=$(mktemp -d)
  # shellcheck disable=SC2064  # the folder of this call
  trap "rm -rf '$folder'" EXIT
  copy_measured_runs "$root" "$folder"
  (cd "$folder" && "$stepcast" validate "${runs[@]}" --format "$format" >made)
  if ! $check; then
    cat "$folder/made" >"$shipped"
  elif ! diff -u "$shipped" "$folder/made"; then
    echo "${shipped#"$root"/} is out of date: run scripts/$script" >&2
    return 1
  fi
}
