// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/deciding_defaults.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/reported_input.hpp"

namespace stepcast {
namespace {

// What another would take, as changes of the settled experiment, beside whatever else it says.
struct OtherValue {
  std::string key;
  std::string assumed;
  std::string other;
  std::vector<std::string> assignments;
};

bool is_assumed(const Experiment& experiment, std::string_view key) {
  const std::vector<std::string>& all = experiment.named.training_assumed;
  return std::ranges::find(all, key) != all.end();
}

void add_software(const Experiment& experiment, std::vector<OtherValue>& all) {
  if (!experiment.named.software_assumed) {
    return;
  }
  const std::string& usual = experiment.software.name;
  const std::string& other = experiment.cluster.device.architecture.other_software;
  if (!other.empty() && other != usual) {
    all.push_back({"software", usual, other, {"software.base=" + other}});
  }
  const AttentionKernel kernel = experiment.software.attention_kernel();
  if (kernel != AttentionKernel::kFlash2) {
    const std::string flash2(name(AttentionKernel::kFlash2));
    all.push_back(
        {"attention", std::string(name(kernel)), flash2, {"software.attention=" + flash2}});
  }
}

void add_format(const Experiment& experiment, std::vector<OtherValue>& all) {
  const bool has_fp8 = experiment.cluster.device.matrix_rate[slot(Dtype::kFp8)].has_value();
  if (is_assumed(experiment, "dtype") && has_fp8 && experiment.training.dtype == Dtype::kBf16) {
    all.push_back({"dtype", "bf16", "fp8", {"training.dtype=fp8"}});
  }
}

void add_batch(const Experiment& experiment, std::vector<OtherValue>& all) {
  const std::int64_t batch = experiment.training.global_batch_size;
  if (is_assumed(experiment, "global_batch_size") && batch % 4 == 0) {
    all.push_back({"global batch",
                   with_separators(batch),
                   with_separators(batch / 4),
                   {"training.global_batch_size=" + std::to_string(batch / 4)}});
  }
}

// The busiest expert of learned routing has half as many tokens again as the mean: the order of
// what routers with a loss or a bias for balance leave (arXiv 2408.15664 reports 0.04 to 0.72).
std::vector<std::string> uneven_routing() {
  return {"expert_exchange.routing=learned", "expert_exchange.max_violation=0.5"};
}

void add_routing(const Experiment& experiment, std::vector<OtherValue>& all) {
  if (experiment.model.moe && !experiment.software.exchange.routing) {
    const Routing routing = routing_of(experiment.software.exchange, *experiment.model.moe);
    all.push_back({"routing", std::string(name(routing.kind)),
                   "the busiest expert 1.5 times the mean", uneven_routing()});
  }
}

// Where processes run on any socket, and not on that of their GPU, each call of the host takes 1.5
// times as long: Primus took 13.9 s instead of 9.4 on MI355X for eight layers of Kimi K3 with
// nothing else changed (AMD-AGI/Primus at 9467e2f8, both waiting for the host), and up to 2.1 times
// at other sizes. A step that does not wait for its host today is not asked.
void add_binding(const Experiment& experiment, const Projection& projection,
                 std::vector<OtherValue>& all) {
  constexpr double kWaits = 0.05;  // share of the step
  const bool stated = experiment.scale.host_time != 1.0;
  if (!stated && projection.time.breakdown.host > kWaits * projection.time.step) {
    all.push_back(
        {"host", "bound to the socket of its GPU", "not bound", {"cluster.scale.host_time=1.5"}});
  }
}

// A set that is named alone, as one that can be changed.
void name_software(ConfigNode& root) {
  ConfigEntry* const software = root.entry("software");
  if (software != nullptr && software->value.kind == ConfigNode::Kind::kScalar) {
    const std::string set = software->value.text;
    root.entries.erase(root.entries.begin() + (software - root.entries.data()));
    apply_override(root, "software.base=" + set);
  }
}

// The rate with the other value, if the plan runs with it.
std::optional<double> rate_with(const OtherValue& value, const ConfigNode& settled,
                                const CostModel& cost, const DataRoot& data) {
  try {
    ConfigNode root = settled;
    name_software(root);
    for (const std::string& assignment : value.assignments) {
      apply_override(root, assignment);
    }
    const Projection p = project(read_experiment(root, {}, data), cost);
    return p.feasible() ? std::optional(p.tokens_per_second_per_gpu) : std::nullopt;
  } catch (const ConfigError&) {
    return std::nullopt;  // the experiment has other keys that do not go with it
  }
}

}  // namespace

std::vector<DecidingDefault> deciding_defaults(const Experiment& experiment,
                                               const Projection& projection, const CostModel& cost,
                                               const DataRoot& data) {
  std::vector<DecidingDefault> defaults;
  if (!projection.feasible()) {
    return defaults;
  }
  std::vector<OtherValue> others;
  add_software(experiment, others);
  add_format(experiment, others);
  add_batch(experiment, others);
  add_routing(experiment, others);
  add_binding(experiment, projection, others);
  if (others.empty()) {
    return defaults;
  }
  const ConfigNode settled = settled_experiment(experiment);
  for (const OtherValue& value : others) {
    if (const std::optional<double> rate = rate_with(value, settled, cost, data)) {
      const double ratio = *rate / projection.tokens_per_second_per_gpu;
      if (std::abs(ratio - 1.0) > kDecides) {
        defaults.push_back({value.key, value.assumed, value.other, *rate, ratio});
      }
    }
  }
  return defaults;
}

std::string note_of(const std::vector<DecidingDefault>& defaults) {
  if (defaults.empty()) {
    return "";
  }
  return "assumed, and decides by more than 10 %: " +
         text_list(defaults, "; ", [](const DecidingDefault& one) {
           return one.key + " " + one.assumed + " (" + one.other + ": " +
                  significant(one.tokens_per_second_per_gpu, 4) + " tokens/s/GPU, " +
                  (one.ratio > 1.0 ? "+" : "") + significant(100.0 * (one.ratio - 1.0), 2) + " %)";
         });
}

}  // namespace stepcast
