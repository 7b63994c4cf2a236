// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/plan_keys.hpp"

#include <algorithm>
#include <array>

#include "stepcast/config/enum_fields.hpp"
#include "stepcast/plan/exchange_spec.hpp"
#include "stepcast/plan/overlap_key.hpp"
#include "stepcast/plan/stage_layout.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast {
namespace {

constexpr Range<std::int64_t> kZeroStages{0, 3};
template <auto Member>
void copy_plan(const PlanRequest& from, PlanRequest& to) {
  to.*Member = from.*Member;
}

// --- counts -----------------------------------------------------------------------------------

template <auto Member>
void read_degree(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  if (const ConfigNode* value = reader.take(key)) {
    plan.*Member = reader.count(key, *value, kDegree).value_or(1);
  }
}

void read_zero(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  if (const ConfigNode* value = reader.take(key)) {
    plan.zero = reader.count(key, *value, kZeroStages);
  }
}

template <std::int64_t PlanRequest::*Member>
void write_degree(std::string_view key, const PlanRequest& plan, ConfigWriter& writer) {
  if (plan.*Member != PlanRequest{}.*Member) {
    writer.field(key, plan.*Member);
  }
}

template <auto Member>
void write_given(std::string_view key, const PlanRequest& plan, ConfigWriter& writer) {
  if (plan.*Member) {
    writer.field(key, *(plan.*Member));
  }
}

template <auto Member>
PlanValue settled(const ParallelPlan& plan) {
  return plan.*Member;
}

// --- switches and choices -----------------------------------------------------------------------

template <auto Member>
void read_switch(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  if (const ConfigNode* value = reader.take(key)) {
    plan.*Member = reader.flag(key, *value);
  }
}

template <typename Choice, std::optional<Choice> PlanRequest::*Member>
void read_choice(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  if (const ConfigNode* value = reader.take(key)) {
    plan.*Member = reader.choice<Choice>(key, *value, enum_names<Choice>());
  }
}

template <auto Member>
void write_choice(std::string_view key, const PlanRequest& plan, ConfigWriter& writer) {
  if (plan.*Member) {
    writer.field(key, name(*(plan.*Member)));
  }
}

PlanValue settled_schedule(const ParallelPlan& plan) { return name(plan.schedule); }

PlanValue settled_cp_algorithm(const ParallelPlan& plan) { return name(plan.cp_algorithm); }
PlanValue settled_cp_heads(const ParallelPlan& plan) { return plan.cp_heads(); }

void read_plan_dispatcher(std::string_view /*key*/, MappingReader& reader, PlanRequest& plan) {
  plan.dispatcher = read_dispatcher(reader);
}

PlanValue settled_dispatcher(const ParallelPlan& plan) { return name(plan.exchange.dispatcher); }

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

PlanValue settled_order(const ParallelPlan& plan) { return text_of(plan.order); }

// --- layers of stages ---

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

// --- overlap
// --------------------------------------------------------------------------------------

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

// --- the table
// ------------------------------------------------------------------------------------

template <auto Asked, auto Settled>
constexpr PlanKey degree_key(std::string_view name, std::string_view meaning,
                             std::string_view option, int numbering, int order) {
  return {.name = name,
          .meaning = meaning,
          .option = option,
          .numbering = numbering,
          .read = read_degree<Asked>,
          .write = write_degree<Asked>,
          .copy = copy_plan<Asked>,
          .settled = settled<Settled>,
          .printed = Printed::kBeforeExchange,
          .print_order = order};
}

template <auto Asked, auto Settled>
constexpr PlanKey optional_degree_key(std::string_view name, std::string_view meaning,
                                      std::string_view option, int numbering, int order) {
  return {.name = name,
          .meaning = meaning,
          .option = option,
          .numbering = numbering,
          .read = read_degree<Asked>,
          .write = write_given<Asked>,
          .copy = copy_plan<Asked>,
          .settled = settled<Settled>,
          .printed = Printed::kBeforeExchange,
          .print_order = order};
}

template <auto Asked, auto Settled>
constexpr PlanKey switch_key(std::string_view name, std::string_view meaning, int numbering,
                             int order) {
  return {.name = name,
          .meaning = meaning,
          .numbering = numbering,
          .read = read_switch<Asked>,
          .write = write_given<Asked>,
          .copy = copy_plan<Asked>,
          .settled = settled<Settled>,
          .printed = Printed::kBeforeExchange,
          .print_order = order};
}

using R = PlanRequest;
using P = ParallelPlan;

constexpr std::array kPlanKeys = {
    degree_key<&R::tp, &P::tp>("tp", "tensor parallelism", "--tp", 9, 1),
    degree_key<&R::pp, &P::pp>("pp", "pipeline parallelism", "--pp", 20, 3),
    degree_key<&R::vpp, &P::vpp>("vpp", "virtual stages of a pipeline rank", "--vpp", 22, 4),
    degree_key<&R::cp, &P::cp>("cp", "context parallelism", "--cp", 11, 2),
    degree_key<&R::ep, &P::ep>("ep", "expert parallelism", "--ep", 13, 5),
    optional_degree_key<&R::etp, &P::etp>("etp", "tensor parallelism of the experts", "--etp", 14,
                                          6),
    optional_degree_key<&R::dp, &P::dp>("dp", "data parallelism, which follows from the rest", "",
                                        15, 7),
    optional_degree_key<&R::fsdp, &P::fsdp>("fsdp", "ranks that share one copy of the parameters",
                                            "--fsdp", 17, 8),
    PlanKey{.name = "hsdp",
            .meaning = "ranks of one sharding group, replicated over the others",
            .numbering = 18,
            .read = read_degree<&R::hsdp>,
            .write = write_given<&R::hsdp>,
            .copy = copy_plan<&R::hsdp>},
    switch_key<&R::sequence_parallel, &P::sequence_parallel>(
        "sequence_parallel", "norms and dropout over a share of the sequence", 10, 10),
    PlanKey{.name = "zero",
            .meaning = "ZeRO stage, 0 to 3",
            .option = "--zero",
            .numbering = 16,
            .read = read_zero,
            .write = write_given<&R::zero>,
            .copy = copy_plan<&R::zero>,
            .settled = settled<&P::zero>,
            .printed = Printed::kBeforeExchange,
            .print_order = 9},
    switch_key<&R::fsdp_reshard, &P::fsdp_reshard>(
        "fsdp_reshard", "gathered weights are dropped after forward", 19, 11),
    PlanKey{.name = "fsdp_experts",
            .meaning = "whether full sharding divides the experts too",
            .numbering = 24,
            .read = read_switch<&R::fsdp_experts>,
            .write = write_given<&R::fsdp_experts>,
            .copy = copy_plan<&R::fsdp_experts>},
    PlanKey{.name = "schedule",
            .meaning = "pipeline schedule (of 'project' also: all)",
            .option = "--schedule",
            .numbering = 23,
            .read = read_choice<Schedule, &R::schedule>,
            .write = write_choice<&R::schedule>,
            .copy = copy_plan<&R::schedule>,
            .settled = settled_schedule,
            .printed = Printed::kBeforeExchange,
            .print_order = 12,
            .values = names_of<Schedule>},
    PlanKey{.name = "stage_layout",
            .meaning = "layers of each stage: even, balanced, Megatron's text, or a list",
            .numbering = 21,
            .read = read_layout,
            .write = write_layout,
            .copy = copy_layout},
    PlanKey{.name = "cp_algorithm",
            .meaning = "how context-parallel ranks exchange keys and values",
            .numbering = 12,
            .read = read_choice<CpAlgorithm, &R::cp_algorithm>,
            .write = write_choice<&R::cp_algorithm>,
            .copy = copy_plan<&R::cp_algorithm>,
            .settled = settled_cp_algorithm,
            .printed = Printed::kAfterExchange,
            .print_order = 2,
            .values = names_of<CpAlgorithm>},
    PlanKey{.name = "cp_all_to_all",
            .meaning = "context-parallel ranks that exchange heads, under all_to_all_ring",
            .numbering = 26,
            .read = read_degree<&R::cp_all_to_all>,
            .write = write_given<&R::cp_all_to_all>,
            .copy = copy_plan<&R::cp_all_to_all>,
            .settled = settled_cp_heads,
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
    PlanKey{.name = "dispatcher",
            .meaning = "what carries tokens to their experts",
            .numbering = 0,
            .read = read_plan_dispatcher,
            .write = write_choice<&R::dispatcher>,
            .copy = copy_plan<&R::dispatcher>,
            .settled = settled_dispatcher,
            .printed = Printed::kBeforeExchange,
            .print_order = 13,
            .values = names_of<Dispatcher>},
    PlanKey{.name = "order",
            .meaning = "of ranks, from neighbours to those furthest apart: tp-cp-ep-dp-pp",
            .numbering = 25,
            .read = read_order,
            .write = write_order,
            .copy = copy_plan<&R::order>,
            .settled = settled_order,
            .printed = Printed::kAfterExchange,
            .print_order = 3},
};

// What follows from the rest and cannot be given.
constexpr PlanKey kMicroBatches{.name = "micro_batches",
                                .meaning = "micro-batches of one rank and step",
                                .settled = settled<&P::micro_batches>,
                                .printed = Printed::kAfterExchange,
                                .print_order = 1};

std::vector<PlanKey> printed_keys(Printed where) {
  std::vector<PlanKey> keys;
  std::copy_if(kPlanKeys.begin(), kPlanKeys.end(), std::back_inserter(keys),
               [where](const PlanKey& key) { return key.printed == where; });
  if (where == kMicroBatches.printed) {
    keys.push_back(kMicroBatches);
  }
  std::sort(keys.begin(), keys.end(),
            [](const PlanKey& a, const PlanKey& b) { return a.print_order < b.print_order; });
  return keys;
}

}  // namespace

std::span<const PlanKey> plan_keys() { return kPlanKeys; }
const PlanKey* plan_key(std::string_view name) {
  const auto* const found = std::find_if(kPlanKeys.begin(), kPlanKeys.end(),
                                         [name](const PlanKey& key) { return key.name == name; });
  return found == kPlanKeys.end() ? nullptr : found;
}

std::span<const PlanKey> printed_plan_keys(Printed where) {
  static const std::vector<PlanKey> before = printed_keys(Printed::kBeforeExchange);
  static const std::vector<PlanKey> after = printed_keys(Printed::kAfterExchange);
  return where == Printed::kBeforeExchange ? before : after;
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
