// SPDX-License-Identifier: Apache-2.0
// The mapping `expert_exchange` of an experiment or a software set.
#include <array>
#include <utility>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/graph/weighted_choice.hpp"
#include "stepcast/plan/exchange_spec.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedValue<ReceiveBuffer>, 3> kReceiveBuffers = {
    {{"dynamic", ReceiveBuffer::kDynamic},
     {"worst_case", ReceiveBuffer::kWorstCase},
     {"capacity", ReceiveBuffer::kCapacity}}};
constexpr std::array<NamedValue<CpuSync>, 2> kCpuSyncs = {
    {{"blocking", CpuSync::kBlocking}, {"none", CpuSync::kNone}}};
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

// Every value of an enumeration under its own name.
template <typename E>
std::vector<NamedValue<E>> all_of_them() {
  std::vector<NamedValue<E>> values;
  for (const std::string_view written : names_of<E>()) {
    values.push_back({written, static_cast<E>(values.size())});
  }
  return values;
}

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
  const std::vector<NamedValue<RoutingKind>> kinds = all_of_them<RoutingKind>();
  Routing routing = spec.routing.value_or(Routing{});
  if (const ConfigNode* written = reader.take("routing")) {
    const RoutingKind kind =
        reader.choice<RoutingKind>("routing", *written, kinds).value_or(routing.kind);
    routing.kind = kind;
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

template <typename E, std::size_t N>
void read_given(MappingReader& reader, std::string_view key,
                const std::array<NamedValue<E>, N>& choices, std::optional<E>& value) {
  if (const ConfigNode* written = reader.take(key)) {
    value = reader.choice<E>(key, *written, choices);
  }
}

template <typename E, std::size_t N>
std::string_view name_among(const std::array<NamedValue<E>, N>& choices, E value) {
  for (const NamedValue<E>& choice : choices) {
    if (choice.value == value) {
      return choice.name;
    }
  }
  return {};
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

}  // namespace

std::string_view name(ReceiveBuffer buffer) {
  return kReceiveBuffers.at(static_cast<std::size_t>(buffer)).name;
}
std::string_view name(CpuSync sync) { return kCpuSyncs.at(static_cast<std::size_t>(sync)).name; }

std::optional<Dispatcher> read_dispatcher(MappingReader& reader) {
  const ConfigNode* written = reader.take("dispatcher");
  const std::vector<NamedValue<Dispatcher>> all = all_of_them<Dispatcher>();
  return written == nullptr ? std::nullopt : reader.choice<Dispatcher>("dispatcher", *written, all);
}

void read_exchange(MappingReader reader, ExchangeSpec& spec) {
  spec.dispatch_dtype =
      reader.optional_choice<Dtype>("dispatch_dtype", kRowDtypes, spec.dispatch_dtype);
  spec.compute_units = reader.optional_count("num_sms", spec.compute_units, kComputeUnits);
  spec.dispatch_primitive = reader.optional_choice<ExchangePrimitive>(
      "dispatch_primitive", kDispatchPrimitives, spec.dispatch_primitive);
  spec.combine_primitive = reader.optional_choice<ExchangePrimitive>(
      "combine_primitive", kCombinePrimitives, spec.combine_primitive);
  read_routing(reader, spec);
  spec.redundant_experts =
      reader.optional_count("redundant_experts", spec.redundant_experts, kPadding);
  read_given(reader, "receive_buffer", kReceiveBuffers, spec.receive_buffer);
  if (const ConfigNode* factor = reader.take("capacity_factor")) {
    spec.capacity_factor = reader.number("capacity_factor", *factor, kCapacity);
  }
  spec.pad_multiple = reader.optional_count("pad_multiple", spec.pad_multiple, kPadding);
  if (const std::optional<bool> aware = reader.optional_flag("offset_aware_activation")) {
    spec.offset_aware_activation = aware;
  }
  spec.redispatch_in_backward =
      reader.optional_flag("redispatch_in_backward").value_or(spec.redispatch_in_backward);
  read_given(reader, "cpu_sync", kCpuSyncs, spec.cpu_sync);
  spec.collective_only = reader.optional_flag("collective_only").value_or(spec.collective_only);
  spec.all_to_all =
      reader.optional_choice<CollectiveAlgorithm>("moe_all_to_all", kAllToAlls, spec.all_to_all);
  reader.finish();
}

ConfigNode written_changes(const ExchangeSpec& spec, const ExchangeSpec& base) {
  ConfigWriter writer;
  const auto add = [&](std::string_view key, auto ExchangeSpec::*member, const auto& shown) {
    if (spec.*member != base.*member) {
      writer.field(key, shown(spec.*member));
    }
  };
  const auto as_is = [](const auto& value) { return value; };
  const auto given_name = [](const auto& value) { return name(*value); };
  add("dispatch_dtype", &ExchangeSpec::dispatch_dtype, [](Dtype dtype) { return name(dtype); });
  add("num_sms", &ExchangeSpec::compute_units, as_is);
  add("dispatch_primitive", &ExchangeSpec::dispatch_primitive,
      [](ExchangePrimitive primitive) { return name_among(kDispatchPrimitives, primitive); });
  add("combine_primitive", &ExchangeSpec::combine_primitive,
      [](ExchangePrimitive primitive) { return name_among(kCombinePrimitives, primitive); });
  if (spec.routing != base.routing && spec.routing) {
    write_routing(*spec.routing, writer);
  }
  add("redundant_experts", &ExchangeSpec::redundant_experts, as_is);
  add("receive_buffer", &ExchangeSpec::receive_buffer, given_name);
  add("capacity_factor", &ExchangeSpec::capacity_factor, [](const auto& value) { return *value; });
  add("pad_multiple", &ExchangeSpec::pad_multiple, as_is);
  add("offset_aware_activation", &ExchangeSpec::offset_aware_activation,
      [](const auto& value) { return *value; });
  add("redispatch_in_backward", &ExchangeSpec::redispatch_in_backward, as_is);
  add("cpu_sync", &ExchangeSpec::cpu_sync, given_name);
  add("collective_only", &ExchangeSpec::collective_only, as_is);
  add("moe_all_to_all", &ExchangeSpec::all_to_all,
      [](CollectiveAlgorithm algorithm) { return name_among(kAllToAlls, algorithm); });
  return writer.take();
}

}  // namespace stepcast
