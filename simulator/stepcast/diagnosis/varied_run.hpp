// SPDX-License-Identifier: Apache-2.0
// Projections of an experiment with settings on top of it, as `stepcast project --set` gives them.
#pragma once

#include <optional>
#include <string>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/experiment/reported_input.hpp"
#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

// An experiment with settings on top of it, and what it is projected to do.
struct Variant {
  Experiment experiment;
  Projection projection;
};

class VariedRun {
 public:
  // A plan that a search chose for `experiment`, which was read from `tree`, stays that of all its
  // variants but for the degrees that follow from others. The experiment, the profiles and the
  // prices must outlive this.
  VariedRun(const ExperimentTree& tree, const Experiment& experiment, ProfileCache& profiles,
            const CostModel& cost);

  [[nodiscard]] const ExperimentTree& tree() const { return tree_; }
  [[nodiscard]] const Experiment& experiment() const { return experiment_; }
  [[nodiscard]] const CostModel& cost() const { return cost_; }
  // Throw ConfigError where a setting is refused.
  [[nodiscard]] Variant variant(const KeySettings& settings) const;
  [[nodiscard]] Projection projected(const KeySettings& settings) const;
  // Nothing where a setting is refused, or the plan then does not divide.
  [[nodiscard]] std::optional<Variant> variant_if_possible(const KeySettings& settings) const;
  [[nodiscard]] std::optional<Projection> if_possible(const KeySettings& settings) const;

 private:
  ExperimentTree tree_;
  const Experiment& experiment_;
  ProfileCache& profiles_;
  const CostModel& cost_;
};

}  // namespace stepcast
