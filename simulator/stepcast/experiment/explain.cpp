// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/explain.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "stepcast/base/sum.hpp"
#include "stepcast/cost/cost_model.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/dispatchers/expert_traffic.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/experiment/sensitivity.hpp"
#include "stepcast/experiment/waterfall.hpp"
#include "stepcast/schedule/step_time.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {
namespace {

// What limits an operator, in the order of Bound.
constexpr std::array<std::string_view, 7> kLimits = {
    "matrix and vector units", "HBM",         "caches", "memory inside the units", "exponentials",
    "launches and latency",    "interconnect"};

// Whether an operator's group leaves the scale-up domain.
bool leaves_domain(const Op& op, std::int64_t domain_size) {
  const auto* collective = std::get_if<Collective>(&op.work);
  const auto* exchange = std::get_if<ExpertExchange>(&op.work);
  const ProcessGroup group = collective != nullptr ? collective->group
                             : exchange != nullptr ? exchange->group
                                                   : ProcessGroup{};
  return domains_spanned(group, domain_size) > 1;
}

// Time by what limits it; a name once.
class LimitSums {
 public:
  void add(std::string_view limit, Seconds time) {
    if (time <= Seconds{}) {
      return;
    }
    const auto known = std::ranges::find(sums_, limit, &LimitedTime::limit);
    if (known == sums_.end()) {
      sums_.push_back({limit, time});
    } else {
      known->time += time;
    }
  }
  [[nodiscard]] Seconds total() const { return sum_over(sums_, &LimitedTime::time); }
  // The same in proportion, `whole` in all.
  void add_scaled(const LimitSums& parts, Seconds whole) {
    for (const LimitedTime& entry : parts.sums_) {
      add(entry.limit, (entry.time / parts.total()) * whole);
    }
  }
  std::vector<LimitedTime> take() {
    std::ranges::stable_sort(sums_, std::ranges::greater{}, &LimitedTime::time);
    return std::move(sums_);
  }

 private:
  std::vector<LimitedTime> sums_;
};

// The breakdown of the slowest rank, its computation by what bounds the operators and its exposed
// communication by the fabric that carries it, each in proportion to the time of the operators.
std::vector<LimitedTime> limits_of(const Explanation& e, std::int64_t domain_size) {
  LimitSums computation;
  std::array<LimitSums, kAxes> communication;
  for (const ExplainedOp& entry : e.operators) {
    if (const std::optional<Axis> axis = communication_axis(entry.counted.op)) {
      const bool leaves = leaves_domain(entry.counted.op, domain_size);
      communication[slot(*axis)].add(leaves ? "scale-out network" : "scale-up fabric",
                                     entry.total());
    } else if (!runs_on_gather_stream(entry.counted.op)) {
      computation.add(stepcast::entry(kLimits, entry.cost.bound), entry.total());
    }
  }
  const TimeBreakdown& time = e.projection.time.breakdown;
  LimitSums limits;
  limits.add_scaled(computation, time.compute + time.optimizer);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    limits.add_scaled(communication[axis], time.exposed[axis]);
  }
  limits.add("computation and communication sharing the GPU", time.contention);
  limits.add("pipeline bubble", time.bubble);
  limits.add("host", time.host);
  return limits.take();
}

// The path at the step's clock. The step itself is priced between two clocks of a grid
// (schedule/step_time.hpp), at most 0.3 % off, and the path is scaled to it.
std::vector<PathSegment> path_of(const StepContext& context, Seconds step) {
  std::vector<PathSegment> path = critical_path(context);
  const Seconds sum = sum_over(path, &PathSegment::time);
  for (PathSegment& segment : path) {
    segment.time = (step / sum) * segment.time;
  }
  return path;
}

}  // namespace

Explanation explain(const Experiment& experiment, const CostModel& cost) {
  Explanation result;
  result.projection = project(experiment, cost);
  const Projection& p = result.projection;
  if (!p.priced) {
    return result;
  }
  const ExpansionContext expansion{experiment.model, p.plan, experiment.training,
                                   experiment.software};
  const ClusterSpec& cluster = experiment.cluster;
  const KernelContext kernel = kernel_context({expansion, cluster, cost, p.clock}, Detail::kTerms);
  for (CountedOp& counted : operator_inventory(expansion, p.time.slowest_rank)) {
    const KernelContext own =
        p.clock_locked ? kernel : within_level(counted.op, cost, kernel, cluster);
    OpCost price = cost.cost(counted.op, own, cluster);
    const DeviceSpec& device = cluster.device;
    const Seconds bound = roofline_bound(counted.op, device, own.clock);
    const Seconds rated = matrix_bound(counted.op, device, device.clock.rated);
    const Seconds clocked = matrix_bound(counted.op, device, own.clock);
    const Op run = as_run(counted.op, cluster);
    const Bytes carried = interconnect_bytes(run, cluster.domain_size());
    const CommunicationBytes experts = expert_communication_bytes(run, cluster.domain_size());
    result.operators.push_back(
        {std::move(counted), std::move(price), bound, rated, clocked, carried, experts});
  }
  std::ranges::stable_sort(result.operators, std::ranges::greater{}, &ExplainedOp::total);
  result.waterfall = waterfall(result);
  result.limits = limits_of(result, cluster.domain_size());
  const CostModel paced = p.clock_locked ? cost : within_level(cost);
  if (can_be_placed(p.plan)) {
    result.path = path_of({expansion, cluster, paced, p.clock}, p.time.step);
  }
  result.sensitivities = sensitivities(experiment, p, cost);
  return result;
}

}  // namespace stepcast
