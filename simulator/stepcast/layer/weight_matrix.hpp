// SPDX-License-Identifier: Apache-2.0
// The weight matrices of a rank, for optimizers that update a matrix as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/graph/parameter_inventory.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/software_spec.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

// Matrices of one shape that are trained. As software stacks them: queries, keys and values are one
// matrix where one product makes them.
struct WeightMatrix {
  // Whole: outputs x inputs, in `parts` over the ranks of tensor parallelism, of experts over those
  // of expert tensor parallelism.
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t parts = 1;
  DividedBy divided = DividedBy::kOutputs;
  bool expert = false;
  bool hidden = true;  // neither an embedding nor the output matrix
  std::int64_t count = 0;

  // Of the part of one of them that lies on the rank.
  [[nodiscard]] double elements() const;
  [[nodiscard]] bool same_shape(const WeightMatrix& other) const;
  bool operator==(const WeightMatrix&) const = default;
};

// Each shape once.
using WeightMatrices = std::vector<WeightMatrix>;

// Adds `times` as many as there are in `more`.
void add(const WeightMatrices& more, std::int64_t times, WeightMatrices& to);

double elements_of(const WeightMatrices& matrices);

// Those that are neither embeddings nor output matrices; experts apart, as other ranks share them.
struct HiddenMatrices {
  WeightMatrices dense;
  WeightMatrices experts;
};
HiddenMatrices hidden_matrices(const WeightMatrices& matrices);

// How whole matrices come to where Muon iterates on them: as the recipe says, or as the plan's
// sharding suggests; nothing where every rank has them.
std::optional<MuonSharding> matrix_sharding(const MuonSpec& muon, const ParallelPlan& plan);

// Whether the optimizer asks for the shapes of matrices.
bool updates_matrices(const OptimizerSpec& optimizer);

// The trained matrices among `parameters`, as one rank holds them; none for an optimizer that does
// not ask.
WeightMatrices weight_matrices(const ParameterList& parameters, const ParallelPlan& plan,
                               const TrainingRecipe& training, const SoftwareSpec& software);

}  // namespace stepcast
