// SPDX-License-Identifier: Apache-2.0
// Rules of a sweep that plans must keep: "tp <= gpus_per_node and schedule != 'gpipe'".
//
// Numbers, + - * / % ^, comparisons, `and`, `or`, `not`, parentheses, c ? a : b, and the functions
// abs, min, max, log2, sqrt, round; texts in quotes, compared with == and !=. A switch is 1 or 0.
// muParser works them out; what it must not be given (assignments, unknown names) is refused here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/config/config_node.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

// When the value of a variable is known.
enum class KnownFrom { kSite, kRequest, kPlan };

struct ConstraintVariable {
  std::string_view name;
  KnownFrom known;
  bool is_text = false;
  std::string_view meaning;
  std::span<const std::string_view> (*texts)() = nullptr;  // all that it can be, if that is known
};
// Every variable, in the order of the values below.
std::span<const ConstraintVariable> constraint_variables();

// A rule as written, and as the parser takes it.
struct PlanConstraint {
  std::string text;         // as the user wrote it
  std::string expression;   // with texts as numbers
  bool needs_plan = false;  // reads what only a settled plan has: dp, micro_batches ...
};

// Checks and translates; problems go to `diagnostics` at their column, and give nothing.
std::vector<PlanConstraint> read_constraints(const ConfigNode& list, Diagnostics& diagnostics);

// Works constraints out. One thread may use it: the parser is not made for more.
class ConstraintCheck {
 public:
  explicit ConstraintCheck(const std::vector<PlanConstraint>& constraints);
  ~ConstraintCheck();
  ConstraintCheck(ConstraintCheck&&) noexcept;
  ConstraintCheck& operator=(ConstraintCheck&&) noexcept;
  ConstraintCheck(const ConstraintCheck&) = delete;
  ConstraintCheck& operator=(const ConstraintCheck&) = delete;

  [[nodiscard]] bool empty() const;
  // Sets what is known of a site, of a request, of a settled plan.
  void set_site(const Experiment& site);
  void set_request(const PlanRequest& plan, const TrainingRecipe& training);
  void set_plan(const ParallelPlan& plan);
  // The first constraint that does not hold, of those that need no settled plan or of those that
  // do; null if all hold.
  const PlanConstraint* broken(bool needs_plan);

 private:
  struct Parsers;
  std::unique_ptr<Parsers> parsers_;
};

}  // namespace stepcast
