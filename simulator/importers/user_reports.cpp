// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "importers/published_names.hpp"
#include "importers/report_stack.hpp"
#include "importers/row_readers.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/option_keys.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/plan/plan_keys.hpp"

namespace stepcast {
namespace {

[[noreturn]] void refuse(const ConfigError& error) {
  throw RefusedRow{"input wrong: " + error.diagnostics().front().message};
}

// --- options ------------------------------------------------------------------------------------

template <typename Keys>
std::string key_among(const Keys& keys, const std::string& section, std::string_view option) {
  for (const auto& key : keys) {
    if (!key.option.empty() && key.option == option) {
      return section + "." + std::string(key.name);
    }
  }
  return {};
}

// The key that an option of the program sets; empty for another word.
std::string key_of_option(std::string_view option) {
  const auto* const site = std::ranges::find(kOptionKeys, option, &OptionKey::option);
  if (site != kOptionKeys.end()) {
    return std::string(site->key);
  }
  std::string key = key_among(plan_keys(), "plan", option);
  return key.empty() ? key_among(training_keys(), "training", option) : key;
}

// Options in the order in which the program lets them count: what runs on what, then the plan and
// the recipe as they are given, and at last what --set says.
struct GivenOption {
  int turn = 0;
  Override change;
};

int turn_of(std::string_view key) {
  constexpr std::array<std::string_view, 3> kFirst = {"model", "cluster.name", "cluster.gpu"};
  const auto* const first = std::ranges::find(kFirst, key);
  const int turn = static_cast<int>(first - kFirst.begin());
  return first != kFirst.end() || key.starts_with("cluster.") ? turn : turn + 1;
}

GivenOption option_given(const std::string& option, const std::string& value) {
  constexpr int kLast = 9;
  if (option == "--set") {
    return {kLast, Override(value)};
  }
  const std::string key = key_of_option(option);
  if (key.empty()) {
    throw RefusedRow{"feature unsupported: the option '" + option + "'"};
  }
  return {turn_of(key), Override(key + "=" + option_value(key, value), option + " " + value)};
}

std::vector<Override> changes_by(const std::vector<std::string>& words) {
  std::vector<GivenOption> given;
  if (words.size() % 2 != 0) {
    throw RefusedRow{"input wrong: 'options' must be options with a value each"};
  }
  for (std::size_t i = 0; i < words.size(); i += 2) {
    given.push_back(option_given(words[i], words[i + 1]));
  }
  std::ranges::stable_sort(given, {}, &GivenOption::turn);
  std::vector<Override> changes;
  changes.reserve(given.size());
  for (GivenOption& option : given) {
    changes.push_back(std::move(option.change));
  }
  return changes;
}

// --- the experiment -----------------------------------------------------------------------------

// What an experiment made from options alone starts from, as the program has it.
constexpr std::string_view kFromOptions = "training: {sequence_length: 4096}\n";

Record stated_experiment(StatedObject& row) {
  const std::string text = row.text("experiment");
  if (row.value("options").is_string()) {
    throw RefusedRow{"feature unsupported: '" + row.text("options") +
                     "' is a command in words, not a list of options"};
  }
  const std::vector<std::string> options = row.texts("options");
  try {
    ConfigNode root = parse_config(text.empty() ? kFromOptions : text, "experiment");
    apply_overrides(root, changes_by(options));
    return json_of(root);
  } catch (const ConfigError& error) {
    refuse(error);
  }
}

bool is_text(const Record& value) { return value.is_string(); }

// Throws RefusedRow where there is no mapping that names a model and a part.
void check_named(const Record& experiment, ProfileCache& profiles) {
  const auto cluster = experiment.is_object() ? experiment.find("cluster") : experiment.end();
  const bool placed = experiment.is_object() && cluster != experiment.end() &&
                      cluster->is_object() && is_text(cluster->value("gpu", Record()));
  if (!placed) {
    throw RefusedRow{"input missing: the experiment names no GPU"};
  }
  required_gpu((*cluster)["gpu"].get<std::string>(), profiles);
}

Experiment read_here(const Record& experiment, ProfileCache& profiles) {
  try {
    return read_experiment(json_node(experiment, {"experiment"}), {}, profiles);
  } catch (const ConfigError& error) {
    refuse(error);
  }
}

// --- what was measured --------------------------------------------------------------------------

// The rate of tokens that a rate of the model's FLOPs, or its share of the part's peak, is by the
// convention of a projection.
std::optional<double> rate_by_flops(StatedObject& measured, const Experiment& experiment,
                                    Record& assumed) {
  const std::optional<double> teraflops = measured.number("tflops");
  const std::optional<double> share = measured.number("mfu_pct");
  const DeviceSpec& device = experiment.cluster.device;
  const auto peak = device.matrix_peak(experiment.training.dtype, device.clock.rated);
  if (!teraflops && !(share && peak)) {
    return std::nullopt;
  }
  const double rate = teraflops ? *teraflops * 1e12 : *share / 100.0 * peak->value();
  const Flops token = training_flops_per_token(
      experiment.model, experiment.training.sequence_length, experiment.training.weights);
  assumed.push_back("measured.tokens_per_second_per_gpu: " +
                    (teraflops ? shortest_text(*teraflops) + " TFLOP/s"
                               : shortest_text(*share) + " % of the peak") +
                    " over the FLOPs of a token as a projection counts them");
  return rate / token.value();
}

Record measured_in(StatedObject& row, const std::optional<Experiment>& experiment,
                   Record& assumed) {
  constexpr double kGi = 1024.0 * 1024.0 * 1024.0;
  StatedObject& measured = row.object("measured");
  Record record = Record::object();
  std::optional<double> rate = measured.number("tps");
  const std::optional<double> time = measured.number("step_s");
  if (!rate && !time && experiment) {
    rate = rate_by_flops(measured, *experiment, assumed);
  }
  if (rate) {
    record["tokens_per_second_per_gpu"] = *rate;
  }
  if (time) {
    record["step_time_s"] = *time;
  }
  const std::optional<double> allocated = measured.number("alloc_gib");
  const std::optional<double> reserved = measured.number("reserved_gib");
  if (allocated) {
    record["peak_memory_bytes"] = *allocated * kGi;
  } else if (reserved) {
    record["peak_reserved_memory_bytes"] = *reserved * kGi;
  }
  const std::optional<bool> fits = measured.flag("fits");
  if (fits || !record.empty()) {
    record["fits"] = fits.value_or(true);  // what was measured ran
  }
  for (const char* told : {"tflops", "mfu_pct"}) {
    measured.ignore(told);
  }
  return record;
}

// What the program answered when somebody tried the row, and what was thought of it.
void pass_over_trial(StatedObject& row) {
  for (const char* key : {"predicted", "error_pct", "verdict", "kind_of_fault", "grade", "note"}) {
    row.ignore(key);
  }
}

}  // namespace

void read_user_report(const nlohmann::json& json, ProfileCache& profiles,
                      std::vector<Record>& records) {
  StatedObject row(json);
  Record record;
  record["id"] = row.text("id");
  const std::string source = row.text("source");
  Record assumed = Record::array();
  std::optional<Experiment> read;
  try {
    Record experiment = stated_experiment(row);
    check_named(experiment, profiles);
    const ReportedStack stack = reported_stack(source, row.text("framework"), row.text("date"));
    const AttentionKind attention = read_here(experiment, profiles).model.attention.kind;
    set_software(stack, attention, profiles, experiment, assumed);
    read = read_here(experiment, profiles);
    record["measured"] = measured_in(row, read, assumed);
    pass_over_trial(row);
    row.refuse_unread();
    record["experiment"] = std::move(experiment);
  } catch (const RefusedRow& refusal) {
    record["skipped"] = refusal.reason;
    record["measured"] = Record::object();
  }
  record["group"] =
      (read ? read->named.gpu + (read->model.moe ? " moe" : " dense") : std::string("unread")) +
      " reports " + row.text("grade");
  record["source"] = source;
  record["source_id"] = source;
  record["stack"] = name(Stack::kAsItComes);
  record["hold_out"] = source;
  if (!assumed.empty()) {
    record["assumed"] = assumed;
  }
  if (const std::string note = row.text("note"); !note.empty()) {
    record["notes"] = note;
  }
  records.push_back(std::move(record));
}

}  // namespace stepcast
