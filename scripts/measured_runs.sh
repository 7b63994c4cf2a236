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
