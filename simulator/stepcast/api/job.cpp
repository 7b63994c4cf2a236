// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/job.hpp"

#include <algorithm>
#include <charconv>

#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/contradictions.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/worker_arena.hpp"
#include "stepcast/config/told_name.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/experiment/nearest_fit.hpp"
#include "stepcast/experiment/provenance_shares.hpp"
#include "stepcast/result/training_run.hpp"
#include "stepcast/stepcast.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast {
namespace {

// A file of where the process runs lies elsewhere for an experiment of another folder.
std::string in_folder(const std::string& assignment, const std::filesystem::path& folder) {
  return written_choice(parse_backend_choice(assignment), [&folder](const std::string& file) {
    std::error_code error;
    return std::filesystem::proximate(file, folder, error).string();
  });
}

std::vector<Override> overrides_of(const ExperimentSource& source,
                                   const std::filesystem::path& folder) {
  std::vector<Override> list;
  for (const Assignment& given : source.settings) {
    std::string text =
        given.files_here && !folder.empty() ? in_folder(given.text, folder) : given.text;
    list.push_back(given.place.empty() ? Override(std::move(text))
                                       : Override(std::move(text), given.place));
  }
  if (source.settings_must_agree) {
    refuse_contradictions(list);
  }
  return list;
}

std::string name_of(const ExperimentSource& source) {
  return source.assumed ? kAssumedPlace : source.name;
}

std::optional<double> positive_number(const std::string& text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  const bool good = result.ec == std::errc{} && result.ptr == end && is_amount(value);
  return good ? std::optional(value) : std::nullopt;
}

void check_currency(const GpuHourPrices& prices, Diagnostics& diagnostics) {
  const Location where{"currency " + prices.currency, 0, 0};
  if (prices.currency.empty()) {
    return;
  }
  if (!is_currency(prices.currency)) {
    diagnostics.error(where, "write a sign or a short word without digits, e.g. EUR");
  } else if (prices.prices.empty()) {
    diagnostics.error(where, "there is no price; add --price GPU=PRICE, e.g. mi300x=2.50");
  }
}

std::string remedy_among(const std::string& gpu, const std::vector<std::string>& gpus) {
  if (std::string nearest = did_you_mean(gpu, gpus); !nearest.empty()) {
    return nearest;
  }
  std::string known;
  for (const std::string& one : gpus) {
    known += (known.empty() ? "; give that of " : " or ") + one;
  }
  return known;
}

}  // namespace

ExperimentTree tree_of(const ExperimentSource& source, const DataRoot& data) {
  ExperimentTree tree =
      source.file.empty()
          ? ExperimentTree{parse_config(source.text, name_of(source)), source.folder}
          : load_experiment_tree(source.file, data);
  if (source.file == kStandardInput) {
    tree.folder.clear();
  }
  apply_overrides(tree.root, overrides_of(source, tree.folder));
  return tree;
}

Experiment experiment_of(const ExperimentSource& source, const DataRoot& data) {
  const ExperimentTree tree = tree_of(source, data);
  return read_experiment(tree.root, tree.folder, data);
}

SweepSource sweep_source_of(const ExperimentSource& source) {
  const std::string version(stepcast::version());
  if (source.file.empty()) {
    return {name_of(source), source.folder, source.text, overrides_of(source, source.folder),
            version};
  }
  SweepSource sweep = load_sweep_source(source.file, {}, version);
  if (source.file == kStandardInput) {
    sweep.folder.clear();
  }
  sweep.overrides = overrides_of(source, sweep.folder);
  return sweep;
}

Job job_of(const ExperimentSource& source, const DataRoot& data) {
  Experiment experiment = experiment_of(source, data);
  CostModel cost = cost_model_of(experiment, data);
  return {std::move(experiment), std::move(cost)};
}

Projection projection_of(const Job& job, const DataRoot& data) {
  Projection projection = project(job.experiment, job.cost);
  projection.expected_error = expected_error(load_accuracy(data), job.experiment);
  projection.nearest_fit = nearest_fit(projection, job.experiment, job.cost);
  return projection;
}

Projection with_provenance(const Job& job, Projection projection) {
  projection.provenance = provenance_shares(job.experiment, projection, job.cost);
  return projection;
}

std::map<std::string, GpuHourPrice> prices_of(const GpuHourPrices& prices,
                                              const std::vector<std::string>& gpus,
                                              const std::string& nobody) {
  std::map<std::string, GpuHourPrice> by_gpu;
  Diagnostics diagnostics;
  check_currency(prices, diagnostics);
  for (const Assignment& given : prices.prices) {
    const std::string& text = given.text;
    const Location where{given.place.empty() ? "price " + text : given.place, 0, 0};
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string gpu = text.substr(0, equals);
    const std::optional<double> price =
        positive_number(text.substr(std::min(equals + 1, text.size())));
    GpuHourPrice gpu_hour{price.value_or(0.0)};
    gpu_hour.currency = prices.currency.empty() ? gpu_hour.currency : prices.currency;
    if (!price) {
      diagnostics.error(where,
                        "write GPU=PRICE, the price of a GPU-hour above 0, e.g. mi300x=2.50");
    } else if (std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) {
      diagnostics.error(where, nobody + " the GPU '" + gpu + "'" + remedy_among(gpu, gpus));
    } else if (!by_gpu.emplace(gpu, gpu_hour).second) {
      diagnostics.error(where, "the GPU has a price already");
    }
  }
  diagnostics.throw_if_any();
  return by_gpu;
}

void check_threads(int threads, Diagnostics& diagnostics) {
  static_assert(Simulator::kMostThreads == stepcast::kMostThreads);
  if (threads < 0 || threads > stepcast::kMostThreads) {
    diagnostics.error({"threads", 0, 0}, "must be 0, for all processors, to " +
                                             std::to_string(stepcast::kMostThreads));
  }
}

int threads_of(int threads) { return threads > 0 ? threads : processors(); }

}  // namespace stepcast
