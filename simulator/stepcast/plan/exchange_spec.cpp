// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/exchange_spec.hpp"

#include <array>
#include <utility>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/settings.hpp"
#include "stepcast/model/weighted_choice.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedValue<Dtype>, 2> kRowDtypes = {
    {{"bf16", Dtype::kBf16}, {"fp8", Dtype::kFp8}}};
constexpr std::array<NamedValue<ExchangePrimitive>, 5> kDispatchPrimitives = {
    {{"auto", ExchangePrimitive::kAuto},
     {"ag", ExchangePrimitive::kAllGather},
     {"a2a", ExchangePrimitive::kAllToAll},
     {"rank_dedup", ExchangePrimitive::kRankDedup},
     {"node_dedup", ExchangePrimitive::kNodeDedup}}};
constexpr std::array<NamedValue<ExchangePrimitive>, 5> kCombinePrimitives = {
    {{"auto", ExchangePrimitive::kAuto},
     {"rs", ExchangePrimitive::kReduceScatter},
     {"a2a", ExchangePrimitive::kAllToAll},
     {"rank_dedup", ExchangePrimitive::kRankDedup},
     {"node_dedup", ExchangePrimitive::kNodeDedup}}};
constexpr std::array<NamedValue<CollectiveAlgorithm>, 4> kAllToAlls = {
    {{"auto", CollectiveAlgorithm::kAuto},
     {"direct", CollectiveAlgorithm::kDirect},
     {"hierarchical", CollectiveAlgorithm::kHierarchical},
     {"pxn", CollectiveAlgorithm::kPxn}}};

constexpr Range<std::int64_t> kComputeUnits{0, 1024};
constexpr Range<std::int64_t> kPadding{0, 65'536};
constexpr Range<std::int64_t> kGroups{1, 65'536};
constexpr Range<double> kCapacity{0.01, 1000.0};
constexpr Range<double> kExponent{0.0, 10.0};
constexpr Range<double> kViolation{0.0, kLargestViolation};

template <typename T>
void belongs_to(const MappingReader& reader, std::string_view key, T written, T wanted) {
  if (reader.has(key) && written != wanted) {
    reader.error(key, "belongs to routing: " + std::string(name(wanted)));
  }
}

void read_counts(MappingReader& reader, Routing& routing) {
  const ConfigNode* list = reader.take(kCountsKey);
  if (list == nullptr) {
    if (routing.kind == RoutingKind::kCounts && routing.counts.empty()) {
      reader.error(kCountsKey,
                   "is needed with routing: counts; write the tokens of each expert as a "
                   "list");
    }
    return;
  }
  if (list->kind != ConfigNode::Kind::kSequence) {
    reader.error(kCountsKey, "must be a list: the tokens of each expert, over all ranks");
    return;
  }
  routing.counts.clear();
  std::int64_t sum = 0;
  for (const ConfigNode& item : list->items) {
    const std::int64_t tokens = reader.count(kCountsKey, item, kCount).value_or(1);
    sum += tokens;
    routing.counts.push_back(tokens);
  }
  if (sum == 0) {
    reader.error(kCountsKey, "must have at least one token");
  }
}

void read_routing(MappingReader& reader, ExchangeSpec& spec) {
  Routing routing = spec.routing.value_or(Routing{});
  if (const ConfigNode* written = reader.take("routing")) {
    routing.kind = reader.choice<RoutingKind>("routing", *written, enum_names<RoutingKind>())
                       .value_or(routing.kind);
    spec.routing = routing;
  }
  // Keys of another kind of routing are read, so that they count as known, and refused.
  belongs_to(reader, "groups", routing.kind, RoutingKind::kGroupLimited);
  belongs_to(reader, "groups_per_token", routing.kind, RoutingKind::kGroupLimited);
  belongs_to(reader, "zipf_exponent", routing.kind, RoutingKind::kZipf);
  belongs_to(reader, kCountsKey, routing.kind, RoutingKind::kCounts);
  belongs_to(reader, "max_violation", routing.kind, RoutingKind::kLearned);
  if (reader.has("groups") != reader.has("groups_per_token")) {
    reader.error("groups", "and groups_per_token belong together; give both or neither");
  }
  routing.groups = reader.optional_count("groups", routing.groups, kGroups);
  routing.groups_per_token =
      reader.optional_count("groups_per_token", routing.groups_per_token, kGroups);
  if (routing.kind == RoutingKind::kZipf && !reader.has("zipf_exponent")) {
    reader.error("zipf_exponent", "is needed with routing: zipf; 0 is no preference, 1 Zipf's law");
  }
  routing.zipf_exponent = reader.optional_number("zipf_exponent", routing.zipf_exponent, kExponent);
  if (routing.kind == RoutingKind::kLearned && !reader.has("max_violation") &&
      !(routing.max_violation > 0.0)) {
    reader.error("max_violation",
                 "is needed with routing: learned, the load of the fullest expert over the mean, "
                 "less 1; published: 0.04 where biases balance the router, 0.5 to 0.7 with an "
                 "auxiliary loss (arXiv 2408.15664, table 2)");
  }
  routing.max_violation =
      reader.optional_number("max_violation", routing.max_violation, kViolation);
  read_counts(reader, routing);
  if (spec.routing) {
    spec.routing = with_shared_loads(std::move(routing));
  }
}

void write_routing(const Routing& routing, ConfigWriter& writer) {
  writer.field("routing", name(routing.kind));
  if (routing.kind == RoutingKind::kGroupLimited && routing.groups > 1) {
    writer.field("groups", routing.groups);
    writer.field("groups_per_token", routing.groups_per_token);
  } else if (routing.kind == RoutingKind::kZipf) {
    writer.field("zipf_exponent", routing.zipf_exponent);
  } else if (routing.kind == RoutingKind::kLearned) {
    writer.field("max_violation", routing.max_violation);
  } else if (routing.kind == RoutingKind::kCounts) {
    writer.field(kCountsKey, list_node(routing.counts));
  }
}

// What is said of the exchange before its routing, and what is said behind it.
template <typename Settings>
void sending_settings(Settings& exchange) {
  exchange.choice("dispatch_dtype", &ExchangeSpec::dispatch_dtype, kRowDtypes);
  exchange.count("num_sms", &ExchangeSpec::compute_units, kComputeUnits);
  exchange.choice("dispatch_primitive", &ExchangeSpec::dispatch_primitive, kDispatchPrimitives);
  exchange.choice("combine_primitive", &ExchangeSpec::combine_primitive, kCombinePrimitives);
}

template <typename Settings>
void receiving_settings(Settings& exchange) {
  exchange.count("redundant_experts", &ExchangeSpec::redundant_experts, kPadding);
  exchange.choice("receive_buffer", &ExchangeSpec::receive_buffer);
  exchange.number("capacity_factor", &ExchangeSpec::capacity_factor, kCapacity);
  exchange.count("pad_multiple", &ExchangeSpec::pad_multiple, kPadding);
  exchange.flag("offset_aware_activation", &ExchangeSpec::offset_aware_activation);
  exchange.flag("redispatch_in_backward", &ExchangeSpec::redispatch_in_backward);
  exchange.choice("cpu_sync", &ExchangeSpec::cpu_sync);
  exchange.flag("collective_only", &ExchangeSpec::collective_only);
  exchange.choice("moe_all_to_all", &ExchangeSpec::all_to_all, kAllToAlls);
}

}  // namespace

Dispatcher carried_by(const ExchangeSpec& spec) {
  return spec.collective_only ? Dispatcher::kAllToAll : spec.dispatcher;
}

Routing routing_of(const ExchangeSpec& spec, const MoeSpec& moe) {
  Routing routing;
  if (spec.routing) {
    routing = *spec.routing;
  } else if (moe.router.groups > 1) {
    routing.kind = RoutingKind::kGroupLimited;
  }
  if (routing.kind == RoutingKind::kGroupLimited && routing.groups <= 1) {
    routing.groups = moe.router.groups;
    routing.groups_per_token = moe.router.topk_groups;
  }
  return routing;
}

std::optional<Dispatcher> read_dispatcher(MappingReader& reader) {
  const ConfigNode* written = reader.take("dispatcher");
  return written == nullptr
             ? std::nullopt
             : reader.choice<Dispatcher>("dispatcher", *written, enum_names<Dispatcher>());
}

void read_exchange(MappingReader reader, ExchangeSpec& spec) {
  SettingReader exchange(reader, spec);
  sending_settings(exchange);
  read_routing(reader, spec);
  receiving_settings(exchange);
  reader.finish();
}

ConfigNode written_changes(const ExchangeSpec& spec, const ExchangeSpec& base) {
  ConfigWriter writer;
  SettingWriter exchange(writer, spec, base);
  sending_settings(exchange);
  if (spec.routing != base.routing && spec.routing) {
    write_routing(*spec.routing, writer);
  }
  receiving_settings(exchange);
  return writer.take();
}

}  // namespace stepcast
