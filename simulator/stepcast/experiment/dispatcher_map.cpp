// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/dispatcher_map.hpp"

#include <algorithm>

#include "stepcast/dispatchers/expert_traffic.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/layer/expert_expansion.hpp"
#include "stepcast/schedule/layer_prices.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

const std::vector<std::int64_t>& given_or(const std::vector<std::int64_t>& given,
                                          const std::vector<std::int64_t>& usual) {
  return given.empty() ? usual : given;
}

MapAxes filled(const MapAxes& axes, const MoeSpec& moe) {
  std::vector<std::int64_t> topk = {2, 8};
  if (std::ranges::find(topk, moe.experts_per_token) == topk.end()) {
    topk.push_back(moe.experts_per_token);
    std::ranges::sort(topk);
  }
  std::erase_if(topk, [&](std::int64_t choices) { return choices > moe.experts; });
  return {given_or(axes.ranks, {4, 8, 16, 32, 64}), given_or(axes.nodes, {1, 2, 8}),
          given_or(axes.topk, topk), given_or(axes.tokens, {1024, 4096, 16384})};
}

// In the order of the operators' table all that moves rows to the experts and back.
bool moves_rows(const Op& op) {
  return op.block == Block::kRoutedExperts && op.id >= OpId::kMoePermute &&
         op.id <= OpId::kMoeWeightedSum;
}

// Everything that one point depends on.
class MapSite {
 public:
  MapSite(const Experiment& experiment, const ParallelPlan& plan, const CostModel& cost,
          Hertz clock, const MapPoint& point)
      : model_(experiment.model),
        training_(experiment.training),
        software_(experiment.software),
        cluster_(experiment.cluster),
        cost_(cost),
        clock_(clock) {
    model_.moe->experts_per_token = point.topk;
    training_.micro_batch_size = 1;
    training_.sequence_length = point.tokens;
    training_.global_batch_size = point.ranks;
    const std::int64_t together = point.ranks / point.nodes;
    const bool ends_with_node = cluster_.device.scale_up.domain_size <= cluster_.gpus_per_node;
    cluster_.nodes = point.nodes;
    cluster_.gpus_per_node = together;
    if (ends_with_node) {
      cluster_.device.scale_up.domain_size = together;
    }
    request_.given = true;
    request_.ep = point.ranks;
    request_.zero = 0;
    exchange_ = plan.exchange;
    exchange_.dispatch_primitive = exchange_.combine_primitive = ExchangePrimitive::kAuto;
  }

  // The time of a dispatcher; else `reason` is why there is none.
  DispatcherTime time(Dispatcher dispatcher, std::string& reason) {
    DispatcherTime entry{dispatcher, {}};
    request_.dispatcher = exchange_.dispatcher = dispatcher;
    reason = refusal();
    if (!reason.empty()) {
      return entry;
    }
    software_.exchange = exchange_;
    const ResolvedPlan resolved = resolve_plan(request_, model_, training_, cluster_, software_);
    if (!resolved.reasons.empty()) {
      reason = resolved.reasons.front().text();
      return entry;
    }
    const ExpansionContext context{model_, resolved.plan, training_, software_};
    entry.time = around_experts(context);
    const ExchangeShape shape = exchange_shape(context);
    const auto primitive = [&](ExchangePhase phase) {
      return resolved_primitive(expert_exchange(context, shape, phase, Dtype::kBf16));
    };
    entry.dispatch = primitive(ExchangePhase::kDispatch);
    entry.combine = primitive(ExchangePhase::kCombine);
    return entry;
  }

 private:
  [[nodiscard]] std::string refusal() const {
    if (section_of(exchange_.dispatcher) == ExchangeSection::kKernels &&
        cluster_.device.exchange.name.empty()) {
      return "the GPU has no profile of exchanges";
    }
    const std::vector<ExchangeProblem> problems = exchange_problems(exchange_, model_.moe);
    return problems.empty() ? std::string()
                            : std::string(problems.front().key) + " " + problems.front().message;
  }

  [[nodiscard]] Seconds around_experts(const ExpansionContext& context) const {
    std::int64_t with_experts = 0;
    while (!layer_kind(context.model, with_experts).moe) {
      ++with_experts;
    }
    const BlockOps layer = expand_layer(context, layer_kind(context.model, with_experts));
    const KernelContext kernel = kernel_context({context, cluster_, cost_, clock_});
    Seconds sum;
    for (const OpList* ops : {&layer.forward, &layer.backward}) {
      for (const Op& op : *ops) {
        sum += moves_rows(op) ? cost_.cost(op, kernel, cluster_).duration : Seconds{};
      }
    }
    return sum;
  }

  ModelSpec model_;
  TrainingRecipe training_;
  SoftwareSpec software_;  // with the dispatcher at hand
  ClusterSpec cluster_;
  const CostModel& cost_;
  Hertz clock_;
  PlanRequest request_;
  ExchangeSpec exchange_;
};

void leave_out(Dispatcher dispatcher, const std::string& reason, std::vector<LeftOut>& list) {
  const auto known = std::ranges::find(list, dispatcher, &LeftOut::dispatcher);
  if (known == list.end()) {
    list.push_back({dispatcher, 1, reason});
  } else {
    ++known->points;
  }
}

bool is_row(const MapPoint& point, const Experiment& experiment) {
  return point.ranks % point.nodes == 0 &&
         point.ranks / point.nodes <= experiment.cluster.gpus_per_node &&
         experiment.model.moe->experts % point.ranks == 0 && point.ranks > 1;
}

std::vector<MapPoint> points_of(const MapAxes& axes, const Experiment& experiment) {
  std::vector<MapPoint> points;
  for (const std::int64_t ranks : axes.ranks) {
    for (const std::int64_t nodes : axes.nodes) {
      for (const std::int64_t topk : axes.topk) {
        for (const std::int64_t tokens : axes.tokens) {
          const MapPoint point{ranks, nodes, topk, tokens};
          if (is_row(point, experiment)) {
            points.push_back(point);
          }
        }
      }
    }
  }
  return points;
}

}  // namespace

std::string map_problem(const ModelSpec& model, const MapAxes& axes) {
  if (!model.moe) {
    return "needs experts; the model " + model.name + " has none";
  }
  for (const std::int64_t choices : axes.topk) {
    if (choices > model.moe->experts) {
      return "has " + std::to_string(choices) + " choices a token, but " + model.name + " has " +
             std::to_string(model.moe->experts) + " experts";
    }
  }
  return {};
}

DispatcherMap dispatcher_map(const Experiment& experiment, const MapAxes& axes,
                             const CostModel& cost) {
  DispatcherMap map;
  map.projection = settled(experiment);
  map.projection.priced = map.projection.reasons.empty();
  if (!map.projection.priced) {
    return map;
  }
  map.clock = experiment.locked_clock.value_or(experiment.cluster.device.clock.peak);
  for (const MapPoint& point : points_of(filled(axes, *experiment.model.moe), experiment)) {
    MapSite site(experiment, map.projection.plan, cost, map.clock, point);
    MapRow row{point, {}};
    for (std::size_t place = 0; place < kDispatchers; ++place) {
      std::string reason;
      row.times.push_back(site.time(static_cast<Dispatcher>(place), reason));
      if (!reason.empty()) {
        leave_out(static_cast<Dispatcher>(place), reason, map.left_out);
      }
    }
    map.rows.push_back(std::move(row));
  }
  return map;
}

}  // namespace stepcast
