// SPDX-License-Identifier: Apache-2.0
// Every key of the mappings `plan` and `training` of an experiment, once: readers, what is written
// back, reports, comparisons, axes and constraints of a sweep and options of the command line
// follow from these tables.
#pragma once

#include <functional>
#include <optional>
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

// What a list that is given for a key of an experiment can be, if it is one value of the key and
// not values to choose from.
enum class OneList { kNone, kOfScalars, kOfWholeNumbers };

// What a comparison says of a choice that is idle.
inline constexpr std::string_view kIdleText = "-";

// The row of a key where columns are compared.
struct KeyRow {
  std::string_view title{};  // empty: there is no row
  int order = 0;
  // The value that needs no row of its own; empty: every one says something.
  std::string_view usual{};
};

struct PlanKey {
  std::string_view name;  // of a share of the overlap "overlap.tp"
  std::string_view meaning;
  std::string_view option{};  // of the command line; empty: --set plan.KEY=VALUE alone
  // The place of an axis over it among others; the least is outermost and changes most operators.
  int numbering = 1;
  // Its value belongs to the site, so that an axis over it makes experiments of their own and
  // comes before the axes of `training` too.
  bool of_site = false;
  // Reads the key's value; null where another key's reader does.
  void (*read)(std::string_view key, MappingReader&, PlanRequest&) = nullptr;
  // Writes it as it was given, if it was.
  void (*write)(std::string_view key, const PlanRequest&, ConfigWriter&) = nullptr;
  void (*copy)(const PlanRequest& from, PlanRequest& to) = nullptr;
  PlanValue (*settled)(const ParallelPlan&) = nullptr;
  Printed printed = Printed::kNot;
  int print_order = 0;
  KeyValues values = nullptr;
  // A degree of parallelism that is chosen, which 1 leaves out of the plan.
  bool is_degree = false;
  // What of it a constraint may read before the plan is settled, because settling does not change
  // it; null: nothing.
  PlanValue (*asked)(const PlanRequest&) = nullptr;
  // Whether a settled plan would be no other one if this were not asked; null: that cannot be.
  bool (*idle)(const PlanRequest& asked, const ParallelPlan&) = nullptr;
  std::string_view short_name{};  // that constraints know it by, too
  OneList one_list = OneList::kNone;
  KeyRow compared{};
};

// All keys of a plan, in the order in which they are read.
std::span<const PlanKey> plan_keys();
// Null if there is no such key.
const PlanKey* plan_key(std::string_view name);
// The keys that a report prints at `where`, in its order.
std::span<const PlanKey> printed_plan_keys(Printed where);
// The keys that columns are compared by, in the order of their rows.
std::span<const PlanKey> compared_plan_keys();
// What follows from a plan and cannot be given, as keys that can be printed and constrained.
std::span<const PlanKey> following_plan_keys();

// The key of `training` that chooses the kind of recomputation.
inline constexpr std::string_view kRecomputeKey = "recompute";

struct TrainingKey {
  std::string_view name;
  std::string_view meaning;
  std::string_view option{};
  void (*copy)(const TrainingRecipe& from, TrainingRecipe& to) = nullptr;
  KeyValues values = nullptr;
  // What a constraint reads of it; null: it may not.
  PlanValue (*value)(const TrainingRecipe&) = nullptr;
  std::string_view short_name{};  // that constraints know it by, too
  OneList one_list = OneList::kNone;
  // The key beside which a list is none of one value, but of values to choose from.
  std::string_view chosen_beside{};
  // The kind of recomputation that alone has the key; empty: it is no key of one.
  std::optional<RecomputeKind> of_recompute{};
};

// All keys of a recipe, in the order in which the plans of a sweep are numbered.
std::span<const TrainingKey> training_keys();
// Also of a key inside a mapping, "lora.rank". Null if there is no such key.
const TrainingKey* training_key(std::string_view name);

// What a list is to the key of this name, in whatever mapping it stands, beside the keys for which
// `has` says so.
OneList one_list_of(std::string_view name, const std::function<bool(std::string_view)>& has);

}  // namespace stepcast
