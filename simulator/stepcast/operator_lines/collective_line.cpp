// SPDX-License-Identifier: Apache-2.0
// A collective of a file, and what it takes where a host launches one after the other.
#include "stepcast/base/real.hpp"

#include <array>

#include "stepcast/config/enum_fields.hpp"
#include "stepcast/model/collective_algorithm.hpp"
#include "stepcast/operator_lines/work_line.hpp"

namespace stepcast {
namespace {

constexpr Range<std::int64_t> kGroupSize{1, std::int64_t{1} << 20};
constexpr Range<std::int64_t> kTensorBytes{1, std::int64_t{1} << 50};

constexpr std::array kAlgorithmAliases = {
    NamedValue<CollectiveAlgorithm>{"single_shot", CollectiveAlgorithm::kDirect},
    NamedValue<CollectiveAlgorithm>{"nvls", CollectiveAlgorithm::kInSwitch}};

bool reduces_in_switch(const DeviceSpec& device) {
  return device.collectives.in_switch && device.scale_up.topology == ScaleUpTopology::kSwitch;
}

void check_algorithm(MappingReader& fields, const Collective& op, const DeviceSpec& device) {
  if (!has_algorithm(op.op, op.algorithm)) {
    fields.error("algorithm", "is " + std::string(name(op.algorithm)) + ", which " +
                                  std::string(name(op.op)) + " has not; it has auto, " +
                                  algorithm_names(op.op));
  } else if (op.algorithm == CollectiveAlgorithm::kInSwitch && !reduces_in_switch(device)) {
    fields.error("algorithm", "is in_switch, but the fabric of " + device.name +
                                  " does not reduce in its switches; leave it auto");
  }
  const bool has_protocols = op.algorithm == CollectiveAlgorithm::kRing ||
                             op.algorithm == CollectiveAlgorithm::kTree ||
                             (op.algorithm == CollectiveAlgorithm::kAuto &&
                              has_algorithm(op.op, CollectiveAlgorithm::kRing));
  if (op.protocol != Protocol::kAuto && op.protocol != Protocol::kSimple && !has_protocols) {
    fields.error("protocol", "is " + std::string(name(op.protocol)) +
                                 ", which rings and trees alone run; leave it auto");
  }
}

// How long the host takes for one call when it launches call after call.
Seconds host_call(const Collective& op, const HostSpec& host) {
  const bool transfers = op.op == CollectiveOp::kSendRecv;
  return transfers && host.message > Seconds{} ? host.message : host.collective;
}

}  // namespace

Op read_collective(MappingReader& fields, Dtype /*dtype*/, const DeviceSpec& device) {
  constexpr Range<double> kImbalance{1.0, 1e6};
  static const auto kAlgorithms =
      with_aliases(named_values<CollectiveAlgorithm>(), kAlgorithmAliases);
  Collective op;
  op.op = fields.required_choice<CollectiveOp>("op", enum_names<CollectiveOp>());
  op.bytes = Bytes(real(fields.required_count("bytes", kTensorBytes)));
  op.group.size = fields.required_count("ranks", kGroupSize);
  op.group.stride = fields.optional_count("stride", 1, kGroupSize);
  op.algorithm = fields.optional_choice<CollectiveAlgorithm>("algorithm", kAlgorithms,
                                                             CollectiveAlgorithm::kAuto);
  op.protocol =
      fields.optional_choice<Protocol>("protocol", enum_names<Protocol>(), Protocol::kAuto);
  op.imbalance = fields.optional_number("imbalance", 1.0, kImbalance);
  if (fields.good({"op", "algorithm", "protocol"})) {
    check_algorithm(fields, op, device);
  }
  if (fields.good({"op", "imbalance"}) && op.imbalance > 1.0 && op.op != CollectiveOp::kAllToAll) {
    fields.error("imbalance", "is of an all_to_all alone; every rank of " +
                                  std::string(name(op.op)) + " has as many bytes, so leave it out");
  }
  return {.work = op};
}

void wait_for_host(const Collective& op, const ClusterSpec& machine, Detail detail,
                   PricedOp& priced) {
  OpCost& cost = priced.cost;
  const Seconds host = host_call(op, machine.host);
  const Seconds duration = max(host, cost.duration + machine.device.launch_latency);
  if (detail == Detail::kTerms) {
    cost.terms.push_back({"host", duration - cost.duration});
  }
  priced.waits_for_host = host >= duration;
  cost.bound = priced.waits_for_host ? Bound::kLatency : cost.bound;
  cost.duration = duration;
}

}  // namespace stepcast
