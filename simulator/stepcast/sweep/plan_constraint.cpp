// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_constraint.hpp"

#include <muParser.h>

#include <array>
#include <cmath>
#include <stdexcept>

#include "stepcast/base/real.hpp"
#include "stepcast/sweep/constraint_text.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLongestConstraint = 1000;  // characters

constexpr std::array<std::string_view, 5> kDtypeTexts = {"bf16", "fp16", "fp8", "fp8_block", "fp4"};
std::span<const std::string_view> dtype_texts() { return kDtypeTexts; }
constexpr std::array<std::string_view, 5> kRecomputeTexts = {"none", "selective", "full",
                                                             "selective_op", "memory_budget"};
std::span<const std::string_view> recompute_texts() { return kRecomputeTexts; }

double switched(bool value) { return value ? 1.0 : 0.0; }

constexpr std::array kVariables = {
    ConstraintVariable{"model", KnownFrom::kSite, true, "name of the model"},
    ConstraintVariable{"gpu", KnownFrom::kSite, true, "name of the GPU"},
    ConstraintVariable{"software", KnownFrom::kSite, true, "name of the software set"},
    ConstraintVariable{"gpus", KnownFrom::kSite, false, "GPUs of the cluster"},
    ConstraintVariable{"nodes", KnownFrom::kSite, false, "nodes"},
    ConstraintVariable{"gpus_per_node", KnownFrom::kSite, false, "GPUs of a node"},
    ConstraintVariable{"domain_size", KnownFrom::kSite, false, "GPUs that a scale-up fabric joins"},
    ConstraintVariable{"layers", KnownFrom::kSite, false, "layers of the model"},
    ConstraintVariable{"hidden", KnownFrom::kSite, false, "hidden size"},
    ConstraintVariable{"heads", KnownFrom::kSite, false, "attention heads"},
    ConstraintVariable{"kv_heads", KnownFrom::kSite, false, "key/value heads"},
    ConstraintVariable{"experts", KnownFrom::kSite, false, "routed experts of a layer; 0: dense"},
    ConstraintVariable{"vocabulary", KnownFrom::kSite, false, "entries of the vocabulary"},
    ConstraintVariable{"sequence_length", KnownFrom::kRequest, false, "tokens of a sequence"},
    ConstraintVariable{"mbs", KnownFrom::kRequest, false, "micro_batch_size"},
    ConstraintVariable{"micro_batch_size", KnownFrom::kRequest, false, "the same"},
    ConstraintVariable{"gbs", KnownFrom::kRequest, false, "global_batch_size"},
    ConstraintVariable{"global_batch_size", KnownFrom::kRequest, false, "the same"},
    ConstraintVariable{"dtype", KnownFrom::kRequest, true, "number format", dtype_texts},
    ConstraintVariable{"recompute", KnownFrom::kRequest, true, "kind", recompute_texts},
    ConstraintVariable{"recompute_layers", KnownFrom::kRequest, false, "with recompute: full"},
    ConstraintVariable{"tp", KnownFrom::kRequest, false, "tensor parallelism"},
    ConstraintVariable{"pp", KnownFrom::kRequest, false, "pipeline parallelism"},
    ConstraintVariable{"cp", KnownFrom::kRequest, false, "context parallelism"},
    ConstraintVariable{"ep", KnownFrom::kRequest, false, "expert parallelism"},
    ConstraintVariable{"vpp", KnownFrom::kPlan, false, "virtual stages of a pipeline rank"},
    ConstraintVariable{"etp", KnownFrom::kPlan, false, "tensor parallelism of the experts"},
    ConstraintVariable{"dp", KnownFrom::kPlan, false, "data parallelism"},
    ConstraintVariable{"edp", KnownFrom::kPlan, false, "data parallelism of the experts"},
    ConstraintVariable{"fsdp", KnownFrom::kPlan, false, "ranks that share the parameters"},
    ConstraintVariable{"zero", KnownFrom::kPlan, false, "ZeRO stage"},
    ConstraintVariable{"sp", KnownFrom::kPlan, false, "sequence_parallel"},
    ConstraintVariable{"sequence_parallel", KnownFrom::kPlan, false, "a switch"},
    ConstraintVariable{"fsdp_reshard", KnownFrom::kPlan, false, "a switch"},
    ConstraintVariable{"micro_batches", KnownFrom::kPlan, false, "of a rank and step"},
    ConstraintVariable{"schedule", KnownFrom::kPlan, true, "of the pipeline", names_of<Schedule>},
    ConstraintVariable{"dispatcher", KnownFrom::kPlan, true, "of tokens", names_of<Dispatcher>},
};

// The place of a variable; a constant, so that a name that is none does not compile.
consteval std::size_t place(std::string_view name) {
  for (std::size_t i = 0; i < kVariables.size(); ++i) {
    if (kVariables[i].name == name) {
      return i;
    }
  }
  throw std::logic_error("no such variable");
}

using Values = std::array<double, kVariables.size()>;

double remainder_of(double a, double b) { return std::fmod(a, b); }
double not_of(double a) { return a == 0.0 ? 1.0 : 0.0; }
double rounded(double a) { return std::round(a); }

std::unique_ptr<mu::Parser> parser_of(const PlanConstraint& constraint, Values& values) {
  auto parser = std::make_unique<mu::Parser>();
  parser->DefineOprt("%", remainder_of, mu::prMUL_DIV, mu::oaLEFT);
  // `not` binds less than comparisons: not tp == 8.
  parser->DefineInfixOprt("!", not_of, mu::prLOGIC);
  parser->DefineFun("round", rounded);
  for (std::size_t i = 0; i < kVariables.size(); ++i) {
    parser->DefineVar(std::string(kVariables[i].name), &values[i]);
  }
  parser->SetExpr(constraint.expression);
  return parser;
}

// The fault that the parser finds, if it finds one.
std::vector<ConstraintFault> parser_faults(const PlanConstraint& constraint,
                                           const TranslatedConstraint& translated,
                                           std::size_t end) {
  Values values{};
  try {
    const std::unique_ptr<mu::Parser> parser = parser_of(constraint, values);
    parser->Eval();
    if (parser->GetNumResults() != 1) {
      return {{0, "has more than one value; give each constraint an entry of its own"}};
    }
    return {};
  } catch (const mu::Parser::exception_type& error) {
    const auto position = static_cast<std::size_t>(std::max(error.GetPos(), 0));
    const bool inside = position < translated.offsets.size();
    return {{inside ? translated.offsets[position] : end,
             inside ? "makes no sense from here; write e.g. tp <= gpus_per_node"
                    : "ends too early; write e.g. tp <= gpus_per_node"}};
  }
}

void report(const ConfigNode& node, const std::vector<ConstraintFault>& faults,
            Diagnostics& diagnostics) {
  for (const ConstraintFault& fault : faults) {
    Location where = node.location();
    where.column += static_cast<int>(fault.offset) + (node.quoted ? 1 : 0);
    diagnostics.error(std::move(where), "the constraint " + fault.message);
  }
}

void read_one(const ConfigNode& node, std::vector<PlanConstraint>& constraints,
              Diagnostics& diagnostics) {
  if (node.kind != ConfigNode::Kind::kScalar) {
    diagnostics.error(node.location(), "a constraint is a text; write e.g. \"tp <= 8\"");
    return;
  }
  if (node.text.size() > kLongestConstraint) {
    diagnostics.error(node.location(), "the constraint is longer than 1,000 characters; split it");
    return;
  }
  TranslatedConstraint translated = translate_constraint(node.text);
  PlanConstraint constraint{node.text, translated.expression, translated.needs_plan};
  if (translated.faults.empty()) {
    translated.faults = parser_faults(constraint, translated, node.text.size());
  }
  report(node, translated.faults, diagnostics);
  if (translated.faults.empty()) {
    constraints.push_back(std::move(constraint));
  }
}

}  // namespace

std::span<const ConstraintVariable> constraint_variables() { return kVariables; }

std::vector<PlanConstraint> read_constraints(const ConfigNode& list, Diagnostics& diagnostics) {
  std::vector<PlanConstraint> constraints;
  if (list.kind != ConfigNode::Kind::kSequence) {
    diagnostics.error(list.location(),
                      "'constraints' must be a list; write [\"tp <= gpus_per_node\"]");
    return constraints;
  }
  for (const ConfigNode& node : list.items) {
    read_one(node, constraints, diagnostics);
  }
  return constraints;
}

struct ConstraintCheck::Parsers {
  struct Entry {
    const PlanConstraint* constraint = nullptr;
    std::unique_ptr<mu::Parser> parser;
  };
  Values values{};
  std::vector<Entry> entries;
};

ConstraintCheck::ConstraintCheck(const std::vector<PlanConstraint>& constraints)
    : parsers_(std::make_unique<Parsers>()) {
  for (const PlanConstraint& constraint : constraints) {
    parsers_->entries.push_back({&constraint, parser_of(constraint, parsers_->values)});
  }
}

ConstraintCheck::~ConstraintCheck() = default;
ConstraintCheck::ConstraintCheck(ConstraintCheck&&) noexcept = default;
ConstraintCheck& ConstraintCheck::operator=(ConstraintCheck&&) noexcept = default;

bool ConstraintCheck::empty() const { return parsers_->entries.empty(); }

void ConstraintCheck::set_site(const Experiment& site) {
  Values& values = parsers_->values;
  const ModelSpec& model = site.model;
  values[place("model")] = number_of_text(model.name);
  values[place("gpu")] = number_of_text(site.cluster.device.name);
  values[place("software")] = number_of_text(site.software.name);
  values[place("gpus")] = real(site.cluster.gpus());
  values[place("nodes")] = real(site.cluster.nodes);
  values[place("gpus_per_node")] = real(site.cluster.gpus_per_node);
  values[place("domain_size")] = real(site.cluster.domain_size());
  values[place("layers")] = real(model.layers);
  values[place("hidden")] = real(model.hidden);
  values[place("heads")] = real(model.attention.heads);
  values[place("kv_heads")] = real(model.attention.kv_heads);
  values[place("experts")] = real(model.moe ? model.moe->experts : 0);
  values[place("vocabulary")] = real(model.vocabulary);
}

void ConstraintCheck::set_request(const PlanRequest& plan, const TrainingRecipe& training) {
  Values& values = parsers_->values;
  const bool full = training.recompute.kind == RecomputeKind::kFull;
  values[place("sequence_length")] = real(training.sequence_length);
  values[place("mbs")] = real(training.micro_batch_size);
  values[place("micro_batch_size")] = values[place("mbs")];
  values[place("gbs")] = real(training.global_batch_size);
  values[place("global_batch_size")] = values[place("gbs")];
  values[place("dtype")] = number_of_text(name(training.dtype));
  values[place("recompute")] = number_of_text(name(training.recompute.kind));
  values[place("recompute_layers")] = full ? real(training.recompute.layers) : 0.0;
  values[place("tp")] = real(plan.tp);
  values[place("pp")] = real(plan.pp);
  values[place("cp")] = real(plan.cp);
  values[place("ep")] = real(plan.ep);
}

void ConstraintCheck::set_plan(const ParallelPlan& plan) {
  Values& values = parsers_->values;
  values[place("tp")] = real(plan.tp);
  values[place("pp")] = real(plan.pp);
  values[place("cp")] = real(plan.cp);
  values[place("ep")] = real(plan.ep);
  values[place("vpp")] = real(plan.vpp);
  values[place("etp")] = real(plan.etp);
  values[place("dp")] = real(plan.dp);
  values[place("edp")] = real(plan.edp);
  values[place("fsdp")] = real(plan.fsdp);
  values[place("zero")] = real(plan.zero);
  values[place("sp")] = switched(plan.sequence_parallel);
  values[place("sequence_parallel")] = values[place("sp")];
  values[place("fsdp_reshard")] = switched(plan.fsdp_reshard);
  values[place("micro_batches")] = real(plan.micro_batches);
  values[place("schedule")] = number_of_text(name(plan.schedule));
  values[place("dispatcher")] = number_of_text(name(plan.exchange.dispatcher));
}

const PlanConstraint* ConstraintCheck::broken(bool needs_plan) {
  for (const Parsers::Entry& entry : parsers_->entries) {
    if (entry.constraint->needs_plan != needs_plan) {
      continue;
    }
    const double value = entry.parser->Eval();
    if (!(value != 0.0) || std::isnan(value)) {
      return entry.constraint;
    }
  }
  return nullptr;
}

}  // namespace stepcast
