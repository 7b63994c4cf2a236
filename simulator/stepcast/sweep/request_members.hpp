// SPDX-License-Identifier: Apache-2.0
// What each key of `plan` and of `training` sets: the members that an axis over it copies.
//
// A value of an axis is read once, as part of a whole mapping, and then copied from there into
// every request that has it.
#pragma once

#include <span>
#include <string_view>

#include "stepcast/parallel/parallel_plan.hpp"
#include "stepcast/parallel/training_recipe.hpp"

namespace stepcast {

struct PlanMember {
  std::string_view key;
  void (*copy)(const PlanRequest& from, PlanRequest& to);
};
struct TrainingMember {
  std::string_view key;
  void (*copy)(const TrainingRecipe& from, TrainingRecipe& to);
};

// Every key that read_plan and read_training accept, in the order in which plans are numbered: what
// changes operators is outermost. Keys inside `overlap` are written "overlap.tp".
std::span<const PlanMember> plan_members();
std::span<const TrainingMember> training_members();

// Null if there is no such key.
const PlanMember* plan_member(std::string_view key);
const TrainingMember* training_member(std::string_view key);

// The place of an axis over this key ("plan.tp") among the others; the least is outermost. Keys of
// the site come before all others.
int numbering_order(std::string_view dotted_key);

}  // namespace stepcast
