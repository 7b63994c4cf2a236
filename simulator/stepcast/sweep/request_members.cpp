// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/request_members.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

template <auto Member>
void copy_plan(const PlanRequest& from, PlanRequest& to) {
  to.*Member = from.*Member;
}

template <auto Member>
void copy_training(const TrainingRecipe& from, TrainingRecipe& to) {
  to.*Member = from.*Member;
}

template <auto Member>
void copy_recompute(const TrainingRecipe& from, TrainingRecipe& to) {
  to.recompute.*Member = from.recompute.*Member;
}

template <Axis axis>
void copy_share(const PlanRequest& from, PlanRequest& to) {
  constexpr auto kSlot = static_cast<std::size_t>(axis);
  to.overlap.hidden[kSlot] = from.overlap.hidden[kSlot];
}

void copy_overlap(const PlanRequest& from, PlanRequest& to) {
  to.uniform = from.uniform;
  to.overlap = from.overlap;
}

void copy_layout(const PlanRequest& from, PlanRequest& to) {
  to.layout = from.layout;
  to.stage_layers = from.stage_layers;
}

void copy_layers(const TrainingRecipe& from, TrainingRecipe& to) {
  to.recompute.layers = from.recompute.layers;
  to.recompute.layer_list = from.recompute.layer_list;
}

constexpr std::array kPlanMembers = {
    PlanMember{"dispatcher", copy_plan<&PlanRequest::dispatcher>},
    PlanMember{"overlap", copy_overlap},
    PlanMember{"overlap.rule", copy_plan<&PlanRequest::uniform>},
    PlanMember{"overlap.tp", copy_share<Axis::kTensor>},
    PlanMember{"overlap.ep", copy_share<Axis::kExpert>},
    PlanMember{"overlap.cp", copy_share<Axis::kContext>},
    PlanMember{"overlap.dp", copy_share<Axis::kData>},
    PlanMember{"overlap.pp", copy_share<Axis::kPipeline>},
    PlanMember{"tp", copy_plan<&PlanRequest::tp>},
    PlanMember{"sequence_parallel", copy_plan<&PlanRequest::sequence_parallel>},
    PlanMember{"cp", copy_plan<&PlanRequest::cp>},
    PlanMember{"cp_algorithm", copy_plan<&PlanRequest::cp_algorithm>},
    PlanMember{"ep", copy_plan<&PlanRequest::ep>},
    PlanMember{"etp", copy_plan<&PlanRequest::etp>},
    PlanMember{"dp", copy_plan<&PlanRequest::dp>},
    PlanMember{"zero", copy_plan<&PlanRequest::zero>},
    PlanMember{"fsdp", copy_plan<&PlanRequest::fsdp>},
    PlanMember{"hsdp", copy_plan<&PlanRequest::hsdp>},
    PlanMember{"fsdp_reshard", copy_plan<&PlanRequest::fsdp_reshard>},
    PlanMember{"pp", copy_plan<&PlanRequest::pp>},
    PlanMember{"stage_layout", copy_layout},
    PlanMember{"vpp", copy_plan<&PlanRequest::vpp>},
    PlanMember{"schedule", copy_plan<&PlanRequest::schedule>},
};

constexpr std::array kTrainingMembers = {
    TrainingMember{"dtype", copy_training<&TrainingRecipe::dtype>},
    TrainingMember{"sequence_length", copy_training<&TrainingRecipe::sequence_length>},
    TrainingMember{"optimizer", copy_training<&TrainingRecipe::optimizer>},
    TrainingMember{"dropout", copy_training<&TrainingRecipe::dropout>},
    TrainingMember{"micro_batch_size", copy_training<&TrainingRecipe::micro_batch_size>},
    TrainingMember{"recompute", copy_recompute<&RecomputeSpec::kind>},
    TrainingMember{"recompute_method", copy_recompute<&RecomputeSpec::method>},
    TrainingMember{"recompute_layers", copy_layers},
    TrainingMember{"recompute_modules", copy_recompute<&RecomputeSpec::modules>},
    TrainingMember{"memory_budget", copy_recompute<&RecomputeSpec::budget>},
    TrainingMember{"global_batch_size", copy_training<&TrainingRecipe::global_batch_size>},
};

// Outermost first. A batch changes no operator, so it is innermost.
constexpr std::array kSections = {"model", "cluster", "software", "expert_exchange", "backends"};
constexpr int kAfterSite = 1000;
constexpr int kAfterRecipe = 2000;
constexpr int kInnermost = 3000;

template <typename Members>
auto find(const Members& members, std::string_view key) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [key](const auto& member) { return member.key == key; });
  return found == members.end() ? nullptr : &*found;
}

}  // namespace

std::span<const PlanMember> plan_members() { return kPlanMembers; }
std::span<const TrainingMember> training_members() { return kTrainingMembers; }

const PlanMember* plan_member(std::string_view key) { return find(kPlanMembers, key); }
const TrainingMember* training_member(std::string_view key) { return find(kTrainingMembers, key); }

int numbering_order(std::string_view dotted_key) {
  const std::size_t dot = dotted_key.find('.');
  const std::string_view section = dotted_key.substr(0, dot);
  const std::string_view key =
      dot == std::string_view::npos ? std::string_view() : dotted_key.substr(dot + 1);
  if (section == "training") {
    const TrainingMember* member = training_member(key);
    if (member == nullptr) {
      return kInnermost - 1;
    }
    return key == "global_batch_size"
               ? kInnermost
               : kAfterSite + static_cast<int>(member - &kTrainingMembers[0]);
  }
  if (section == "plan") {
    if (key == "dispatcher") {
      return kAfterSite - 1;
    }
    const PlanMember* member = plan_member(key);
    return member == nullptr ? kInnermost - 1
                             : kAfterRecipe + static_cast<int>(member - &kPlanMembers[0]);
  }
  const auto* const found = std::find(kSections.begin(), kSections.end(), section);
  return static_cast<int>(found - kSections.begin());
}

}  // namespace stepcast
