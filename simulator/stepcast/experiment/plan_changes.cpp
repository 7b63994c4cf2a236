// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/plan_changes.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast {
namespace {

constexpr const char* kNotGiven = "null";

std::string text_of_switch(bool on) { return on ? "true" : "false"; }

void set(PlanSettings& settings, const std::string& key, const std::string& value) {
  const auto known = std::ranges::find(settings, key, &PlanSettings::value_type::first);
  if (known == settings.end()) {
    settings.emplace_back(key, value);
  } else {
    known->second = value;
  }
}

// The same plan without the degrees that follow from others.
PlanChange loosened(PlanChange change, const ParallelPlan& settled, const KeySet& kept) {
  PlanRequest& plan = change.plan;
  if (plan.dp && !kept.contains("plan.dp")) {
    plan.dp.reset();
    set(change.settings, "plan.dp", kNotGiven);
  }
  if (plan.fsdp && !kept.contains("plan.fsdp")) {
    plan.fsdp.reset();
    set(change.settings, "plan.fsdp", kNotGiven);
    plan.zero = settled.zero;
    set(change.settings, "plan.zero", std::to_string(settled.zero));
    if (settled.zero == 3 && !plan.hsdp && settled.fsdp < settled.replicas()) {
      plan.hsdp = settled.fsdp;
      set(change.settings, "plan.hsdp", std::to_string(settled.fsdp));
    }
  }
  return change;
}

// How the states of a model are divided.
struct Sharding {
  std::int64_t zero = 1;
  std::optional<bool> reshard{};
  std::optional<std::int64_t> group{};  // hsdp
};

RecomputeSpec recompute_of(RecomputeKind kind) {
  RecomputeSpec spec;
  spec.kind = kind;
  return spec;
}

class Neighbours {
 public:
  Neighbours(const Experiment& site, const PlanChange& from, const ParallelPlan& settled,
             const KeySet& kept)
      : site_(site), from_(from), settled_(settled), kept_(kept) {}

  std::vector<PlanChange> all() {
    add_tensor();
    add_context();
    add_experts();
    add_dispatchers();
    add_sharding();
    add_pipelines();
    add_micro_batches();
    add_recomputation();
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool stays(std::string_view key) const { return kept_.contains(key); }

  PlanChange& add() { return found_.emplace_back(from_); }

  void add_degree(const std::string& key, std::int64_t PlanRequest::*degree, std::int64_t now,
                  std::int64_t value) {
    if (value != now) {
      PlanChange& change = add();
      change.plan.*degree = value;
      set(change.settings, "plan." + key, std::to_string(value));
    }
  }

  void add_tensor() {
    if (!stays("plan.tp")) {
      for (const std::int64_t tp : divisors(site_.cluster.gpus())) {
        if (tp <= site_.cluster.domain_size()) {
          add_degree("tp", &PlanRequest::tp, settled_.tp, tp);
        }
      }
    }
    if (settled_.tp > 1 && !site_.model.moe && !stays("plan.sequence_parallel")) {
      PlanChange& change = add();
      change.plan.sequence_parallel = !settled_.sequence_parallel;
      set(change.settings, "plan.sequence_parallel", text_of_switch(!settled_.sequence_parallel));
    }
  }

  void add_context() {
    if (stays("plan.cp")) {
      return;
    }
    const std::int64_t most = from_.training.sequence_length / kLeastTokens;
    for (std::int64_t cp = 1; cp <= std::min(kMostContext, most); cp *= 2) {
      if (site_.cluster.gpus() % cp == 0) {
        add_degree("cp", &PlanRequest::cp, settled_.cp, cp);
      }
    }
  }

  void add_experts() {
    if (!site_.model.moe) {
      return;
    }
    if (!stays("plan.ep")) {
      for (const std::int64_t ep : divisors(site_.model.moe->experts)) {
        if (site_.cluster.gpus() % ep == 0) {
          add_degree("ep", &PlanRequest::ep, settled_.ep, ep);
        }
      }
    }
    for (const std::int64_t etp : {std::int64_t{1}, settled_.tp}) {
      if (etp != settled_.etp && !stays("plan.etp")) {
        PlanChange& change = add();
        change.plan.etp = etp;
        set(change.settings, "plan.etp", std::to_string(etp));
      }
    }
  }

  void add_dispatchers() {
    if (!site_.model.moe || stays("plan.dispatcher")) {
      return;
    }
    for (const SoftwareOffer& offer : site_.software.offers) {
      for (const std::string& value : offer.values) {
        const std::optional<Dispatcher> dispatcher =
            offer.key == "dispatcher" ? dispatcher_for(site_, value) : std::nullopt;
        if (dispatcher && dispatcher != settled_.exchange.dispatcher) {
          PlanChange& change = add();
          change.plan.dispatcher = dispatcher;
          set(change.settings, "plan.dispatcher", value);
        }
      }
    }
  }

  [[nodiscard]] std::vector<Sharding> shardings() const {
    std::vector<Sharding> all = {{0}, {1}, {2}, {3, true}, {3, false}};
    const ClusterSpec& cluster = site_.cluster;
    if (cluster.nodes > 1 && cluster.gpus_per_node > 1) {
      all.push_back({3, true, cluster.gpus_per_node});
      all.push_back({3, false, cluster.gpus_per_node});
    }
    return all;
  }

  void add_sharding() {
    if (keeps_sharding(kept_)) {
      return;
    }
    for (const Sharding& sharding : shardings()) {
      PlanChange& change = add();
      PlanRequest& plan = change.plan;
      plan.zero = sharding.zero;
      set(change.settings, "plan.zero", std::to_string(sharding.zero));
      if (sharding.reshard) {
        plan.fsdp_reshard = sharding.reshard;
        set(change.settings, "plan.fsdp_reshard", text_of_switch(*sharding.reshard));
      }
      leave_out_groups(change, sharding);
    }
  }

  // What the plan says of shards goes, but for what the sharding says.
  void leave_out_groups(PlanChange& change, const Sharding& sharding) const {
    PlanRequest& plan = change.plan;
    if (plan.fsdp) {
      plan.fsdp.reset();
      set(change.settings, "plan.fsdp", kNotGiven);
    }
    if (plan.hsdp != sharding.group) {
      plan.hsdp = sharding.group;
      set(change.settings, "plan.hsdp",
          sharding.group ? std::to_string(*sharding.group) : kNotGiven);
    }
    if (plan.fsdp_experts && sharding.zero != 3) {
      plan.fsdp_experts.reset();
      set(change.settings, "plan.fsdp_experts", kNotGiven);
    }
  }

  [[nodiscard]] bool has_own_layout() const {
    return !from_.plan.stage_layers.empty() ||
           (!from_.plan.layout.empty() && from_.plan.layout != "balanced");
  }

  void add_pipelines() {
    for (const std::int64_t pp : divisors(site_.cluster.gpus())) {
      if (pp > site_.model.layers || (pp != settled_.pp && stays("plan.pp"))) {
        continue;
      }
      for (std::int64_t vpp = 1; vpp == 1 || (pp > 1 && pp * vpp <= site_.model.layers); ++vpp) {
        const bool now = pp == settled_.pp && vpp == settled_.vpp;
        if ((vpp == settled_.vpp || !stays("plan.vpp")) &&
            (now || cuts_layers(site_.model.layers, pp, vpp))) {
          add_schedules(pp, vpp);
        }
      }
    }
  }

  [[nodiscard]] bool wants(Schedule schedule, std::int64_t pp) const {
    if (schedule == settled_.schedule) {
      return true;
    }
    // With one rank all are the same, and GPipe takes as long as 1F1B and holds more.
    return !stays("plan.schedule") &&
           (pp > 1 ? schedule != Schedule::kGpipe && is_offered(site_.software, schedule)
                   : schedule == Schedule::kOneFOneB);
  }

  void add_schedules(std::int64_t pp, std::int64_t vpp) {
    const bool same_cut = pp == settled_.pp && vpp == settled_.vpp;
    for (std::size_t i = 0; i < names_of<Schedule>().size(); ++i) {
      const auto schedule = static_cast<Schedule>(i);
      if (!wants(schedule, pp) || !schedule_reasons(schedule, pp, vpp).empty()) {
        continue;
      }
      if (!same_cut || schedule != settled_.schedule) {
        add_pipeline(pp, vpp, schedule, !same_cut);
      }
      if (same_cut && has_own_layout()) {
        add_pipeline(pp, vpp, schedule, true);
      }
    }
  }

  void add_pipeline(std::int64_t pp, std::int64_t vpp, Schedule schedule, bool new_layout) {
    const bool balanced = site_.model.layers % pp != 0;
    const bool states_layout = has_own_layout() || from_.plan.layout == "balanced" || balanced;
    if (new_layout && states_layout && stays("plan.stage_layout")) {
      return;
    }
    PlanChange& change = add();
    PlanRequest& plan = change.plan;
    if (pp != settled_.pp) {
      set(change.settings, "plan.pp", std::to_string(pp));
    }
    if (vpp != settled_.vpp) {
      set(change.settings, "plan.vpp", std::to_string(vpp));
    }
    if (schedule != settled_.schedule || plan.schedule) {
      set(change.settings, "plan.schedule", std::string(name(schedule)));
    }
    plan.pp = pp;
    plan.vpp = vpp;
    plan.schedule = schedule;
    if (new_layout && states_layout) {
      plan.stage_layers.clear();
      plan.layout = balanced ? "balanced" : "";
      set(change.settings, "plan.stage_layout", balanced ? "balanced" : kNotGiven);
    }
  }

  void add_micro_batches() {
    if (stays("training.micro_batch_size")) {
      return;
    }
    const TrainingRecipe& now = from_.training;
    for (std::int64_t size = 1; size <= kMostMicroBatch; size *= 2) {
      if (size != now.micro_batch_size && now.global_batch_size % size == 0) {
        PlanChange& change = add();
        change.training.micro_batch_size = size;
        set(change.settings, "training.micro_batch_size", std::to_string(size));
      }
    }
  }

  void add_recomputation() {
    if (stays("training.recompute")) {
      return;
    }
    add_recompute(recompute_of(RecomputeKind::kNone));
    add_recompute(recompute_of(RecomputeKind::kSelective));
    add_recompute(recompute_of(RecomputeKind::kFull));
    std::int64_t most = 0;  // layers of a chunk
    for (const StageContent& stage : settled_.stages) {
      most = std::max(most, stage.layers);
    }
    for (std::int64_t layers = 1; layers < most; ++layers) {
      RecomputeSpec block = recompute_of(RecomputeKind::kFull);
      block.method = RecomputeMethod::kBlock;
      block.layers = layers;
      add_recompute(block);
    }
  }

  void add_recompute(const RecomputeSpec& spec) {
    const RecomputeSpec& now = from_.training.recompute;
    if (spec == now) {
      return;
    }
    PlanChange& change = add();
    change.training.recompute = spec;
    PlanSettings& settings = change.settings;
    const RecomputeSpec usual = recompute_of(now.kind);
    if (now.kind == RecomputeKind::kFull && now != usual) {
      set(settings, "training.recompute_method", kNotGiven);
      set(settings, "training.recompute_layers", kNotGiven);
    } else if (now.kind == RecomputeKind::kSelective) {
      set(settings, "training.recompute_modules", kNotGiven);
    } else if (now.kind == RecomputeKind::kBudget) {
      set(settings, "training.memory_budget", kNotGiven);
    }
    set(settings, "training.recompute", std::string(name(spec.kind)));
    if (spec.method == RecomputeMethod::kBlock) {
      set(settings, "training.recompute_method", "block");
      set(settings, "training.recompute_layers", std::to_string(spec.layers));
    }
  }

  const Experiment& site_;
  const PlanChange& from_;
  const ParallelPlan& settled_;
  const KeySet& kept_;
  std::vector<PlanChange> found_;
};

}  // namespace

bool keeps_sharding(const KeySet& kept) {
  return std::ranges::any_of(kShardingKeys, [&kept](std::string_view key) {
    return kept.contains("plan." + std::string(key));
  });
}

PlanChange unchanged_plan(const Experiment& experiment, const ParallelPlan& settled) {
  PlanChange change{{}, experiment.plan, experiment.training};
  PlanRequest& plan = change.plan;
  if (plan.given) {
    return change;
  }
  plan.given = true;
  plan.tp = settled.tp;
  plan.pp = settled.pp;
  plan.ep = settled.ep;
  plan.zero = settled.zero;
  set(change.settings, "plan.tp", std::to_string(settled.tp));
  set(change.settings, "plan.pp", std::to_string(settled.pp));
  set(change.settings, "plan.ep", std::to_string(settled.ep));
  set(change.settings, "plan.zero", std::to_string(settled.zero));
  if (experiment.model.layers % settled.pp != 0) {
    plan.layout = "balanced";
    set(change.settings, "plan.stage_layout", "balanced");
  }
  return change;
}

std::vector<PlanChange> single_changes(const Experiment& site, const PlanChange& from,
                                       const ParallelPlan& settled, const KeySet& kept) {
  std::vector<PlanChange> changes = Neighbours(site, from, settled, kept).all();
  const PlanChange loose = loosened(from, settled, kept);
  if (loose.settings != from.settings) {
    std::ranges::move(Neighbours(site, loose, settled, kept).all(), std::back_inserter(changes));
  }
  return changes;
}

std::set<std::int64_t> divisors(std::int64_t value) {
  std::set<std::int64_t> found;
  for (std::int64_t i = 1; i * i <= value; ++i) {
    if (value % i == 0) {
      found.insert(i);
      found.insert(value / i);
    }
  }
  return found;
}

bool cuts_balanced(std::int64_t layers, std::int64_t pp, std::int64_t vpp) {
  const bool even = layers % (pp * vpp) == 0 || (layers + 2) % (pp * vpp) == 0;
  return pp * vpp <= layers && (vpp <= 2 || even);
}

bool cuts_layers(std::int64_t layers, std::int64_t pp, std::int64_t vpp) {
  return layers % pp == 0 ? layers % (pp * vpp) == 0 : cuts_balanced(layers, pp, vpp);
}

std::optional<Dispatcher> dispatcher_for(const Experiment& site, std::string_view dispatcher) {
  const std::span<const std::string_view> names = names_of<Dispatcher>();
  const auto place = std::ranges::find(names, dispatcher);
  if (place == names.end()) {
    return std::nullopt;
  }
  ExchangeSpec exchange = site.software.exchange;
  exchange.dispatcher = static_cast<Dispatcher>(place - names.begin());
  return exchange_problems(exchange, site.model.moe).empty() ? std::optional(exchange.dispatcher)
                                                             : std::nullopt;
}

bool is_offered(const SoftwareSpec& software, Schedule schedule) {
  const std::vector<Schedule>& offered = software.offered_schedules;
  return offered.empty() || std::ranges::find(offered, schedule) != offered.end();
}

}  // namespace stepcast
