// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/lone_layer_study.hpp"

#include <algorithm>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/dispatchers/expert_traffic.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/layer/expert_expansion.hpp"
#include "stepcast/schedule/lone_layer.hpp"

namespace stepcast {
namespace {

const std::vector<Block> kMoeBlocks = {Block::kRouter, Block::kRoutedExperts};

// The first layer with or without experts.
std::optional<std::int64_t> first_layer(const ModelSpec& model, bool moe) {
  for (std::int64_t i = 0; i < model.layers; ++i) {
    if (layer_kind(model, i).moe == moe) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> asked_layer(const ModelSpec& model, const std::string& asked) {
  if (asked == "moe" || asked == "dense") {
    return first_layer(model, asked == "moe");
  }
  if (asked.empty()) {
    return model.moe ? first_layer(model, true) : 0;
  }
  const std::optional<std::int64_t> number = parse_number<std::int64_t>(asked);
  return number && *number >= 0 && *number < model.layers ? number : std::nullopt;
}

LayerPart part_of(const LayerQuestion& question, LayerKind kind) {
  return question.part.value_or(kind.moe ? LayerPart::kExperts : LayerPart::kWhole);
}

Flops products_of(const OpList& ops) {
  return sum_over(ops,
                  [](const Op& op) { return op.block == Block::kRouter ? Flops{} : flops(op); });
}

LayerPass pass_of(const LoneTime& time, Flops work) {
  const TimeBreakdown& spent = time.pass.spent;
  return {time.pass.duration(),  time.clock, time.power, work, spent.busy(),
          spent.communication(), spent.host};
}

// What both take less what a forward takes by itself, each at its own clock. A forward by itself
// can wait longer than both do, since the host gets ahead while a longer backward runs: nothing is
// waited for in backward then, and its kernels are what is left of the time.
LayerPass backward_of(const LoneTime& both, const LoneTime& forward, Flops work) {
  LayerPass pass = pass_of(both, work);
  const LayerPass less = pass_of(forward, work);
  pass.time -= less.time;
  pass.communication = std::max(Seconds{}, pass.communication - less.communication);
  pass.host = std::max(Seconds{}, pass.host - less.host);
  pass.computation = pass.time - pass.communication - pass.host;
  return pass;
}

LayerPasses timed(const BlockOps& layer, const LoneRun& run, LayerUse use,
                  const StepContext& context) {
  LayerPasses passes;
  const LoneTime forward = forward_alone(layer, run, context);
  passes.forward = pass_of(forward, products_of(layer.forward));
  if (use == LayerUse::kTraining) {
    const LoneTime both = forward_and_backward(layer, run, context);
    passes.backward = backward_of(both, forward, products_of(layer.backward));
  }
  return passes;
}

// Nothing is kept of inference: tokens need not be gathered twice, and a dispatcher that has
// buffers for the worst case by itself does not read the rows that arrive to save memory.
ParallelPlan plan_for(LayerUse use, ParallelPlan plan) {
  if (use == LayerUse::kInference) {
    ExchangeSpec& exchange = plan.exchange;
    exchange.redispatch_in_backward = false;
    if (model_of(carried_by(exchange)).receives.usual == ReceiveBuffer::kWorstCase &&
        receive_buffer_of(exchange) == ReceiveBuffer::kDynamic) {
      exchange.receive_buffer = ReceiveBuffer::kWorstCase;
      exchange.cpu_sync = CpuSync::kNone;
    }
  }
  return plan;
}

// --- exchanges --------------------------------------------------------------------------------

void add_ways(const ExpertExchange& op, const ClusterSpec& cluster, const CostModel& cost,
              std::vector<ExchangeWay>& ways) {
  const DispatcherModel& model = model_of(op.dispatcher);
  const PhasePrimitives& possible = model.primitives(op.phase);
  std::vector<ExchangePrimitive> primitives(possible.choices.begin(), possible.choices.end());
  if (primitives.empty()) {
    primitives.push_back(possible.usual);
  }
  for (const ExchangePrimitive primitive : primitives) {
    ExpertExchange own = op;
    own.primitive = possible.choices.empty() ? op.primitive : primitive;
    ExchangeWay way;
    way.phase = op.phase;
    way.primitive = primitive;
    way.runs = possible.choices.empty() || op.primitive == primitive;
    if (!possible.choices.empty() && !model.serves(primitive, op, cluster)) {
      way.skipped = domains_spanned(op.group, cluster.domain_size()) > 1
                        ? "its peers must share a scale-up domain"
                        : "the ranks share one scale-up domain";
    } else {
      way.received = expert_traffic(own, cluster.domain_size()).wire;
      way.time = cost.collective->exchange(own, {cluster}).duration;
    }
    ways.push_back(std::move(way));
  }
}

std::vector<ExchangeWay> exchange_ways(const ExpansionContext& context, const ClusterSpec& cluster,
                                       const CostModel& cost) {
  std::vector<ExchangeWay> ways;
  const ExchangeShape shape = exchange_shape(context);
  if (shape.ranks > 1) {
    const Dtype dtype = context.plan.exchange.dispatch_dtype;
    add_ways(expert_exchange(context, shape, ExchangePhase::kDispatch, dtype), cluster, cost, ways);
    add_ways(expert_exchange(context, shape, ExchangePhase::kCombine, Dtype::kBf16), cluster, cost,
             ways);
  }
  return ways;
}

// --- one GPU ----------------------------------------------------------------------------------

// What a GPU alone runs of the layer with `tokens` tokens.
class LoneGpu {
 public:
  LoneGpu(const Experiment& experiment, const ParallelPlan& plan, std::int64_t tokens)
      : model_(experiment.model), training_(experiment.training), software_(experiment.software) {
    plan_.exchange = plan.exchange;
    plan_.exchange.routing = Routing{};  // all of its choices stay on it
    plan_.exchange.dispatch_primitive = ExchangePrimitive::kAuto;
    plan_.exchange.combine_primitive = ExchangePrimitive::kAuto;
    plan_.exchange.redispatch_in_backward = false;
    plan_.zero = plan.zero;
    plan_.fsdp_reshard = plan.fsdp_reshard;
    plan_.stages = {{.layers = 1}};
    training_.micro_batch_size = 1;
    training_.sequence_length = tokens;
    training_.global_batch_size = 1;
  }
  void hold(std::int64_t experts) {
    model_.moe->experts = experts;
    model_.moe->router.groups = 1;
    model_.moe->router.topk_groups = 1;
  }
  [[nodiscard]] ExpansionContext context() const { return {model_, plan_, training_, software_}; }

 private:
  ModelSpec model_;
  ParallelPlan plan_;
  TrainingRecipe training_;
  const SoftwareSpec& software_;
};

class StudiedLayer {
 public:
  StudiedLayer(const Experiment& experiment, const LayerQuestion& question, const CostModel& cost)
      : experiment_(experiment),
        question_(question),
        cost_(cost),
        kind_(layer_kind(experiment.model, *asked_layer(experiment.model, question.layer))),
        part_(part_of(question, kind_)) {}

  LayerStudy study() {
    study_.projection = settled(experiment_);
    Projection& p = study_.projection;
    p.priced = p.reasons.empty();
    describe();
    if (p.priced) {
      const ParallelPlan plan = plan_for(question_.use, p.plan);
      study({experiment_.model, plan, experiment_.training, experiment_.software});
      if (kind_.moe && part_ == LayerPart::kExperts && study_.ranks > 1) {
        compare();
      }
    }
    return std::move(study_);
  }

 private:
  void describe() {
    study_.layer = kind_.moe ? "MoE layer" : "dense layer";
    const bool experts = part_ == LayerPart::kExperts;
    study_.covers = experts ? "router, order of the rows, dispatch, experts, combine"
                            : "attention, feed-forward, norms and residuals";
    study_.leaves = experts
                        ? "attention, norms, residuals, shared expert; gradients and parameters "
                          "of data parallelism, optimizer"
                        : "gradients and parameters of data parallelism, optimizer, pipeline";
  }

  [[nodiscard]] LayerPasses passes(const ExpansionContext& context, std::int64_t gpus) {
    LoneRun run;
    run.locked = experiment_.locked_clock;
    run.state = question_.state;
    run.gpus = gpus;
    run.recomputed = recomputed();
    return timed(ops_of(context), run, question_.use,
                 {context, experiment_.cluster, cost_, Hertz{}});
  }

  [[nodiscard]] bool recomputed() const {
    return experiment_.training.recompute.kind == RecomputeKind::kFull &&
           question_.use == LayerUse::kTraining;
  }

  [[nodiscard]] BlockOps ops_of(const ExpansionContext& context) const {
    const bool experts = part_ == LayerPart::kExperts;
    return blocks_of(expand_layer(context, kind_), experts ? kMoeBlocks : std::vector<Block>{});
  }

  void study(const ExpansionContext& context) {
    const ParallelPlan& plan = context.plan;
    study_.tokens = context.sequence_tokens();
    study_.ranks = kind_.moe ? plan.ep * plan.etp : 1;
    study_.passes = passes(context, std::max(study_.ranks, plan.tp * plan.cp));
    if (kind_.moe) {
      study_.exchanges = exchange_ways(context, experiment_.cluster, cost_);
      study_.buffers = exchange_buffers(context);
    }
    if (question_.use == LayerUse::kTraining) {
      study_.saved = ops_of(context).kept;
    }
    study_.recomputed = recomputed();
    if (study_.recomputed) {
      std::erase_if(study_.saved,
                    [](const SavedTensor& tensor) { return tensor.id != TensorId::kLayerInput; });
    }
  }

  void compare() {
    const std::int64_t all = experiment_.model.moe->experts;
    const std::int64_t own = all / study_.projection.plan.ep;
    add_local("one GPU, a rank's tokens, all experts", study_.tokens, all);
    add_local("one GPU, a rank's tokens and experts", study_.tokens, own);
    add_local("one GPU, the tokens of all ranks", study_.ranks * study_.tokens, all);
  }

  void add_local(std::string title, std::int64_t tokens, std::int64_t experts) {
    LocalBaseline local{std::move(title), tokens, experts, {}, {}};
    const std::int64_t topk = experiment_.model.moe->experts_per_token;
    if (experts < topk) {
      local.skipped = "a token takes " + std::to_string(topk) + " experts";
    } else {
      LoneGpu gpu(experiment_, plan_for(question_.use, study_.projection.plan), tokens);
      gpu.hold(experts);
      local.passes = passes(gpu.context(), 1);
    }
    study_.local.push_back(std::move(local));
  }

  const Experiment& experiment_;
  const LayerQuestion& question_;
  const CostModel& cost_;
  LayerKind kind_;
  LayerPart part_;
  LayerStudy study_;
};

}  // namespace

std::string layer_problem(const ModelSpec& model, const LayerQuestion& question) {
  const std::optional<std::int64_t> layer = asked_layer(model, question.layer);
  const std::string has = "the model " + model.name + " has " + std::to_string(model.layers) +
                          " layers" + (model.moe ? "" : ", none of them with experts");
  if (!layer) {
    return "must be moe, dense or the number of a layer from 0; " + has +
           (question.layer == "dense" ? ", all of them with experts" : "") + "; it is '" +
           question.layer + "'";
  }
  if (!layer_kind(model, *layer).moe && question.part == LayerPart::kExperts) {
    return "has no experts; ask for --block whole; " + has;
  }
  return {};
}

LayerStudy study_layer(const Experiment& experiment, const LayerQuestion& question,
                       const CostModel& cost) {
  return StudiedLayer(experiment, question, cost).study();
}

}  // namespace stepcast
