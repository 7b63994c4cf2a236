// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/collective_constants.hpp"

#include "stepcast/hardware/share_range.hpp"

namespace stepcast {
namespace {

BytesPerSecond read_rate(SourcedReader& reader, std::string_view key) {
  const auto rate = reader.quantity<BytesPerSecond>(key);
  if (reader.has(key) && !(rate.value() > 0.0)) {
    reader.reader().error(key, "must be greater than 0");
  }
  return rate;
}

ProtocolTuning read_tuning(SourcedReader reader) {
  ProtocolTuning tuning;
  tuning.base = reader.quantity<Seconds>("base");
  tuning.hop = reader.quantity<Seconds>("hop");
  tuning.rate = read_rate(reader, "rate");
  reader.finish();
  return tuning;
}

std::optional<TuningConstants> read_tunings(SourcedReader& reader) {
  std::optional<SourcedReader> part = reader.optional_mapping("tuning");
  if (!part) {
    return std::nullopt;
  }
  TuningConstants tuning;
  tuning.ll = read_tuning(part->mapping("ll"));
  if (auto ll128 = part->optional_mapping("ll128")) {
    tuning.ll128 = read_tuning(*ll128);
  }
  tuning.simple = read_tuning(part->mapping("simple"));
  if (auto in_switch = part->optional_mapping("in_switch")) {
    tuning.in_switch = read_tuning(*in_switch);
  }
  part->finish();
  return tuning;
}

ProtocolConstants read_protocol(SourcedReader& reader) {
  ProtocolConstants protocol;
  protocol.base = reader.quantity<Seconds>("base");
  protocol.hop = reader.quantity<Seconds>("hop");
  protocol.network_hop = reader.quantity<Seconds>("network_hop");
  return protocol;
}

void read_protocols(SourcedReader& reader, CollectiveConstants& constants) {
  SourcedReader ll = reader.mapping("ll");
  constants.ll = read_protocol(ll);
  constants.ll_rate = read_rate(ll, "rate");
  ll.finish();
  SourcedReader ll128 = reader.mapping("ll128");
  constants.ll128 = read_protocol(ll128);
  constants.ll128_share = ll128.number("share", kShare);
  ll128.finish();
  SourcedReader simple = reader.mapping("simple");
  constants.simple = read_protocol(simple);
  constants.ring_share = simple.number("ring_share", kShare);
  constants.tree_share = simple.number("tree_share", kShare);
  constants.own_rate = read_rate(simple, "own_rate");
  simple.finish();
}

std::optional<InSwitchConstants> read_in_switch(SourcedReader& reader) {
  std::optional<SourcedReader> part = reader.optional_mapping("in_switch");
  if (!part) {
    return std::nullopt;
  }
  InSwitchConstants constants;
  constants.least_ranks = part->count("least_ranks");
  constants.base = part->quantity<Seconds>("base");
  constants.share = part->number("share", kShare);
  constants.ramp = part->quantity<Seconds>("ramp");
  constants.ramp_bytes = part->quantity<Bytes>("ramp_bytes");
  if (part->has("ramp_bytes") && !(constants.ramp_bytes > Bytes{})) {
    part->reader().error("ramp_bytes", "must be greater than 0");
  }
  part->finish();
  return constants;
}

MessageConstants read_message(SourcedReader reader) {
  MessageConstants message;
  message.ll_bytes = reader.quantity<Bytes>("ll_bytes");
  message.base = reader.quantity<Seconds>("base");
  message.share = reader.number("share", kShare);
  message.own_rate = read_rate(reader, "own_rate");
  message.ramp = reader.quantity<Seconds>("ramp");
  message.ramp_transfer = reader.quantity<Seconds>("ramp_transfer");
  if (reader.has("ramp_transfer") && !(message.ramp_transfer > Seconds{})) {
    reader.reader().error("ramp_transfer", "must be greater than 0");
  }
  message.network_share = reader.number("network_share", kShare);
  message.issue = reader.quantity<Seconds>("issue");
  message.connection_miss = reader.quantity<Seconds>("connection_miss");
  message.connections = reader.count("connections");
  message.host_call = reader.quantity<Seconds>("host_call");
  message.host_peer = reader.quantity<Seconds>("host_peer");
  reader.finish();
  return message;
}

BesideComputation read_beside(SourcedReader reader) {
  constexpr Range<double> kSlowdown{1.0, 10.0};
  BesideComputation beside;
  beside.gather = reader.number("gather", kSlowdown);
  beside.reduce = reader.number("reduce", kSlowdown);
  beside.exchange = reader.number("exchange", kSlowdown);
  reader.finish();
  return beside;
}

}  // namespace

CollectiveConstants read_collective_constants(const ConfigNode& root, SourceTable& sources,
                                              std::vector<Provenance>& provenance,
                                              Diagnostics& diagnostics) {
  MappingReader top(root, "", diagnostics);
  sources.merge(read_sources(top, "sources"));
  SourcedReader reader(std::move(top), sources, provenance);
  CollectiveConstants constants;
  constants.tuning = read_tunings(reader);
  read_protocols(reader, constants);
  constants.in_switch = read_in_switch(reader);
  constants.all_reduce_floor = reader.quantity<Bytes>("all_reduce_floor");
  constants.message = read_message(reader.mapping("message"));
  constants.host_call = reader.quantity<Seconds>("host_call");
  constants.beside = read_beside(reader.mapping("beside_computation"));
  reader.finish();
  return constants;
}

}  // namespace stepcast
