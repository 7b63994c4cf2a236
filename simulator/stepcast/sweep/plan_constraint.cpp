// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_constraint.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <type_traits>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/plan/plan_keys.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLongestConstraint = 1000;  // characters

// What a longer step does to a result.
enum class WithStep { kUnknown, kGrows, kFalls };

// A name with its value, each read from what is the first to have it. What of a key is asked for
// and kept is read from the request, but where the file gives no plan, and from the plan again.
struct ConstraintVariable {
  ConstraintName name{};
  double (*of_site)(const Experiment&) = nullptr;
  double (*of_result)(const PricedPlan&) = nullptr;
  bool of_run = false;  // of a result, which takes a number of tokens to train on
  WithStep with_step = WithStep::kUnknown;
  const TrainingKey* training = nullptr;
  const PlanKey* plan = nullptr;
};

double number_of(const PlanValue& value) {
  return std::visit(
      []<typename Value>(const Value& of) {
        if constexpr (std::is_arithmetic_v<Value>) {
          return static_cast<double>(of);
        } else {
          return number_of_text(of);
        }
      },
      value);
}

TrainingRun run_of(const PricedPlan& priced) {
  const PlanNumbers& numbers = priced.numbers;
  return run_of(priced.site, priced.training, numbers.step, numbers.power).value();
}

constexpr ConstraintName text_name(std::string_view name) {
  return {name, ConstraintName::Kind::kText};
}
constexpr ConstraintVariable result(std::string_view name, double (*of_result)(const PricedPlan&),
                                    WithStep with_step = WithStep::kUnknown) {
  return {{name}, nullptr, of_result, false, with_step};
}
constexpr ConstraintVariable run_result(std::string_view name,
                                        double (*of_result)(const PricedPlan&),
                                        WithStep with_step = WithStep::kUnknown) {
  return {{name}, nullptr, of_result, true, with_step};
}

// What a constraint reads of the site of a plan.
constexpr std::array kSiteVariables = {
    ConstraintVariable{text_name("model"),
                       [](const Experiment& s) { return number_of_text(s.model.name); }},
    ConstraintVariable{text_name("gpu"),
                       [](const Experiment& s) { return number_of_text(s.cluster.device.name); }},
    ConstraintVariable{text_name("software"),
                       [](const Experiment& s) { return number_of_text(s.software.name); }},
    ConstraintVariable{{"gpus"}, [](const Experiment& s) { return real(s.cluster.gpus()); }},
    ConstraintVariable{{"nodes"}, [](const Experiment& s) { return real(s.cluster.nodes); }},
    ConstraintVariable{{"gpus_per_node"},
                       [](const Experiment& s) { return real(s.cluster.gpus_per_node); }},
    // GPUs that a scale-up fabric joins.
    ConstraintVariable{{"domain_size"},
                       [](const Experiment& s) { return real(s.cluster.domain_size()); }},
    ConstraintVariable{{"layers"}, [](const Experiment& s) { return real(s.model.layers); }},
    ConstraintVariable{{"hidden"}, [](const Experiment& s) { return real(s.model.hidden); }},
    // Of heads the most of a layer.
    ConstraintVariable{{"heads"},
                       [](const Experiment& s) { return real(s.model.attention.heads.most()); }},
    ConstraintVariable{{"kv_heads"},
                       [](const Experiment& s) { return real(s.model.attention.kv_heads.most()); }},
    // Of a layer; 0: the model is dense.
    ConstraintVariable{
        {"experts"},
        [](const Experiment& s) { return real(s.model.moe ? s.model.moe->experts : 0); }},
    ConstraintVariable{{"vocabulary"},
                       [](const Experiment& s) { return real(s.model.vocabulary); }},
    // Bytes of memory of a GPU.
    ConstraintVariable{{"capacity"},
                       [](const Experiment& s) { return s.cluster.device.hbm.capacity.value(); }},
};

// What it reads of a plan's price: of the fullest pipeline rank, of a step, of a GPU, of the run.
constexpr std::array kResultVariables = {
    result("peak_memory", [](const PricedPlan& p) { return p.numbers.peak_memory.value(); }),
    result(
        "step_time_s", [](const PricedPlan& p) { return p.numbers.step.value(); },
        WithStep::kGrows),
    result(
        "tokens_per_second_per_gpu",
        [](const PricedPlan& p) { return p.numbers.tokens_per_second_per_gpu; }, WithStep::kFalls),
    result(
        "mfu", [](const PricedPlan& p) { return p.numbers.mfu; }, WithStep::kFalls),
    result("power_w", [](const PricedPlan& p) { return p.numbers.power.value(); }),
    run_result(
        "days", [](const PricedPlan& p) { return run_of(p).days(); }, WithStep::kGrows),
    run_result(
        "gpu_hours", [](const PricedPlan& p) { return run_of(p).gpu_hours(); }, WithStep::kGrows),
    run_result("energy_kwh", [](const PricedPlan& p) { return run_of(p).kilowatt_hours(); }),
};

// A key by its short name, if it has one, and by its name; a number or a text as its value is.
template <typename Key>
void add_names(const Key& key, const PlanValue& sample, ConstraintVariable variable,
               std::vector<ConstraintVariable>& variables) {
  const bool text = std::holds_alternative<std::string>(sample) ||
                    std::holds_alternative<std::string_view>(sample);
  variable.name = {key.name, text ? ConstraintName::Kind::kText : ConstraintName::Kind::kNumber,
                   key.values};
  if (!key.short_name.empty()) {
    ConstraintVariable brief = variable;
    brief.name.name = key.short_name;
    variables.push_back(brief);
  }
  variables.push_back(variable);
}

std::vector<ConstraintVariable> all_variables() {
  std::vector<ConstraintVariable> all(kSiteVariables.begin(), kSiteVariables.end());
  for (const TrainingKey& key : training_keys()) {
    if (key.value != nullptr) {
      add_names(key, key.value(TrainingRecipe{}), {.training = &key}, all);
    }
  }
  for (const std::span<const PlanKey> keys : {plan_keys(), following_plan_keys()}) {
    for (const PlanKey& key : keys) {
      if (key.settled != nullptr) {
        add_names(key, key.settled(ParallelPlan{}), {.plan = &key}, all);
      }
    }
  }
  all.insert(all.end(), kResultVariables.begin(), kResultVariables.end());
  return all;
}

const std::vector<ConstraintVariable>& constraint_variables() {
  static const std::vector<ConstraintVariable> all = all_variables();
  return all;
}

bool known_before_plan(const ConstraintVariable& variable) {
  return variable.of_site != nullptr || variable.training != nullptr ||
         (variable.plan != nullptr && variable.plan->asked != nullptr);
}

ConstraintScope scope_of(const ConstraintExpression& parsed) {
  ConstraintScope scope = ConstraintScope::kRequest;
  for (const std::size_t place : parsed.reads) {
    const ConstraintVariable& variable = constraint_variables()[place];
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
  ConstraintExpression parsed = parse_constraint(node.text, constraint_names());
  report_faults(node, parsed.faults, diagnostics);
  if (parsed.faults.empty()) {
    const ConstraintScope scope = scope_of(parsed);
    constraints.push_back({node.text, node.location(), std::move(parsed), scope});
  }
}

}  // namespace

std::span<const ConstraintName> constraint_names() {
  static const std::vector<ConstraintName> names =
      each_of(constraint_variables(), &ConstraintVariable::name);
  return names;
}

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
  const bool runs =
      std::ranges::all_of(sites, [](const Experiment& site) { return site.run.has_value(); });
  for (const PlanConstraint& constraint : constraints) {
    const std::vector<std::size_t>& reads = constraint.expression.reads;
    const auto needs = std::ranges::find_if(
        reads, [](std::size_t place) { return constraint_variables()[place].of_run; });
    if (!runs && needs != reads.end()) {
      diagnostics.error(constraint.where,
                        "the constraint reads '" +
                            std::string(constraint_variables()[*needs].name.name) +
                            "' of a run whose length is not known; add training.tokens: 15T");
    }
  }
}

ConstraintCheck::ConstraintCheck(const std::vector<PlanConstraint>& constraints)
    : constraints_(&constraints), values_(constraint_variables().size(), 0.0) {
  std::set<std::size_t> reads;
  for (const PlanConstraint& constraint : constraints) {
    reads.insert(constraint.expression.reads.begin(), constraint.expression.reads.end());
  }
  reads_.assign(reads.begin(), reads.end());
}

void ConstraintCheck::set_site(const Experiment& site) {
  for (const std::size_t place : reads_) {
    if (const auto of_site = constraint_variables()[place].of_site) {
      values_[place] = of_site(site);
    }
  }
}

void ConstraintCheck::set_request(const PlanRequest& plan, const TrainingRecipe& training) {
  for (const std::size_t place : reads_) {
    const ConstraintVariable& variable = constraint_variables()[place];
    if (variable.training != nullptr) {
      values_[place] = number_of(variable.training->value(training));
    } else if (variable.plan != nullptr && variable.plan->asked != nullptr) {
      values_[place] = number_of(variable.plan->asked(plan));
    }
  }
}

void ConstraintCheck::set_plan(const ParallelPlan& plan) {
  for (const std::size_t place : reads_) {
    if (const PlanKey* key = constraint_variables()[place].plan) {
      values_[place] = number_of(key->settled(plan));
    }
  }
}

void ConstraintCheck::set_result(const PricedPlan& priced) {
  for (const std::size_t place : reads_) {
    if (const auto of_result = constraint_variables()[place].of_result) {
      values_[place] = of_result(priced);
    }
  }
}

const PlanConstraint* ConstraintCheck::first_on_results() const {
  const auto first =
      std::ranges::find(*constraints_, ConstraintScope::kResult, &PlanConstraint::scope);
  return first == constraints_->end() ? nullptr : &*first;
}

bool ConstraintCheck::any(ConstraintScope scope) const {
  return std::ranges::find(*constraints_, scope, &PlanConstraint::scope) != constraints_->end();
}

bool ConstraintCheck::limits_step() const {
  const PlanConstraint* first = first_on_results();
  if (first == nullptr || first->expression.limit == ConstraintLimit::kNone) {
    return false;
  }
  const WithStep with_step = constraint_variables()[first->expression.reads.front()].with_step;
  return with_step == (first->expression.limit == ConstraintLimit::kAtMost ? WithStep::kGrows
                                                                           : WithStep::kFalls);
}

const PlanConstraint* ConstraintCheck::surely_broken() const {
  const PlanConstraint* first = limits_step() ? first_on_results() : nullptr;
  return first != nullptr && first->expression.value(values_) == 0.0 ? first : nullptr;
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
