// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_constraint.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "stepcast/base/real.hpp"
#include "stepcast/experiment/project.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLongestConstraint = 1000;  // characters

double switched(bool value) { return value ? 1.0 : 0.0; }

double recomputed_layers(const TrainingRecipe& training) {
  const RecomputeSpec& recompute = training.recompute;
  return recompute.kind == RecomputeKind::kFull ? real(recompute.layers) : 0.0;
}

// A name with its value, each read from what is the first to have it. Degrees have two: where the
// file gives no plan, those of the request are not the plan's.
struct ConstraintVariable {
  ConstraintName name;
  std::string_view meaning;
  double (*of_site)(const Experiment&) = nullptr;
  double (*of_request)(const PlanRequest&, const TrainingRecipe&) = nullptr;
  double (*of_plan)(const ParallelPlan&) = nullptr;
  double (*of_result)(const PricedPlan&) = nullptr;
  bool of_run = false;  // of a result, which takes a number of tokens to train on
};

TrainingRun run_of(const PricedPlan& priced) {
  const PlanNumbers& numbers = priced.numbers;
  return run_of(priced.site, priced.training, numbers.step, numbers.power).value();
}

using TextsOfName = std::span<const std::string_view> (*)();
constexpr ConstraintName text_name(std::string_view name, TextsOfName texts = nullptr) {
  return {name, ConstraintName::Kind::kText, texts};
}
constexpr ConstraintName number_name(std::string_view name) { return {name}; }
constexpr ConstraintVariable result(std::string_view name, std::string_view meaning,
                                    double (*of_result)(const PricedPlan&)) {
  return {number_name(name), meaning, nullptr, nullptr, nullptr, of_result};
}
constexpr ConstraintVariable run_result(std::string_view name, std::string_view meaning,
                                        double (*of_result)(const PricedPlan&)) {
  return {number_name(name), meaning, nullptr, nullptr, nullptr, of_result, true};
}

constexpr std::array kConstraintVariables = {
    ConstraintVariable{text_name("model"), "name of the model",
                       [](const Experiment& s) { return number_of_text(s.model.name); }},
    ConstraintVariable{text_name("gpu"), "name of the GPU",
                       [](const Experiment& s) { return number_of_text(s.cluster.device.name); }},
    ConstraintVariable{text_name("software"), "name of the software set",
                       [](const Experiment& s) { return number_of_text(s.software.name); }},
    ConstraintVariable{number_name("gpus"), "GPUs of the cluster",
                       [](const Experiment& s) { return real(s.cluster.gpus()); }},
    ConstraintVariable{number_name("nodes"), "nodes",
                       [](const Experiment& s) { return real(s.cluster.nodes); }},
    ConstraintVariable{number_name("gpus_per_node"), "GPUs of a node",
                       [](const Experiment& s) { return real(s.cluster.gpus_per_node); }},
    ConstraintVariable{number_name("domain_size"), "GPUs that a scale-up fabric joins",
                       [](const Experiment& s) { return real(s.cluster.domain_size()); }},
    ConstraintVariable{number_name("layers"), "layers of the model",
                       [](const Experiment& s) { return real(s.model.layers); }},
    ConstraintVariable{number_name("hidden"), "hidden size",
                       [](const Experiment& s) { return real(s.model.hidden); }},
    ConstraintVariable{number_name("heads"), "attention heads, the most of a layer",
                       [](const Experiment& s) { return real(s.model.attention.heads.most()); }},
    ConstraintVariable{number_name("kv_heads"), "key/value heads, the most of a layer",
                       [](const Experiment& s) { return real(s.model.attention.kv_heads.most()); }},
    ConstraintVariable{
        number_name("experts"), "routed experts of a layer; 0: dense",
        [](const Experiment& s) { return real(s.model.moe ? s.model.moe->experts : 0); }},
    ConstraintVariable{number_name("vocabulary"), "entries of the vocabulary",
                       [](const Experiment& s) { return real(s.model.vocabulary); }},
    ConstraintVariable{
        number_name("sequence_length"), "tokens of a sequence", nullptr,
        [](const PlanRequest&, const TrainingRecipe& t) { return real(t.sequence_length); }},
    ConstraintVariable{
        number_name("mbs"), "micro_batch_size", nullptr,
        [](const PlanRequest&, const TrainingRecipe& t) { return real(t.micro_batch_size); }},
    ConstraintVariable{
        number_name("micro_batch_size"), "the same", nullptr,
        [](const PlanRequest&, const TrainingRecipe& t) { return real(t.micro_batch_size); }},
    ConstraintVariable{
        number_name("gbs"), "global_batch_size", nullptr,
        [](const PlanRequest&, const TrainingRecipe& t) { return real(t.global_batch_size); }},
    ConstraintVariable{
        number_name("global_batch_size"), "the same", nullptr,
        [](const PlanRequest&, const TrainingRecipe& t) { return real(t.global_batch_size); }},
    ConstraintVariable{
        text_name("dtype", training_dtype_names), "number format", nullptr,
        [](const PlanRequest&, const TrainingRecipe& t) { return number_of_text(name(t.dtype)); }},
    ConstraintVariable{text_name("recompute", names_of<RecomputeKind>), "kind of recomputation",
                       nullptr,
                       [](const PlanRequest&, const TrainingRecipe& t) {
                         return number_of_text(name(t.recompute.kind));
                       }},
    ConstraintVariable{
        number_name("recompute_layers"), "with recompute: full", nullptr,
        [](const PlanRequest&, const TrainingRecipe& t) { return recomputed_layers(t); }},
    ConstraintVariable{number_name("tp"), "tensor parallelism", nullptr,
                       [](const PlanRequest& p, const TrainingRecipe&) { return real(p.tp); },
                       [](const ParallelPlan& p) { return real(p.tp); }},
    ConstraintVariable{number_name("pp"), "pipeline parallelism", nullptr,
                       [](const PlanRequest& p, const TrainingRecipe&) { return real(p.pp); },
                       [](const ParallelPlan& p) { return real(p.pp); }},
    ConstraintVariable{number_name("cp"), "context parallelism", nullptr,
                       [](const PlanRequest& p, const TrainingRecipe&) { return real(p.cp); },
                       [](const ParallelPlan& p) { return real(p.cp); }},
    ConstraintVariable{number_name("ep"), "expert parallelism", nullptr,
                       [](const PlanRequest& p, const TrainingRecipe&) { return real(p.ep); },
                       [](const ParallelPlan& p) { return real(p.ep); }},
    ConstraintVariable{number_name("vpp"), "virtual stages of a pipeline rank", nullptr, nullptr,
                       [](const ParallelPlan& p) { return real(p.vpp); }},
    ConstraintVariable{number_name("etp"), "tensor parallelism of the experts", nullptr, nullptr,
                       [](const ParallelPlan& p) { return real(p.etp); }},
    ConstraintVariable{number_name("dp"), "data parallelism", nullptr, nullptr,
                       [](const ParallelPlan& p) { return real(p.dp); }},
    ConstraintVariable{number_name("edp"), "data parallelism of the experts", nullptr, nullptr,
                       [](const ParallelPlan& p) { return real(p.edp); }},
    ConstraintVariable{number_name("fsdp"), "ranks that share the parameters", nullptr, nullptr,
                       [](const ParallelPlan& p) { return real(p.fsdp); }},
    ConstraintVariable{number_name("zero"), "ZeRO stage", nullptr, nullptr,
                       [](const ParallelPlan& p) { return real(p.zero); }},
    ConstraintVariable{number_name("sp"), "sequence_parallel", nullptr, nullptr,
                       [](const ParallelPlan& p) { return switched(p.sequence_parallel); }},
    ConstraintVariable{number_name("sequence_parallel"), "a switch", nullptr, nullptr,
                       [](const ParallelPlan& p) { return switched(p.sequence_parallel); }},
    ConstraintVariable{number_name("fsdp_reshard"), "a switch", nullptr, nullptr,
                       [](const ParallelPlan& p) { return switched(p.fsdp_reshard); }},
    ConstraintVariable{number_name("micro_batches"), "of a rank and step", nullptr, nullptr,
                       [](const ParallelPlan& p) { return real(p.micro_batches); }},
    ConstraintVariable{text_name("cp_algorithm", names_of<CpAlgorithm>), "of context parallelism",
                       nullptr, nullptr,
                       [](const ParallelPlan& p) { return number_of_text(name(p.cp_algorithm)); }},
    ConstraintVariable{number_name("cp_all_to_all"), "context-parallel ranks that exchange heads",
                       nullptr, nullptr, [](const ParallelPlan& p) { return real(p.cp_heads()); }},
    ConstraintVariable{text_name("schedule", names_of<Schedule>), "of the pipeline", nullptr,
                       nullptr,
                       [](const ParallelPlan& p) { return number_of_text(name(p.schedule)); }},
    ConstraintVariable{
        text_name("dispatcher", names_of<Dispatcher>), "of tokens", nullptr, nullptr,
        [](const ParallelPlan& p) { return number_of_text(name(p.exchange.dispatcher)); }},
    ConstraintVariable{number_name("capacity"), "memory of a GPU, bytes",
                       [](const Experiment& s) { return s.cluster.device.hbm.capacity.value(); }},
    result("peak_memory", "of the fullest pipeline rank, bytes",
           [](const PricedPlan& p) { return p.numbers.peak_memory.value(); }),
    result("step_time_s", "of a step, seconds",
           [](const PricedPlan& p) { return p.numbers.step.value(); }),
    result("tokens_per_second_per_gpu", "rate of a GPU",
           [](const PricedPlan& p) { return p.numbers.tokens_per_second_per_gpu; }),
    result("mfu", "of the peak rate, 0 to 1", [](const PricedPlan& p) { return p.numbers.mfu; }),
    result("power_w", "mean, of a GPU, W",
           [](const PricedPlan& p) { return p.numbers.power.value(); }),
    run_result("days", "of the run", [](const PricedPlan& p) { return run_of(p).days(); }),
    run_result("gpu_hours", "of the run",
               [](const PricedPlan& p) { return run_of(p).gpu_hours(); }),
    run_result("energy_kwh", "of the run",
               [](const PricedPlan& p) { return run_of(p).kilowatt_hours(); }),
};

constexpr auto kConstraintNames = [] {
  std::array<ConstraintName, kConstraintVariables.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = kConstraintVariables[i].name;
  }
  return names;
}();

bool known_before_plan(const ConstraintVariable& variable) {
  return variable.of_site != nullptr || variable.of_request != nullptr;
}

ConstraintScope scope_of(const ConstraintExpression& parsed) {
  ConstraintScope scope = ConstraintScope::kRequest;
  for (const std::size_t place : parsed.reads) {
    const ConstraintVariable& variable = kConstraintVariables[place];
    scope = std::max(scope, variable.of_result != nullptr ? ConstraintScope::kResult
                            : known_before_plan(variable) ? ConstraintScope::kRequest
                                                          : ConstraintScope::kSettledPlan);
  }
  return scope;
}

void report_faults(const ConfigNode& node, const std::vector<ConstraintFault>& faults,
                   Diagnostics& diagnostics) {
  for (const ConstraintFault& fault : faults) {
    Location where = node.location();
    where.column += static_cast<int>(fault.offset) + (node.quoted ? 1 : 0);
    diagnostics.error(std::move(where), "the constraint " + fault.message);
  }
}

void read_constraint(const ConfigNode& node, std::vector<PlanConstraint>& constraints,
                     Diagnostics& diagnostics) {
  if (node.kind != ConfigNode::Kind::kScalar) {
    diagnostics.error(node.location(), "a constraint is a text; write e.g. \"tp <= 8\"");
    return;
  }
  if (node.text.size() > kLongestConstraint) {
    diagnostics.error(node.location(), "the constraint is longer than 1,000 characters; split it");
    return;
  }
  ConstraintExpression parsed = parse_constraint(node.text, kConstraintNames);
  report_faults(node, parsed.faults, diagnostics);
  if (parsed.faults.empty()) {
    const ConstraintScope scope = scope_of(parsed);
    constraints.push_back({node.text, node.location(), std::move(parsed), scope});
  }
}

}  // namespace

std::span<const ConstraintName> constraint_names() { return kConstraintNames; }

std::vector<PlanConstraint> read_constraints(const ConfigNode& list, Diagnostics& diagnostics) {
  std::vector<PlanConstraint> constraints;
  if (list.kind != ConfigNode::Kind::kSequence) {
    diagnostics.error(list.location(),
                      "'constraints' must be a list; write [\"tp <= gpus_per_node\"]");
    return constraints;
  }
  for (const ConfigNode& node : list.items) {
    read_constraint(node, constraints, diagnostics);
  }
  return constraints;
}

void check_constraints(const std::vector<PlanConstraint>& constraints,
                       const std::vector<Experiment>& sites, Diagnostics& diagnostics) {
  const bool runs = std::all_of(sites.begin(), sites.end(),
                                [](const Experiment& site) { return site.run.has_value(); });
  for (const PlanConstraint& constraint : constraints) {
    const std::vector<std::size_t>& reads = constraint.expression.reads;
    const auto needs = std::find_if(reads.begin(), reads.end(), [](std::size_t place) {
      return kConstraintVariables[place].of_run;
    });
    if (!runs && needs != reads.end()) {
      diagnostics.error(constraint.where,
                        "the constraint reads '" +
                            std::string(kConstraintVariables[*needs].name.name) +
                            "' of a run whose length is not known; add training.tokens: 15T");
    }
  }
}

ConstraintCheck::ConstraintCheck(const std::vector<PlanConstraint>& constraints)
    : constraints_(&constraints), values_(kConstraintVariables.size(), 0.0) {
  std::set<std::size_t> reads;
  for (const PlanConstraint& constraint : constraints) {
    reads.insert(constraint.expression.reads.begin(), constraint.expression.reads.end());
  }
  reads_.assign(reads.begin(), reads.end());
}

void ConstraintCheck::set_site(const Experiment& site) {
  for (const std::size_t place : reads_) {
    if (const auto of_site = kConstraintVariables[place].of_site) {
      values_[place] = of_site(site);
    }
  }
}

void ConstraintCheck::set_request(const PlanRequest& plan, const TrainingRecipe& training) {
  for (const std::size_t place : reads_) {
    if (const auto of_request = kConstraintVariables[place].of_request) {
      values_[place] = of_request(plan, training);
    }
  }
}

void ConstraintCheck::set_plan(const ParallelPlan& plan) {
  for (const std::size_t place : reads_) {
    if (const auto of_plan = kConstraintVariables[place].of_plan) {
      values_[place] = of_plan(plan);
    }
  }
}

void ConstraintCheck::set_result(const PricedPlan& priced) {
  for (const std::size_t place : reads_) {
    if (const auto of_result = kConstraintVariables[place].of_result) {
      values_[place] = of_result(priced);
    }
  }
}

bool ConstraintCheck::has(ConstraintScope scope) const {
  return std::any_of(
      constraints_->begin(), constraints_->end(),
      [scope](const PlanConstraint& constraint) { return constraint.scope == scope; });
}

const PlanConstraint* ConstraintCheck::broken(ConstraintScope scope) const {
  for (const PlanConstraint& constraint : *constraints_) {
    if (constraint.scope != scope) {
      continue;
    }
    const double value = constraint.expression.value(values_);
    if (value == 0.0 || std::isnan(value)) {
      return &constraint;
    }
  }
  return nullptr;
}

}  // namespace stepcast
