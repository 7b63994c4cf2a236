// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/contention.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

// The share of HBM that a kernel by itself asks for.
double hbm_share(const OpCost& cost, const DeviceSpec& device) {
  const Bytes most = device.hbm.achieved * cost.duration;
  return most > Bytes{} ? std::min(1.0, cost.hbm / most) : 0.0;
}

double least_stretch(const Op& op, const BesideComputation& beside) {
  const auto* collective = std::get_if<Collective>(&op.work);
  if (collective == nullptr) {
    return beside.exchange;
  }
  switch (collective->op) {
    case CollectiveOp::kAllGather:
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kAllReduce:
      return beside.ring;
    case CollectiveOp::kAllToAll:
      return 1.0 +
             (beside.exchange - 1.0) / real(std::max<std::int64_t>(1, collective->group.size - 1));
    case CollectiveOp::kSendRecv:
      return beside.exchange;
  }
  return 1.0;
}

// Of what a rank sends or keeps of a collective.
double kept_share(const Op& op) {
  const auto* collective = std::get_if<Collective>(&op.work);
  if (collective == nullptr) {
    return 1.0 / real(std::get<ExpertExchange>(op.work).group.size);
  }
  const double n = real(collective->group.size);
  switch (collective->op) {
    case CollectiveOp::kAllReduce:
      return 1.0 / (2.0 * n - 1.0);
    case CollectiveOp::kSendRecv:
    case CollectiveOp::kBroadcast:
      return 0.0;
    default:
      return 1.0 / n;
  }
}

}  // namespace

Bytes hbm_traffic(const Collective& op) {
  const double n = real(op.group.size);
  const double kept = 2.0;  // read, written
  switch (op.op) {
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
      return (kept + 3.0 * (n - 1.0)) / n * op.bytes;
    case CollectiveOp::kAllReduce:
      return (kept + 6.0 * (n - 1.0)) / n * op.bytes;
    case CollectiveOp::kAllToAll:
      return (kept + 4.0 * (n - 1.0)) / n * op.bytes;
    case CollectiveOp::kSendRecv:
    case CollectiveOp::kBroadcast:
      return 3.0 * op.bytes;
  }
  return {};
}

KernelDemand kernel_demand(const OpCost& cost, Hertz clock, const DeviceSpec& device) {
  const BesideComputation& beside = device.collectives.beside;
  KernelDemand demand;
  if (clock > Hertz{} && clock < device.clock.peak) {
    demand.slower = device.clock.peak / clock - 1.0;
  }
  const double asked = hbm_share(cost, device);
  demand.queue = asked < 1.0 ? std::min(1.0, beside.hbm_queue * asked / (1.0 - asked)) : 1.0;
  return demand;
}

CommunicationStretch stretch_beside_computation(const Op& op, const OpCost& cost,
                                                const DeviceSpec& device) {
  const BesideComputation& beside = device.collectives.beside;
  const double least = least_stretch(op, beside);
  return {least, std::max(least, hbm_share(cost, device) / beside.hbm_share),
          beside.own_at_clock * kept_share(op)};
}

CommunicationLoad CommunicationLoad::combined(const CommunicationLoad& other) const {
  return {std::max(units, other.units),
          max(hbm, other.hbm),
          {std::max(stretch.least, other.stretch.least), std::max(stretch.most, other.stretch.most),
           std::max(stretch.clock_share, other.stretch.clock_share)}};
}

CommunicationLoad communication_load(const Op& op, const OpCost& cost, const DeviceSpec& device) {
  if (!communication_axis(op) || !(cost.duration > Seconds{})) {
    return {};
  }
  return {cost.units, cost.hbm / cost.duration, stretch_beside_computation(op, cost, device)};
}

KernelContext on_units_left(KernelContext kernel, std::int64_t held_units) {
  kernel.compute_units = std::max<std::int64_t>(1, kernel.compute_units - held_units);
  return kernel;
}

Seconds contended_duration(const OpCost& isolated, Seconds on_units_left,
                           const CommunicationLoad& load, const KernelDemand& demand,
                           const DeviceSpec& device) {
  const Seconds on_units = max(isolated.duration, on_units_left);
  if (!(load.hbm > BytesPerSecond{})) {
    return on_units;
  }
  const double asked_besides = load.hbm / (load.stretch.beside(demand) * device.hbm.achieved);
  const Seconds for_hbm = hbm_share(isolated, device) * asked_besides * isolated.duration;
  return on_units + for_hbm;
}

}  // namespace stepcast
