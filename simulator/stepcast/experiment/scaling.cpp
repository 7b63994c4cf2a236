// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/scaling.hpp"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "stepcast/base/each_of.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/step_keys.hpp"

namespace stepcast {
namespace {

// What a step is timed with.
struct Timed {
  Experiment experiment;
  CostModel cost;
};

void remove_dependent_steps(Timed& timed) {
  DeviceSpec& device = timed.experiment.cluster.device;
  CollectiveConstants& library = device.collectives;
  for (ProtocolConstants* protocol : {static_cast<ProtocolConstants*>(&library.ll),
                                      static_cast<ProtocolConstants*>(&library.ll128),
                                      static_cast<ProtocolConstants*>(&library.simple)}) {
    protocol->hop = {};
    protocol->network_hop = {};
  }
  library.simple.long_hop = {};
  device.scale_up.hop_latency = {};
  device.scale_out.hop_latency = {};
}

// Collectives along the axis of data parallelism take no time.
class FreeDataParallel final : public CollectiveModel {
 public:
  explicit FreeDataParallel(std::shared_ptr<const CollectiveModel> within)
      : within_(std::move(within)) {}

  [[nodiscard]] OpCost collective(const Collective& op,
                                  const FabricContext& context) const override {
    return op.axis == Axis::kData ? OpCost{} : within_->collective(op, context);
  }
  [[nodiscard]] OpCost exchange(const ExpertExchange& op,
                                const FabricContext& context) const override {
    return within_->exchange(op, context);
  }

 private:
  std::shared_ptr<const CollectiveModel> within_;
};

CostModel with_free_data_parallel(CostModel cost) {
  cost.collective = std::make_shared<const FreeDataParallel>(std::move(cost.collective));
  if (cost.paced) {
    cost.paced = std::make_shared<const CostModel>(with_free_data_parallel(*cost.paced));
  }
  return cost;
}

struct Mechanism {
  std::string_view cause;
  void (*remove)(Timed& timed);
};

constexpr std::array kMechanisms = {
    Mechanism{"dependent steps of communication", remove_dependent_steps},
    Mechanism{"rings that leave a leaf",
              [](Timed& timed) { timed.experiment.cluster.network.beyond_leaf = 1.0; }},
    Mechanism{"links between pods",
              [](Timed& timed) { timed.experiment.cluster.network.oversubscription = 1.0; }},
    Mechanism{
        "the slowest GPU",
        [](Timed& timed) { timed.experiment.cluster.device.kernels.power.clock_spread = 0.0; }},
    Mechanism{"unequal work", [](Timed& timed) { timed.experiment.training.work_spread = 0.0; }},
    Mechanism{"garbage collection",
              [](Timed& timed) { timed.experiment.training.garbage_collection.reset(); }},
    Mechanism{"data-parallel traffic",
              [](Timed& timed) { timed.cost = with_free_data_parallel(std::move(timed.cost)); }},
};

double time_per_token(const Projection& p) { return 1.0 / p.tokens_per_second_per_gpu; }

// The time of a token by the keys of its step.
std::vector<ScalingPart> by_key(const Projection& p) {
  const TimeBreakdown& time = p.time.breakdown;
  const double of_second = time_per_token(p) / p.time.step.value();
  std::vector<ScalingPart> keys;
  const auto add = [&](std::string cause, Seconds spent) {
    keys.push_back({std::move(cause), spent.value() * of_second});
  };
  add("computation", time.compute);
  for (auto& [key, spent] : keys_beside_computation(time)) {
    add(std::move(key), spent);
  }
  return keys;
}

}  // namespace

bool shares_all(const Experiment& experiment) {
  const PlanRequest& plan = experiment.plan;
  return plan.fsdp && *plan.fsdp * plan.tp * plan.pp == experiment.cluster.gpus();
}

KeySettings gpus_alone(std::int64_t gpus) {
  return {{"cluster.nodes", "null"}, {"cluster.gpus", std::to_string(gpus)}};
}

std::string size_place(std::int64_t gpus) { return "gpus " + std::to_string(gpus); }

KeySettings size_at(const Experiment& base, std::int64_t gpus, Scaling scaling) {
  KeySettings settings = gpus_alone(gpus);
  if (scaling == Scaling::kWeak) {
    const std::int64_t sequences = base.training.global_batch_size * gpus;
    if (sequences % base.cluster.gpus() != 0) {
      throw ConfigError({size_place(gpus), 0, 0},
                        "a batch of " + std::to_string(base.training.global_batch_size) +
                            " sequences on " + std::to_string(base.cluster.gpus()) +
                            " GPUs is no whole number of them on " + std::to_string(gpus) +
                            "; give --gbs, which stays, or other numbers of GPUs");
    }
    settings.emplace_back("training.global_batch_size",
                          std::to_string(sequences / base.cluster.gpus()));
  }
  return settings;
}

KeySettings settings_at(const Experiment& base, std::int64_t gpus, const Growth& growth) {
  KeySettings settings = size_at(base, gpus, growth.scaling);
  const PlanRequest& plan = base.plan;
  if (plan.dp) {
    settings.emplace_back("plan.dp", "null");
  }
  if (growth.sharing == Sharing::kGrows) {
    settings.emplace_back("plan.fsdp", std::to_string(gpus / (plan.tp * plan.pp)));
  }
  return settings;
}

ScaledSize refused_size(const Experiment& base, std::int64_t gpus, const ConfigError& why) {
  Projection projection = without_plan(base, each_of(why.diagnostics(), &Diagnostic::message));
  projection.gpus = gpus;
  ScaledSize size{std::move(projection)};
  size.exists = false;
  return size;
}

ScalingLoss::TokenTimes ScalingLoss::token_times(const Experiment& experiment,
                                                 const CostModel& cost,
                                                 const Projection& projection) {
  TokenTimes times{{time_per_token(projection)}, {}};
  Timed without{experiment, cost};
  Projection bare = projection;
  for (const Mechanism& mechanism : kMechanisms) {
    mechanism.remove(without);
    bare = project(without.experiment, without.cost);
    times.without.push_back(time_per_token(bare));
  }
  times.keys = by_key(bare);
  return times;
}

void ScalingLoss::add(const Experiment& experiment, const CostModel& cost, ScaledSize& size) {
  if (!size.projection.feasible()) {
    return;
  }
  const TokenTimes now = token_times(experiment, cost, size.projection);
  if (!first_) {
    first_ = now;
  }
  const double whole = now.without.front();
  size.loss = 1.0 - first_->without.front() / whole;
  size.parts.clear();
  for (std::size_t k = 0; k < kMechanisms.size(); ++k) {
    const double taken = now.without[k] - now.without[k + 1];
    const double at_first = first_->without[k] - first_->without[k + 1];
    size.parts.push_back({std::string(kMechanisms[k].cause), (taken - at_first) / whole});
  }
  for (std::size_t k = 0; k < now.keys.size(); ++k) {
    size.parts.push_back({now.keys[k].cause, (now.keys[k].share - first_->keys[k].share) / whole});
  }
}

}  // namespace stepcast
