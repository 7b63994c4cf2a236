// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/timed_runs.hpp"

#include "stepcast/experiment/project.hpp"
#include "stepcast/validation/measurement_files.hpp"
#include "stepcast/validation/parallel_loop.hpp"

namespace stepcast {
namespace {

// Tokens/s/GPU of a run; zero where it states none that can be trusted.
double measured_rate(const MeasuredRun& run) {
  if (!run.experiment || !run.skipped.empty()) {
    return 0.0;
  }
  const TrainingRecipe& training = run.experiment->training;
  for (const MeasuredQuantity& quantity : run.quantities) {
    if (!quantity.skipped.empty() || !(quantity.value > 0.0)) {
      continue;
    }
    if (quantity.metric == "tokens_per_second_per_gpu") {
      return quantity.value;
    }
    if (quantity.metric == "step_time_s") {
      return static_cast<double>(training.global_batch_size * training.sequence_length) /
             static_cast<double>(run.experiment->cluster.gpus()) / quantity.value;
    }
  }
  return 0.0;
}

}  // namespace

std::vector<TimedRun> timed_runs(const std::vector<std::filesystem::path>& files,
                                 const DataRoot& data, const CostModel& cost) {
  ProfileCache profiles(data);
  std::vector<MeasuredRun> runs;
  std::vector<TimedRun> timed;
  for (const std::filesystem::path& file : files) {
    std::size_t number = 0;
    for (MeasuredRun& run : runs_of(read_measurements(file), profiles)) {
      ++number;
      if (const double rate = measured_rate(run); rate > 0.0) {
        timed.push_back({run.id.empty() ? std::to_string(number) : run.id, {}, rate, run.network});
        runs.push_back(std::move(run));
      }
    }
  }
  for_each_index(runs.size(),
                 [&](std::size_t i) { timed[i].projection = project(*runs[i].experiment, cost); });
  std::erase_if(timed, [](const TimedRun& run) { return !run.projection.priced; });
  return timed;
}

}  // namespace stepcast
