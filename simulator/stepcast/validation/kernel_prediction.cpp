// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/measured_row.hpp"

#include "stepcast/cost/contention.hpp"
#include "stepcast/schedule/rank_streams.hpp"

namespace stepcast {

double KernelPrediction::of(Metric metric) const {
  switch (metric) {
    case Metric::kClock:
      return clock.value() / 1e6;
    case Metric::kPower:
      return power.value();
    case Metric::kCommunicationTime:
      return communication.value();
    case Metric::kTensorBytes:
      return experts.tensor.value();
    case Metric::kWireBytes:
      return experts.wire.value();
    case Metric::kInterconnectRate:
      return (interconnect / time).value() / 1e12;
    default:
      return time.value();
  }
}

namespace {

// Kernels one after the other while collectives run one after the other on a stream of their own.
KernelPrediction predict_beside(const MeasuredKernel& kernel, const CostModel& model,
                                const ClusterSpec& cluster) {
  const DeviceSpec& device = cluster.device;
  const Beside& beside = *kernel.beside;
  const Op collective{.work = beside.collective};
  KernelContext context{device, {}, device.compute_units, device.launch_latency};
  const PricedOp alone = price_at(kernel.work.state, kernel.work.op, model, context, cluster);
  context.clock = alone.clock;
  const OpCost moved = model.cost(collective, context, cluster);
  StreamTask computation;
  computation.duration = alone.cost.duration;
  const bool streams_memory = std::holds_alternative<MemoryBound>(kernel.work.op.work);
  computation.sharing = streams_memory ? UnitSharing::kTakesTurns : UnitSharing::kKeepsUnits;
  computation.demand = kernel_demand(alone.cost, alone.clock, device);
  const CommunicationLoad load = communication_load(collective, moved, device);
  const OpCost left = model.cost(kernel.work.op, on_units_left(context, load.units), cluster);
  computation.contended =
      contended_duration(alone.cost, left.duration, load, computation.demand, device);
  StreamTask communication;
  communication.axis = Axis::kData;
  communication.duration = moved.duration;
  communication.sharing = UnitSharing::kAwaitsUnits;
  communication.stretch = stretch_beside_computation(collective, moved, device);
  std::vector<StreamSpan> spans;
  RankStreams streams(Seconds(1.0), &spans);
  streams.post(TaskList(static_cast<std::size_t>(beside.collectives), communication));
  streams.run(TaskList(static_cast<std::size_t>(beside.kernels), computation));
  const Seconds all = streams.totals().now;
  streams.wait_for_all();
  Seconds last;
  for (const StreamSpan& span : spans) {
    last = span.axis ? max(last, span.end) : last;
  }
  return {all / beside.kernels, alone.clock, {}, last / beside.collectives, {}, {}, false};
}

}  // namespace

KernelPrediction predict(const MeasuredKernel& kernel, const CostModel& model,
                         const ClusterSpec& cluster) {
  if (kernel.beside) {
    return predict_beside(kernel, model, cluster);
  }
  const DeviceSpec& device = cluster.device;
  const auto at = [&](Hertz clock) {
    const OpCost cost = price_at_clock(kernel.work, model, cluster, clock);
    return WorkAtClock{cost.duration, cost.energy};
  };
  if (!kernel.duty) {
    const PricedOp priced = price(kernel.work, model, cluster);
    Seconds earlier;
    for (const Op& op : kernel.before) {
      OperatorLine before = kernel.work;
      before.op = op;
      earlier += price(before, model, cluster).cost.duration;
    }
    const Op run = as_run(kernel.work.op, cluster);
    return {earlier + priced.cost.duration,
            priced.clock,
            mean_power(device.power, {priced.cost.duration, priced.cost.energy}),
            {},
            expert_communication_bytes(run, cluster.domain_size()),
            interconnect_bytes(run, cluster.domain_size()),
            priced.waits_for_host};
  }
  const Hertz clock = duty_cycle_clock(device, *kernel.duty, at);
  const WorkAtClock burst = at(clock);
  const Watts dynamic = mean_power(device.power, burst) - device.power.idle;
  return {burst.duration, clock, device.power.idle + *kernel.duty * dynamic, {}, {}, {}, false};
}

}  // namespace stepcast
