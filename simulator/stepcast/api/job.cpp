// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/job.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/foreign_model.hpp"
#include "stepcast/api/usual_batch.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/worker_arena.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/config/told_name.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/experiment/cheapest_savings.hpp"
#include "stepcast/experiment/comparison.hpp"
#include "stepcast/experiment/missing_plan.hpp"
#include "stepcast/experiment/nearest_fit.hpp"
#include "stepcast/experiment/provenance_shares.hpp"
#include "stepcast/result/training_run.hpp"
#include "stepcast/stepcast.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast {
namespace {

std::string_view key_of(const Override& override) {
  return std::string_view(override.assignment).substr(0, override.assignment.find('='));
}

std::string_view value_of(const Override& override) {
  const std::string_view text = override.assignment;
  return text.substr(std::min(key_of(override).size() + 1, text.size()));
}

// Whether `later` says what `earlier` does and more: {base: kimi_k3, layers: 8} beside kimi_k3.
bool builds_on(const Override& earlier, const Override& later) {
  try {
    const ConfigNode value = parse_config(value_of(later), later.place);
    const ConfigNode* base = value.find("base");
    return base != nullptr && base->text == value_of(earlier);
  } catch (const ConfigError&) {
    return false;  // what is wrong with the text is told where it is applied
  }
}

// What is wrong with `later` behind `earlier`; empty: nothing.
std::string contradiction(const Override& earlier, const Override& later) {
  const std::string key(key_of(later));
  if (key_of(earlier) == key && earlier.assignment != later.assignment &&
      !builds_on(earlier, later)) {
    return "sets '" + key + "' to another value than '" + earlier.place +
           "'; leave one of them out";
  }
  if (key_of(earlier).starts_with(key + ".")) {
    return "replaces all of '" + key + "', and with it '" + earlier.place +
           "'; say both in one, or leave one of them out";
  }
  return {};
}

// Throws ConfigError where two of `overrides`, which are applied in their order, give one key two
// values, or where one replaces the whole mapping in which an earlier one has set a key.
void refuse_contradictions(const std::vector<Override>& overrides) {
  Diagnostics diagnostics;
  for (std::size_t later = 0; later < overrides.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const std::string problem = contradiction(overrides[earlier], overrides[later]);
      if (!problem.empty()) {
        diagnostics.error({overrides[later].place, 0, 0}, problem);
        break;
      }
    }
  }
  diagnostics.throw_if_any();
}

// A file of where the process runs lies elsewhere for an experiment of another folder.
std::string in_folder(const std::string& assignment, const std::filesystem::path& folder) {
  return written_choice(parse_backend_choice(assignment), [&folder](const std::string& file) {
    std::error_code error;
    return std::filesystem::proximate(file, folder, error).string();
  });
}

std::vector<Override> overrides_of(const ExperimentSource& source,
                                   const std::filesystem::path& folder, const DataRoot& data) {
  std::vector<Override> list;
  for (const Assignment& given : source.settings) {
    std::string text = with_foreign_model(
        given.files_here && !folder.empty() ? in_folder(given.text, folder) : given.text, folder,
        data);
    list.push_back(given.place.empty() ? Override(std::move(text))
                                       : Override(std::move(text), given.place));
  }
  if (source.settings_must_agree) {
    refuse_contradictions(list);
  }
  return list;
}

// A text that cannot be read is told of where the sweep is.
std::optional<std::string> foreign_model_in(const SweepSource& sweep, const DataRoot& data) {
  ConfigNode root;
  try {
    root = parse_config(sweep.text, sweep.name);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
  return foreign_model_of(root, sweep.folder, data);
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
  return gpus.empty() ? "" : "; give that of " + text_list(gpus, " or ");
}

}  // namespace

std::string text_of(const TextSource& source, std::size_t largest) {
  return source.text ? *source.text : read_file(source.file, largest);
}

std::filesystem::path folder_of(const TextSource& source) {
  if (source.file == kStandardInput) {
    return {};
  }
  const std::filesystem::path parent = source.file.parent_path();
  return parent.empty() ? std::filesystem::path(".") : parent;
}

Location place_of(const Assignment& given, const std::string& field) {
  return {given.place.empty() ? field + " " + given.text : given.place, 0, 0};
}

ExperimentTree tree_of(const ExperimentSource& source, const DataRoot& data) {
  ExperimentTree tree =
      source.file.empty()
          ? ExperimentTree{parse_config(source.text, name_of(source)), source.folder}
          : load_experiment_tree(source.file, data);
  if (source.file == kStandardInput) {
    tree.folder.clear();
  }
  apply_overrides(tree.root, overrides_of(source, tree.folder, data));
  if (const std::optional<std::string> model = foreign_model_of(tree.root, tree.folder, data)) {
    apply_override(tree.root, *model);
  }
  fill_batch(tree, data);
  return tree;
}

Experiment experiment_of(const ExperimentSource& source, const DataRoot& data) {
  const ExperimentTree tree = tree_of(source, data);
  return read_experiment(tree.root, tree.folder, data);
}

SweepSource sweep_source_of(const ExperimentSource& source, const DataRoot& data) {
  const std::string version(stepcast::version());
  SweepSource sweep = source.file.empty()
                          ? SweepSource{name_of(source), source.folder, source.text, {}, version}
                          : load_sweep_source(source.file, {}, version);
  if (source.file == kStandardInput) {
    sweep.folder.clear();
  }
  sweep.overrides = overrides_of(source, sweep.folder, data);
  if (const std::optional<std::string> model = foreign_model_in(sweep, data)) {
    sweep.overrides.insert(sweep.overrides.begin(), Override(*model, "model"));
  }
  return sweep;
}

Job job_of(const ExperimentSource& source, const DataRoot& data) {
  return job_of(tree_of(source, data), data);
}

Job job_of(const ExperimentTree& tree, const DataRoot& data) {
  Experiment experiment = read_experiment(tree.root, tree.folder, data);
  CostModel cost = cost_model_of(experiment, data);
  settle_missing_plan(experiment, cost, given_keys(tree));
  return {std::move(experiment), std::move(cost)};
}

KeySet given_keys(const ExperimentTree& tree) {
  KeySet given;
  if (states_dispatcher(tree.root)) {
    given.insert("plan.dispatcher");
  }
  const ConfigNode* training = tree.root.find("training");
  if (training != nullptr) {
    for (const ConfigEntry& entry : training->entries) {
      if (const std::optional<std::string> key = searched_key("training." + entry.key);
          key && entry.value.kind != ConfigNode::Kind::kNull) {
        given.insert(*key);
      }
    }
  }
  return given;
}

KeySet keys_on_top(const ExperimentSource& source) {
  return overridden_keys(each_of(source.settings, [](const Assignment& given) {
    return given.place.empty() ? Override(given.text) : Override(given.text, given.place);
  }));
}

Projection expected_of(const Job& job, const DataRoot& data) {
  return projections_of({job.experiment}, job.cost, load_accuracy(data)).front();
}

Projection projection_of(const Job& job, const DataRoot& data) {
  Projection projection = expected_of(job, data);
  projection.savings = cheapest_savings(projection, job.experiment, job.cost);
  projection.nearest_fit = nearest_fit(projection, job.experiment, job.cost);
  return projection;
}

Projection projection_with(const BestPlan& found, Experiment& experiment, const CostModel& cost,
                           const std::vector<HeldOutRun>& known) {
  if (!found.best) {
    return without_plan(experiment, why_no_plan(found.searched));
  }
  experiment.plan = found.best->plan;
  experiment.training = found.best->training;
  return projections_of({experiment}, cost, known).front();
}

Projection with_provenance(const Job& job, Projection projection) {
  projection.provenance = provenance_shares(job.experiment, projection, job.cost);
  return projection;
}

std::vector<std::string> gpus_of(const std::vector<Experiment>& experiments) {
  return each_of(experiments,
                 [](const Experiment& experiment) { return experiment.cluster.device.name; });
}

std::map<std::string, GpuHourPrice> prices_of(const GpuHourPrices& prices,
                                              const std::vector<std::string>& gpus,
                                              const std::string& nobody) {
  std::map<std::string, GpuHourPrice> by_gpu;
  Diagnostics diagnostics;
  check_currency(prices, diagnostics);
  for (const Assignment& given : prices.prices) {
    const std::string& text = given.text;
    const Location where = place_of(given, "price");
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string gpu = text.substr(0, equals);
    const std::optional<double> price =
        positive_number(text.substr(std::min(equals + 1, text.size())));
    GpuHourPrice gpu_hour{price.value_or(0.0)};
    gpu_hour.currency = prices.currency.empty() ? gpu_hour.currency : prices.currency;
    if (!price) {
      diagnostics.error(where,
                        "write GPU=PRICE, the price of a GPU-hour above 0, e.g. mi300x=2.50");
    } else if (std::ranges::find(gpus, gpu) == gpus.end()) {
      diagnostics.error(where, nobody + " the GPU '" + gpu + "'" + remedy_among(gpu, gpus));
    } else if (!by_gpu.emplace(gpu, gpu_hour).second) {
      diagnostics.error(where, "the GPU has a price already");
    }
  }
  diagnostics.throw_if_any();
  return by_gpu;
}

void set_price(const std::map<std::string, GpuHourPrice>& prices, Projection& projection) {
  if (const auto price = prices.find(projection.gpu); price != prices.end()) {
    projection.gpu_hour = price->second;
  }
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
