// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/contention.hpp"

#include <algorithm>

namespace stepcast {
namespace {

// Bytes of HBM for each byte that a rank receives over the fabric: written to the library's buffer,
// read from there, and written where it belongs or added to what is read.
constexpr double kHbmPasses = 3.0;

// Bytes that a rank sends over the fabric, in units of the tensor.
double wire_share(const Collective& op) {
  const auto ranks = static_cast<double>(op.group.size);
  switch (op.op) {
    case CollectiveOp::kAllReduce:
      return 2.0 * (ranks - 1.0) / ranks;
    case CollectiveOp::kSendRecv:
    case CollectiveOp::kBroadcast:
      return 1.0;
    default:
      return (ranks - 1.0) / ranks;
  }
}

}  // namespace

CommunicationLoad CommunicationLoad::combined(const CommunicationLoad& other) const {
  return {std::max(units, other.units), max(hbm, other.hbm)};
}

CommunicationLoad communication_load(const Op& op, const OpCost& cost) {
  CommunicationLoad load;
  if (!communication_axis(op) || !(cost.duration > Seconds{})) {
    return load;
  }
  load.units = cost.units;
  if (const auto* collective = std::get_if<Collective>(&op.work)) {
    const Bytes moved = kHbmPasses * wire_share(*collective) * collective->bytes;
    load.hbm = moved / cost.duration;
  }
  return load;
}

KernelContext on_units_left(KernelContext kernel, std::int64_t held_units) {
  kernel.compute_units = std::max<std::int64_t>(1, kernel.compute_units - held_units);
  return kernel;
}

Seconds contended_duration(const OpCost& isolated, Seconds on_units_left,
                           const CommunicationLoad& load, const DeviceSpec& device) {
  Seconds contended = max(isolated.duration, on_units_left);
  if (isolated.bound == Bound::kMemory) {
    const double asked_besides = load.hbm / device.hbm.achieved;
    contended = max(contended, (1.0 + asked_besides) * isolated.duration);
  }
  return contended;
}

KernelDemand kernel_demand(const OpCost& /*cost*/, Hertz /*clock*/, const DeviceSpec& /*device*/) {
  return {};
}

namespace {

double slowdown_of(const Op& op, const BesideComputation& slowdown) {
  const auto* collective = std::get_if<Collective>(&op.work);
  if (collective == nullptr) {
    return slowdown.exchange;
  }
  switch (collective->op) {
    case CollectiveOp::kAllGather:
    case CollectiveOp::kBroadcast:
      return slowdown.gather;
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kAllReduce:
      return slowdown.reduce;
    case CollectiveOp::kAllToAll:
    case CollectiveOp::kSendRecv:
      return slowdown.exchange;
  }
  return 1.0;
}

}  // namespace

CommunicationStretch stretch_beside_computation(const Op& op, const OpCost& /*cost*/,
                                                const DeviceSpec& device) {
  const double slowdown = slowdown_of(op, device.collectives.beside);
  return {slowdown, slowdown};
}

}  // namespace stepcast
