// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/project.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/units_text.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/experiment/goodput.hpp"
#include "stepcast/experiment/plan_projector.hpp"
#include "stepcast/experiment/projection_notes.hpp"
#include "stepcast/experiment/settled_input.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/layer/exchange_shape.hpp"
#include "stepcast/layer/recompute_choice.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/model/parameter_inventory.hpp"
#include "stepcast/model/routing.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

Projection described(const Experiment& experiment) {
  Projection p;
  const ParameterCounts counts = count_parameters(experiment.model);
  p.model = experiment.model.name;
  p.gpu = experiment.cluster.device.name;
  p.model_title = experiment.model.title;
  p.gpu_title = experiment.cluster.device.title;
  p.gpu_standing = experiment.cluster.device.standing;
  p.cluster = experiment.cluster.name;
  p.software = experiment.software.name;
  p.nodes = experiment.cluster.nodes;
  p.gpus = experiment.cluster.gpus();
  p.training = experiment.training;
  p.backends = experiment.backends;
  p.parameters = static_cast<double>(counts.total);
  p.active_parameters = static_cast<double>(counts.active);
  p.memory_capacity = experiment.cluster.device.hbm.capacity;
  p.memory_sure = experiment.cluster.device.hbm.sure;
  p.clock_locked = experiment.locked_clock.has_value();
  return p;
}

void rate(Projection& p, const StepRates& rates) {
  p.tokens_per_second_per_gpu = rates.tokens_per_second_per_gpu;
  p.flops_per_token = rates.flops_per_token;
  p.model_rate_per_gpu = rates.model_rate_per_gpu;
  p.peak_rate = rates.peak_rate;
  p.mfu = rates.mfu;
}

// Of a token, without the pairs of positions that attention's mask or the documents hide.
Flops masked_flops(const Experiment& experiment) {
  const TrainingRecipe& training = experiment.training;
  return masked_flops_per_token(
      experiment.model, training.sequence_length,
      experiment.software.keeps_documents_apart() ? training.documents : Documents{},
      training.weights);
}

std::string kind_text(const ModelSpec& model, LayerKind kind) {
  std::string text = kind.moe ? "MoE layer" : "dense layer";
  if (kind.mixer == Mixer::kNone) {
    text += " without a mixer";
  } else if (kind.mixer != Mixer::kAttention) {
    text += " of " + std::string(name(kind.mixer));
  }
  text += kind.window > 0 ? " with a window" : "";
  if (kind.compression > 0) {
    text += ", keys of " + std::to_string(kind.compression) + " positions";
  }
  const AttentionHeads heads = heads_of(model, kind);
  if (heads.query > 0 && attention_heads(model).size() > 1) {
    text += ", heads " + std::to_string(heads.query) + "/" + std::to_string(heads.kv);
  }
  if (!model.mlp.ffn_hidden.uniform() && !kind.moe) {
    text += ", ffn " + std::to_string(ffn_hidden_of(model, kind));
  }
  if (kind.kept_residuals > 0) {
    text += ", " + std::to_string(kind.kept_residuals) + " residuals kept before";
  }
  return text;
}

// One of each kind that the model has, in the order of its layers.
std::vector<SavedLayer> saved_layers(const ExpansionContext& context) {
  std::vector<SavedLayer> layers;
  std::vector<LayerKind> known;
  for (std::size_t stage = 0; stage < context.plan.stages.size(); ++stage) {
    const std::vector<std::int64_t> recomputed = recomputed_layers(context, stage);
    const std::vector<KindCount> kinds =
        stage_kinds(context.model, context.training.weights, context.plan, stage);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const LayerKind kind = kinds[i].kind;
      const auto at = std::ranges::find(known, kind) - known.begin();
      if (at == std::ssize(known)) {
        known.push_back(kind);
        layers.push_back({kind_text(context.model, kind), false, saved_tensors(context, kind)});
      }
      SavedLayer& layer = layers[static_cast<std::size_t>(at)];
      layer.recomputed = layer.recomputed || recomputed[i] > 0;
    }
  }
  return layers;
}

std::string power_reason(const Projection& p, Watts limit) {
  return (p.clock_locked ? "locked at " : "at its lowest clock of ") +
         whole_number(p.clock.value() / 1e6) + " MHz a GPU draws " + whole_number(p.power.value()) +
         " W, more than the limit of " + format_quantity(limit) +
         ": the part could not keep this " + (p.clock_locked ? "clock" : "limit");
}

void take_step(Projection& p, const StepAtClock& timed, const DeviceSpec& device) {
  p.clock = timed.clock;
  p.power = timed.power;
  p.time = timed.time;
  p.priced = true;
  p.keeps_power_limit = timed.keeps_limit;
  if (!timed.keeps_limit) {
    p.reasons.push_back(power_reason(p, device.power.limit));
  }
  if (!p.clock_locked) {
    p.own_clocks = power_level(device, 1, p.clock) > Watts{};
    p.clock_of_bursts = p.clock < device.clock.peak &&
                        held_by_bursts(device, p.time.breakdown.busy() / p.time.step);
  }
}

// Experts that share the load evenly have nothing to report.
std::optional<ExpertLoad> uneven_load(const ExpansionContext& context) {
  if (!context.model.moe) {
    return std::nullopt;
  }
  const MoeSpec& moe = *context.model.moe;
  const ExchangeSpec& spec = context.plan.exchange;
  ExpertLoad load = expert_load(routing_of(spec, moe),
                                {moe.experts, moe.experts_per_token, context.sequence_tokens()},
                                context.plan.ep, spec.capacity_factor.value_or(0.0));
  load.fullest_rank = exchange_shape(context).imbalance;
  constexpr double kVisibleShare = 1e-3;
  const bool uneven = load.fullest_expert > 1.0 + kVisibleShare || load.kept < 1.0 - kVisibleShare;
  return uneven ? std::optional(load) : std::nullopt;
}

// Beside what the plan would do with a uniform routing, which needs no copies of experts.
UnevenExperts beside_balanced(const ExpertLoad& load, const Projection& p, Experiment experiment,
                              const CostModel& cost) {
  ParallelPlan balanced = p.plan;
  balanced.exchange.routing = Routing{};
  balanced.exchange.redundant_experts = 0;
  experiment.software.exchange = balanced.exchange;
  PlanProjector projector(experiment, cost);
  projector.take(balanced, experiment.training);
  const Seconds step = projector.step().time.step;
  return {load, projector.rates(step).tokens_per_second_per_gpu,
          max(Seconds{}, p.time.step - step)};
}

Bytes part_of(const StageMemory& memory, MemoryPart part) {
  switch (part) {
    case MemoryPart::kParameters:
      return memory.parameters;
    case MemoryPart::kOptimizer:
      return memory.optimizer;
    case MemoryPart::kActivations:
      return memory.activations;
    case MemoryPart::kLoss:
      return memory.loss;
    case MemoryPart::kWorkspace:
      return memory.workspace;
  }
  return {};
}

void add_uncounted_savings(const Experiment& experiment, Projection& p) {
  const StageMemory* const fullest = p.fullest_stage();
  for (const UncarriedSaving& saving : experiment.uncarried_savings) {
    p.uncounted_savings.push_back(
        {saving, fullest == nullptr ? Bytes{} : part_of(*fullest, saving.of)});
  }
}

}  // namespace

std::optional<TrainingRun> run_of(const Experiment& experiment, const TrainingRecipe& training,
                                  Seconds step, Watts power) {
  if (!experiment.run) {
    return std::nullopt;
  }
  const std::int64_t tokens = training.sequence_length * training.global_batch_size;
  const ClusterSpec& cluster = experiment.cluster;
  return training_run(*experiment.run, {step, tokens, cluster.gpus(), cluster.nodes, power});
}

Projection without_plan(const Experiment& experiment, std::vector<std::string> reasons) {
  Projection p = described(experiment);
  p.input = settled_input(experiment, p.plan);
  p.reasons = std::move(reasons);
  return p;
}

Projection settled(const Experiment& experiment) {
  Projection p = described(experiment);
  ResolvedPlan resolved = settle_plan(experiment.plan, experiment.model, experiment.training,
                                      experiment.cluster, experiment.software);
  p.plan = std::move(resolved.plan);
  p.input = settled_input(experiment, p.plan);
  p.notes = std::move(resolved.notes);
  note_assumptions(p, experiment);
  for (const Reason& reason : resolved.reasons) {
    p.reasons.push_back(reason.text());
  }
  return p;
}

Projection project(const Experiment& experiment, const CostModel& cost) {
  Projection p = settled(experiment);
  if (!p.reasons.empty()) {
    return p;
  }
  const ExpansionContext expansion{experiment.model, p.plan, experiment.training,
                                   experiment.software};
  PlanProjector projector(experiment, cost);
  projector.take(p.plan, p.training);
  p.memory = projector.memory();
  add_uncounted_savings(experiment, p);
  p.saved = saved_layers(expansion);
  p.reasons = memory_reasons(p.memory, experiment.cluster.device);
  const StepAtClock timed = projector.step();
  take_step(p, timed, experiment.cluster.device);
  p.capture_blockers = capture_blockers(experiment.model, p.plan, experiment.software);
  note_what_ran(p, experiment, {expansion, experiment.cluster, projector.paced(), p.clock});
  rate(p, projector.rates(p.time.step));
  p.masked_mfu = p.mfu * (masked_flops(experiment) / p.flops_per_token);
  p.run = run_of(experiment, p.training, p.time.step, p.power);
  if (const std::optional<ExpertLoad> load = uneven_load(expansion)) {
    p.uneven_experts = beside_balanced(*load, p, experiment, cost);
  }
  return p;
}

}  // namespace stepcast
