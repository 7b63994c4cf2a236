// SPDX-License-Identifier: Apache-2.0
// Every key of the mappings `plan` and `training` of an experiment, once: readers, what is written
// back, reports, axes of a sweep and options of the command line follow from these tables.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

// A value of a settled plan.
using PlanValue = std::variant<std::int64_t, bool, std::string_view, std::string>;
// All that a key may be.
using KeyValues = std::span<const std::string_view> (*)();

// Where reports print a key of the plan: beside the degrees before the exchange of experts, after
// it, or not at all.
enum class Printed { kNot, kBeforeExchange, kAfterExchange };

struct PlanKey {
  std::string_view name;  // of a share of the overlap "overlap.tp"
  std::string_view meaning;
  std::string_view option{};  // of the command line; empty: --set plan.KEY=VALUE alone
  // The place of an axis over it among others; the least is outermost and changes most operators. 0
  // comes before the axes of `training` too.
  int numbering = 1;
  // Reads the key's value; null where another key's reader does.
  void (*read)(std::string_view key, MappingReader&, PlanRequest&) = nullptr;
  // Writes it as it was given, if it was.
  void (*write)(std::string_view key, const PlanRequest&, ConfigWriter&) = nullptr;
  void (*copy)(const PlanRequest& from, PlanRequest& to) = nullptr;
  PlanValue (*settled)(const ParallelPlan&) = nullptr;
  Printed printed = Printed::kNot;
  int print_order = 0;
  KeyValues values = nullptr;
};

// All keys of a plan, in the order in which they are read.
std::span<const PlanKey> plan_keys();
// Null if there is no such key.
const PlanKey* plan_key(std::string_view name);
// The keys that a report prints at `where`, in its order.
std::span<const PlanKey> printed_plan_keys(Printed where);

struct TrainingKey {
  std::string_view name;
  std::string_view meaning;
  std::string_view option{};
  void (*copy)(const TrainingRecipe& from, TrainingRecipe& to) = nullptr;
  KeyValues values = nullptr;
};

// All keys of a recipe, in the order in which the plans of a sweep are numbered.
std::span<const TrainingKey> training_keys();
// Also of a key inside a mapping, "lora.rank". Null if there is no such key.
const TrainingKey* training_key(std::string_view name);

}  // namespace stepcast
