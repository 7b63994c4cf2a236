// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/one_step_moves.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "stepcast/base/units_text.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast {
namespace {

// A key with its new value.
using Moved = std::pair<std::string, std::string>;

Moved moved(std::string_view key, std::int64_t value) {
  return {std::string(key), std::to_string(value)};
}

// Whether no number of `all` lies between the two.
bool is_next(const std::set<std::int64_t>& all, std::int64_t now, std::int64_t then) {
  const auto [low, high] = std::minmax(now, then);
  return std::next(all.lower_bound(low)) == all.lower_bound(high);
}

bool is_twice(std::int64_t now, std::int64_t then) { return then == 2 * now || now == 2 * then; }

// Which setting a change moves, and whether by one step.
class Steps {
 public:
  Steps(const Experiment& experiment, const ParallelPlan& settled)
      : experiment_(experiment), settled_(settled), of_gpus_(divisors(experiment.cluster.gpus())) {}

  // Nothing where it is further away.
  [[nodiscard]] std::optional<Moved> of(const PlanChange& change) const {
    for (const auto& way : {&Steps::degree, &Steps::pipeline, &Steps::recipe, &Steps::rest}) {
      const Found found = (this->*way)(change);
      if (found.is_it) {
        return found.moved;
      }
    }
    return std::nullopt;
  }

 private:
  // Whether a change is of such settings, and if so what it moves if it is near enough.
  struct Found {
    bool is_it = false;
    std::optional<Moved> moved{};
  };
  static Found near_enough(bool near, Moved moved) {
    return {true, near ? std::optional(std::move(moved)) : std::nullopt};
  }

  [[nodiscard]] Found degree(const PlanChange& change) const {
    const PlanRequest& plan = change.plan;
    if (plan.tp != settled_.tp) {
      return near_enough(is_next(of_gpus_, settled_.tp, plan.tp), moved("plan.tp", plan.tp));
    }
    if (plan.cp != settled_.cp) {
      return near_enough(is_twice(settled_.cp, plan.cp), moved("plan.cp", plan.cp));
    }
    if (plan.ep != settled_.ep) {
      return near_enough(is_next(divisors(experiment_.model.moe->experts), settled_.ep, plan.ep),
                         moved("plan.ep", plan.ep));
    }
    return {};
  }

  [[nodiscard]] Found pipeline(const PlanChange& change) const {
    const PlanRequest& plan = change.plan;
    const bool usual =
        !plan.schedule || plan.schedule == settled_.schedule ||
        *plan.schedule == (plan.vpp > 1 ? Schedule::kInterleaved : Schedule::kOneFOneB);
    if (plan.pp != settled_.pp) {
      const bool cut = plan.vpp == settled_.vpp || plan.vpp == 1;
      return near_enough(usual && cut && is_next(of_gpus_, settled_.pp, plan.pp),
                         moved("plan.pp", plan.pp));
    }
    if (plan.vpp != settled_.vpp) {
      const std::int64_t layers = std::max<std::int64_t>(1, experiment_.model.layers / plan.pp);
      std::set<std::int64_t> cuts = divisors(layers);
      cuts.insert({settled_.vpp, plan.vpp});
      return near_enough(usual && is_next(cuts, settled_.vpp, plan.vpp),
                         moved("plan.vpp", plan.vpp));
    }
    if (plan.schedule && *plan.schedule != settled_.schedule) {
      return near_enough(true, {"plan.schedule", std::string(name(*plan.schedule))});
    }
    return {};
  }

  [[nodiscard]] Found recipe(const PlanChange& change) const {
    const TrainingRecipe& now = experiment_.training;
    const TrainingRecipe& then = change.training;
    if (then.micro_batch_size != now.micro_batch_size) {
      return near_enough(is_twice(now.micro_batch_size, then.micro_batch_size),
                         moved("training.micro_batch_size", then.micro_batch_size));
    }
    if (then.recompute == now.recompute) {
      return {};
    }
    std::string value(name(then.recompute.kind));
    if (then.recompute.method == RecomputeMethod::kBlock) {
      const bool block = now.recompute.method == RecomputeMethod::kBlock;
      const std::int64_t before = block ? now.recompute.layers : 0;
      value += " of " + std::to_string(then.recompute.layers) + " layers";
      return near_enough(std::abs(then.recompute.layers - before) == 1,
                         {"training.recompute", std::move(value)});
    }
    return near_enough(true, {"training.recompute", std::move(value)});
  }

  [[nodiscard]] Found rest(const PlanChange& change) const {
    const PlanRequest& plan = change.plan;
    if (plan.dispatcher && *plan.dispatcher != settled_.exchange.dispatcher) {
      return near_enough(true, {"plan.dispatcher", std::string(name(*plan.dispatcher))});
    }
    if (plan.etp && *plan.etp != settled_.etp) {
      return near_enough(true, moved("plan.etp", *plan.etp));
    }
    if (plan.sequence_parallel && *plan.sequence_parallel != settled_.sequence_parallel) {
      return near_enough(true,
                         {"plan.sequence_parallel", *plan.sequence_parallel ? "true" : "false"});
    }
    return sharding(plan);
  }

  // "3, not resharded, over 8"
  [[nodiscard]] Found sharding(const PlanRequest& plan) const {
    const std::int64_t zero = plan.zero.value_or(settled_.zero);
    const bool reshards = plan.fsdp_reshard.value_or(settled_.fsdp_reshard);
    // Groups of all replicas are none.
    const bool in_groups = plan.hsdp && *plan.hsdp < settled_.replicas();
    const bool grouped = in_groups && *plan.hsdp != settled_.fsdp;
    const bool ungrouped = !plan.hsdp && !plan.fsdp && zero == 3 &&
                           settled_.fsdp < settled_.replicas() && settled_.zero == 3;
    if (zero == settled_.zero && (zero < 3 || reshards == settled_.fsdp_reshard) && !grouped &&
        !ungrouped) {
      return {true, std::nullopt};
    }
    std::string value = std::to_string(zero);
    value += zero == 3 && !reshards ? ", not resharded" : "";
    value += zero == 3 && in_groups ? ", over " + std::to_string(*plan.hsdp) : "";
    return near_enough(true, {"plan.zero", std::move(value)});
  }

  const Experiment& experiment_;
  const ParallelPlan& settled_;
  std::set<std::int64_t> of_gpus_;
};

void add(Move move, std::vector<MoveWays>& moves) {
  const auto same = std::ranges::find_if(moves, [&](const MoveWays& ways) {
    return ways.front().key == move.key && ways.front().value == move.value;
  });
  if (same == moves.end()) {
    moves.push_back({std::move(move)});
  } else {
    same->push_back(std::move(move));
  }
}

void add_plan_moves(const Experiment& experiment, const ParallelPlan& settled,
                    const PlanSettings& before, std::vector<MoveWays>& moves) {
  PlanChange from = unchanged_plan(experiment, settled);
  from.settings.insert(from.settings.begin(), before.begin(), before.end());
  const Steps steps(experiment, settled);
  for (const PlanChange& change : single_changes(experiment, from, settled, {})) {
    if (std::optional<Moved> step = steps.of(change)) {
      Move move{std::move(step->first), std::move(step->second), change.settings, experiment};
      move.experiment.plan = change.plan;
      move.experiment.training = change.training;
      add(std::move(move), moves);
    }
  }
}

// A software switch with another value, unless it has that already.
void add_switch(const Experiment& experiment, const PlanSettings& before, const std::string& key,
                const std::string& value, std::vector<MoveWays>& moves) {
  ConfigNode switches;
  switches.kind = ConfigNode::Kind::kMapping;
  switches.entries.push_back({key, 0, 0, scalar_node(value)});
  Move move{"software." + key, value, before, experiment};
  Diagnostics diagnostics;
  MappingReader reader(switches, "software", diagnostics);
  read_software_switches(reader, move.experiment.software);
  const bool same = written_changes(move.experiment.software, experiment.software).entries.empty();
  if (diagnostics.entries().empty() && !same) {
    move.settings.emplace_back(move.key, value);
    add(std::move(move), moves);
  }
}

void add_software_moves(const Experiment& experiment, const PlanSettings& before,
                        std::vector<MoveWays>& moves) {
  const SoftwareSpec& software = experiment.software;
  for (const SoftwareOffer& offer : software.offers) {
    const bool of_plan = offer.key == "dispatcher" || offer.key == "schedule";
    for (const std::string& value : offer.values) {
      if (!of_plan) {
        add_switch(experiment, before, offer.key, value, moves);
      }
    }
  }
  for (const auto& [key, now] :
       {std::pair("norm", software.norm), std::pair("rope", software.rope),
        std::pair("activation", software.activation), std::pair("permute", software.permute),
        std::pair("cross_entropy", software.cross_entropy),
        std::pair("optimizer", software.optimizer)}) {
    if (now == Implementation::kEager) {
      add_switch(experiment, before, key, "fused", moves);
    }
  }
}

void add_power_move(const Experiment& experiment, const PlanSettings& before,
                    std::vector<MoveWays>& moves) {
  constexpr double kLess = 0.9;
  const PowerSpec& power = experiment.cluster.device.power;
  const Watts limit(std::round(kLess * power.limit.value()));
  if (limit <= power.idle) {
    return;
  }
  Move move{"cluster.power_limit", format_quantity(limit), before, experiment};
  move.experiment.cluster.device.power.limit = limit;
  move.settings.emplace_back(move.key, move.value);
  add(std::move(move), moves);
}

}  // namespace

std::vector<MoveWays> one_step_moves(const Experiment& experiment, const ParallelPlan& settled,
                                     const PlanSettings& before) {
  std::vector<MoveWays> moves;
  add_plan_moves(experiment, settled, before, moves);
  add_software_moves(experiment, before, moves);
  add_power_move(experiment, before, moves);
  return moves;
}

}  // namespace stepcast
