// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/plan_keys.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/plan/exchange_spec.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/stage_layout.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedValue<bool>, 2> kOverlapRules = {
    {{"timeline", false}, {"uniform", true}}};

constexpr std::array kAxesOfShares = {Axis::kTensor, Axis::kExpert, Axis::kContext, Axis::kData,
                                      Axis::kPipeline};

void read_overlap(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  const ConfigNode* value = reader.take(key);
  if (value == nullptr) {
    return;
  }
  if (value->kind == ConfigNode::Kind::kScalar) {
    plan.uniform = reader.choice<bool>(key, *value, kOverlapRules).value_or(false);
    return;
  }
  MappingReader fractions(*value, reader.path_of(key), reader.diagnostics());
  plan.uniform = fractions.optional_choice<bool>("rule", kOverlapRules, true);
  for (const Axis axis : kAxesOfShares) {
    double& share = plan.overlap.hidden[static_cast<std::size_t>(axis)];
    share = fractions.optional_number(name(axis), share, kFraction);
  }
  fractions.finish();
}

ConfigNode overlap_node(const UniformOverlap& overlap) {
  ConfigWriter shares;
  shares.field("rule", "uniform");
  for (const Axis axis : kAxesOfShares) {
    shares.field(name(axis), overlap.hidden[static_cast<std::size_t>(axis)]);
  }
  return shares.take();
}

void write_overlap(std::string_view key, const PlanRequest& plan, ConfigWriter& writer) {
  if (plan.uniform) {
    writer.field(key, overlap_node(plan.overlap));
  }
}

void copy_overlap(const PlanRequest& from, PlanRequest& to) {
  to.uniform = from.uniform;
  to.overlap = from.overlap;
}

void read_order(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  const ConfigNode* value = reader.take(key);
  const std::optional<std::string> text =
      value == nullptr ? std::nullopt : reader.text(key, *value);
  if (!text) {
    return;
  }
  if (const std::optional<AxisOrder> order = parse_axis_order(*text)) {
    plan.order = *order;
  } else {
    reader.error(key,
                 "must name tp, cp, ep, dp and pp once each, from the axis whose ranks are "
                 "neighbours to the one whose ranks are furthest apart, as " +
                     text_of(AxisOrder{}));
  }
}

void write_order(std::string_view key, const PlanRequest& plan, ConfigWriter& writer) {
  if (plan.order != AxisOrder{}) {
    writer.field(key, text_of(plan.order));
  }
}

void read_layout(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  const ConfigNode* value = reader.take(key);
  if (value == nullptr) {
    return;
  }
  if (value->kind != ConfigNode::Kind::kSequence) {
    plan.layout = reader.name(key, *value).value_or("");
    for (const std::string& fault : layout_faults(plan.layout)) {
      reader.error(key, fault);
    }
    return;
  }
  for (const ConfigNode& item : value->items) {
    if (const auto layers = reader.count(key, item, {0, 10'000})) {
      plan.stage_layers.push_back(*layers);
    }
  }
}

void write_layout(std::string_view key, const PlanRequest& plan, ConfigWriter& writer) {
  if (!plan.stage_layers.empty()) {
    writer.field(key, list_node(plan.stage_layers));
  } else if (!plan.layout.empty()) {
    writer.field(key, plan.layout);
  }
}

void copy_layout(const PlanRequest& from, PlanRequest& to) {
  to.layout = from.layout;
  to.stage_layers = from.stage_layers;
}

constexpr Range<std::int64_t> kZeroStages{0, 3};
template <auto Member>
void copy_plan(const PlanRequest& from, PlanRequest& to) {
  to.*Member = from.*Member;
}

// --- members of a request ---------------------------------------------------------------------

// A degree, a switch or a choice, by what the member is.
template <auto Member>
void read_member(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  const ConfigNode* value = reader.take(key);
  if (value == nullptr) {
    return;
  }
  auto& member = plan.*Member;
  using Type = std::remove_reference_t<decltype(member)>;
  if constexpr (std::is_same_v<Type, std::optional<bool>>) {
    member = reader.flag(key, *value);
  } else if constexpr (requires { name(*member); }) {
    using Choice = typename Type::value_type;
    member = reader.choice<Choice>(key, *value, enum_names<Choice>());
  } else {
    member = reader.count(key, *value, kDegree).value_or(1);
  }
}

void read_zero(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  if (const ConfigNode* value = reader.take(key)) {
    plan.zero = reader.count(key, *value, kZeroStages);
  }
}

template <auto Member>
void write_member(std::string_view key, const PlanRequest& plan, ConfigWriter& writer) {
  const auto& member = plan.*Member;
  if (member == PlanRequest{}.*Member) {
    return;
  }
  if constexpr (requires { name(*member); }) {
    writer.field(key, name(*member));
  } else if constexpr (requires { *member; }) {
    writer.field(key, *member);
  } else {
    writer.field(key, member);
  }
}

// What a member of a settled plan, or a function of one, says; a choice by its name.
template <auto Of>
PlanValue settled(const ParallelPlan& plan) {
  const auto& value = std::invoke(Of, plan);
  if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
    return name(value);
  } else {
    return value;
  }
}

template <auto Member>
PlanValue asked(const PlanRequest& plan) {
  return plan.*Member;
}

// --- where a key makes no difference -------------------------------------------------------------

// Where the ranks of an axis are one.
template <auto Degree>
bool idle_alone(const PlanRequest& /*asked*/, const ParallelPlan& plan) {
  return plan.*Degree == 1;
}
// Parameters that are not sharded are never gathered.
bool idle_reshard(const PlanRequest& /*asked*/, const ParallelPlan& plan) { return plan.zero != 3; }
// The stages below 3 divide nothing where there is one replica; stage 3 says that they are sharded.
bool idle_zero(const PlanRequest& asked, const ParallelPlan& plan) {
  return asked.zero.value_or(1) < 3 && plan.replicas() == 1 && plan.edp == 1;
}

// --- values that settling names -------------------------------------------------------------

// 0 where the shards have no replicas.
std::int64_t settled_hsdp(const ParallelPlan& plan) {
  return plan.fsdp > 1 && plan.fsdp < plan.replicas() ? plan.fsdp : 0;
}

void read_plan_dispatcher(std::string_view /*key*/, MappingReader& reader, PlanRequest& plan) {
  plan.dispatcher = read_dispatcher(reader);
}

Dispatcher settled_dispatcher(const ParallelPlan& plan) { return plan.exchange.dispatcher; }

std::string settled_order(const ParallelPlan& plan) { return text_of(plan.order); }

// --- overlap ------------------------------------------------------------------------------------

template <Axis axis>
void copy_share(const PlanRequest& from, PlanRequest& to) {
  constexpr auto kSlot = static_cast<std::size_t>(axis);
  to.overlap.hidden[kSlot] = from.overlap.hidden[kSlot];
}

template <Axis axis>
constexpr PlanKey share_key(std::string_view name, int numbering) {
  return {.name = name,
          .meaning = "share of this axis' communication behind computation, with rule uniform",
          .numbering = numbering,
          .copy = copy_share<axis>};
}

// --- the table ----------------------------------------------------------------------------------

constexpr PlanKey at(PlanKey key, int print_order, KeyRow compared) {
  key.printed = Printed::kBeforeExchange;
  key.print_order = print_order;
  key.compared = compared;
  return key;
}

template <auto Asked, auto Settled>
constexpr PlanKey member_key(std::string_view name, std::string_view meaning, int numbering,
                             std::string_view option = {}) {
  return {.name = name,
          .meaning = meaning,
          .option = option,
          .numbering = numbering,
          .read = read_member<Asked>,
          .write = write_member<Asked>,
          .copy = copy_plan<Asked>,
          .settled = settled<Settled>};
}

template <auto Asked, auto Settled>
constexpr PlanKey degree_key(std::string_view name, std::string_view meaning,
                             std::string_view option, int numbering) {
  PlanKey key = member_key<Asked, Settled>(name, meaning, numbering, option);
  key.is_degree = true;
  return key;
}

// A degree that no other key and no layout changes.
template <auto Asked, auto Settled>
constexpr PlanKey kept_degree_key(std::string_view name, std::string_view meaning,
                                  std::string_view option, int numbering) {
  PlanKey key = degree_key<Asked, Settled>(name, meaning, option, numbering);
  key.asked = asked<Asked>;
  return key;
}

using R = PlanRequest;
using P = ParallelPlan;

constexpr std::array kPlanKeys = {
    at(kept_degree_key<&R::tp, &P::tp>("tp", "tensor parallelism", "--tp", 9), 1, {"tp", 1}),
    at(kept_degree_key<&R::pp, &P::pp>("pp", "pipeline parallelism", "--pp", 20), 3, {"pp", 5}),
    at(degree_key<&R::vpp, &P::vpp>("vpp", "virtual stages of a pipeline rank", "--vpp", 22), 4,
       {"vpp", 6, "1"}),
    at(kept_degree_key<&R::cp, &P::cp>("cp", "context parallelism", "--cp", 11), 2, {"cp", 3, "1"}),
    at(kept_degree_key<&R::ep, &P::ep>("ep", "expert parallelism", "--ep", 13), 5, {"ep", 8, "1"}),
    at(degree_key<&R::etp, &P::etp>("etp", "tensor parallelism of the experts", "--etp", 14), 6,
       {"etp", 9, "1"}),
    at(member_key<&R::dp, &P::dp>("dp", "data parallelism, which follows from the rest", 15), 7,
       {"dp", 11}),
    at(degree_key<&R::fsdp, &P::fsdp>("fsdp", "ranks that share one copy of the parameters",
                                      "--fsdp", 17),
       8, {"fsdp", 12}),
    member_key<&R::hsdp, settled_hsdp>(
        "hsdp", "ranks of one sharding group, replicated over the others", 18),
    [] {
      PlanKey key = member_key<&R::sequence_parallel, &P::sequence_parallel>(
          "sequence_parallel", "norms and dropout over a share of the sequence", 10);
      key.short_name = "sp";
      key.idle = idle_alone<&P::tp>;
      return at(key, 10, {"sequence parallel", 2, "no"});
    }(),
    [] {
      PlanKey key = member_key<&R::zero, &P::zero>("zero", "ZeRO stage, 0 to 3", 16, "--zero");
      key.read = read_zero;
      key.idle = idle_zero;
      return at(key, 9, {"zero", 13});
    }(),
    [] {
      PlanKey key = member_key<&R::fsdp_reshard, &P::fsdp_reshard>(
          "fsdp_reshard", "gathered weights are dropped after forward", 19);
      key.idle = idle_reshard;
      return at(key, 11, {"reshard after forward", 14, "no"});
    }(),
    member_key<&R::fsdp_experts, &P::fsdp_experts>(
        "fsdp_experts", "whether full sharding divides the experts too", 24),
    [] {
      PlanKey key = member_key<&R::schedule, &P::schedule>(
          "schedule", "pipeline schedule (of 'project' also: all)", 23, "--schedule");
      key.values = names_of<Schedule>;
      return at(key, 12, {"schedule", 7});
    }(),
    PlanKey{.name = "stage_layout",
            .meaning = "layers of each stage: even, balanced, Megatron's text, or a list",
            .numbering = 21,
            .read = read_layout,
            .write = write_layout,
            .copy = copy_layout,
            .one_list = OneList::kOfWholeNumbers},
    PlanKey{.name = "cp_algorithm",
            .meaning = "how context-parallel ranks exchange keys and values",
            .numbering = 12,
            .read = read_member<&R::cp_algorithm>,
            .write = write_member<&R::cp_algorithm>,
            .copy = copy_plan<&R::cp_algorithm>,
            .settled = settled<&P::cp_algorithm>,
            .printed = Printed::kAfterExchange,
            .print_order = 2,
            .values = names_of<CpAlgorithm>,
            .idle = idle_alone<&P::cp>,
            .compared = {"cp algorithm", 4, kIdleText}},
    PlanKey{.name = "cp_all_to_all",
            .meaning = "context-parallel ranks that exchange heads, under all_to_all_ring",
            .numbering = 26,
            .read = read_member<&R::cp_all_to_all>,
            .write = write_member<&R::cp_all_to_all>,
            .copy = copy_plan<&R::cp_all_to_all>,
            .settled = settled<&P::cp_heads>,
            .printed = Printed::kAfterExchange,
            .print_order = 3},
    PlanKey{.name = "overlap",
            .meaning = "timeline, or uniform shares of communication behind computation",
            .numbering = 2,
            .read = read_overlap,
            .write = write_overlap,
            .copy = copy_overlap},
    PlanKey{.name = "overlap.rule",
            .meaning = "timeline or uniform",
            .numbering = 3,
            .copy = copy_plan<&R::uniform>},
    share_key<Axis::kTensor>("overlap.tp", 4),
    share_key<Axis::kExpert>("overlap.ep", 5),
    share_key<Axis::kContext>("overlap.cp", 6),
    share_key<Axis::kData>("overlap.dp", 7),
    share_key<Axis::kPipeline>("overlap.pp", 8),
    at(PlanKey{.name = "dispatcher",
               .meaning = "what carries tokens to their experts",
               .of_site = true,
               .read = read_plan_dispatcher,
               .write = write_member<&R::dispatcher>,
               .copy = copy_plan<&R::dispatcher>,
               .settled = settled<settled_dispatcher>,
               .values = names_of<Dispatcher>,
               .idle = idle_alone<&P::ep>},
       13, {"dispatcher", 10, kIdleText}),
    PlanKey{.name = "order",
            .meaning = "of ranks, from neighbours to those furthest apart: tp-cp-ep-dp-pp",
            .numbering = 25,
            .read = read_order,
            .write = write_order,
            .copy = copy_plan<&R::order>,
            .settled = settled<settled_order>,
            .printed = Printed::kAfterExchange,
            .print_order = 3,
            .compared = {"order of ranks", 16, "tp-cp-ep-dp-pp"}},
};

constexpr std::array kFollowingKeys = {
    PlanKey{.name = "micro_batches",
            .meaning = "micro-batches of one rank and step",
            .settled = settled<&P::micro_batches>,
            .printed = Printed::kAfterExchange,
            .print_order = 1,
            .compared = {"micro-batches", 15}},
    PlanKey{
        .name = "edp", .meaning = "data parallelism of the experts", .settled = settled<&P::edp>},
};

// The keys for which `wanted` says so, those of equal `order` as they stand in the tables.
template <typename Wanted, typename Order>
std::vector<PlanKey> chosen_keys(const Wanted& wanted, const Order& order) {
  std::vector<PlanKey> keys;
  std::ranges::copy_if(kPlanKeys, std::back_inserter(keys), wanted);
  std::ranges::copy_if(kFollowingKeys, std::back_inserter(keys), wanted);
  std::ranges::sort(keys, [&](const PlanKey& a, const PlanKey& b) { return order(a) < order(b); });
  return keys;
}

std::vector<PlanKey> printed_keys(Printed where) {
  return chosen_keys([where](const PlanKey& key) { return key.printed == where; },
                     [](const PlanKey& key) { return key.print_order; });
}

}  // namespace

std::span<const PlanKey> plan_keys() { return kPlanKeys; }
std::span<const PlanKey> following_plan_keys() { return kFollowingKeys; }
const PlanKey* plan_key(std::string_view name) {
  const auto* const found = std::ranges::find(kPlanKeys, name, &PlanKey::name);
  return found == kPlanKeys.end() ? nullptr : found;
}

std::span<const PlanKey> printed_plan_keys(Printed where) {
  static const std::vector<PlanKey> before = printed_keys(Printed::kBeforeExchange);
  static const std::vector<PlanKey> after = printed_keys(Printed::kAfterExchange);
  return where == Printed::kBeforeExchange ? before : after;
}

std::span<const PlanKey> compared_plan_keys() {
  static const std::vector<PlanKey> keys =
      chosen_keys([](const PlanKey& key) { return !key.compared.title.empty(); },
                  [](const PlanKey& key) { return key.compared.order; });
  return keys;
}

PlanRequest read_plan(MappingReader reader) {
  PlanRequest plan;
  plan.given = true;
  for (const PlanKey& key : kPlanKeys) {
    if (key.read != nullptr) {
      key.read(key.name, reader, plan);
    }
  }
  reader.finish();
  return plan;
}

ConfigNode written_request(const PlanRequest& request) {
  ConfigWriter writer;
  for (const PlanKey& key : kPlanKeys) {
    if (key.write != nullptr) {
      key.write(key.name, request, writer);
    }
  }
  return writer.take();
}

ConfigNode written_overlap(const ParallelPlan& plan) {
  return plan.uniform ? overlap_node(plan.overlap) : scalar_node("timeline");
}

}  // namespace stepcast
