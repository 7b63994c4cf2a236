// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/parallel_plan.hpp"

#include "stepcast/config/enum_fields.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedValue<CpAlgorithm>, 3> kCpAlgorithms = {
    {{"ring", CpAlgorithm::kRing},
     {"all_gather", CpAlgorithm::kAllGather},
     {"all_to_all", CpAlgorithm::kAllToAll}}};
constexpr std::array<NamedValue<bool>, 2> kOverlapRules = {
    {{"timeline", false}, {"uniform", true}}};

std::optional<std::int64_t> optional_degree(MappingReader& reader, std::string_view key,
                                            Range<std::int64_t> range = kDegree) {
  const ConfigNode* value = reader.take(key);
  return value == nullptr ? std::nullopt : reader.count(key, *value, range);
}

std::optional<bool> optional_switch(MappingReader& reader, std::string_view key) {
  const ConfigNode* value = reader.take(key);
  return value == nullptr ? std::nullopt : reader.flag(key, *value);
}

void read_stage_layout(MappingReader& reader, PlanRequest& plan) {
  const ConfigNode* value = reader.take("stage_layout");
  if (value == nullptr) {
    return;
  }
  if (value->kind != ConfigNode::Kind::kSequence) {
    plan.layout = reader.text("stage_layout", *value).value_or("");
    return;
  }
  for (const ConfigNode& item : value->items) {
    if (const auto layers = reader.count("stage_layout", item, {0, 10'000})) {
      plan.stage_layers.push_back(*layers);
    }
  }
}

void read_overlap(MappingReader& reader, PlanRequest& plan) {
  const ConfigNode* value = reader.take("overlap");
  if (value == nullptr) {
    return;
  }
  if (value->kind == ConfigNode::Kind::kScalar) {
    plan.uniform = reader.choice<bool>("overlap", *value, kOverlapRules).value_or(false);
    return;
  }
  MappingReader fractions(*value, reader.path_of("overlap"), reader.diagnostics());
  plan.uniform = fractions.optional_choice<bool>("rule", kOverlapRules, true);
  for (const Axis axis :
       {Axis::kTensor, Axis::kExpert, Axis::kContext, Axis::kData, Axis::kPipeline}) {
    double& share = plan.overlap.hidden[static_cast<std::size_t>(axis)];
    share = fractions.optional_number(name(axis), share, kFraction);
  }
  fractions.finish();
}

}  // namespace

PlanRequest read_plan(MappingReader reader) {
  PlanRequest plan;
  plan.given = true;
  plan.tp = reader.optional_count("tp", 1, kDegree);
  plan.pp = reader.optional_count("pp", 1, kDegree);
  plan.vpp = reader.optional_count("vpp", 1, kDegree);
  plan.cp = reader.optional_count("cp", 1, kDegree);
  plan.ep = reader.optional_count("ep", 1, kDegree);
  plan.etp = optional_degree(reader, "etp");
  plan.dp = optional_degree(reader, "dp");
  plan.fsdp = optional_degree(reader, "fsdp");
  plan.hsdp = optional_degree(reader, "hsdp");
  plan.sequence_parallel = optional_switch(reader, "sequence_parallel");
  plan.zero = optional_degree(reader, "zero", {0, 3});
  plan.fsdp_reshard = optional_switch(reader, "fsdp_reshard");
  if (const ConfigNode* schedule = reader.take("schedule")) {
    plan.schedule = reader.choice<Schedule>("schedule", *schedule, enum_names<Schedule>());
  }
  read_stage_layout(reader, plan);
  plan.cp_algorithm =
      reader.optional_choice<CpAlgorithm>("cp_algorithm", kCpAlgorithms, CpAlgorithm::kRing);
  read_overlap(reader, plan);
  plan.dispatcher = read_dispatcher(reader);
  reader.finish();
  return plan;
}

}  // namespace stepcast
