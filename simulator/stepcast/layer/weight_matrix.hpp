// SPDX-License-Identifier: Apache-2.0
// The weight matrices of a rank, for optimizers that update a matrix as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/model/parameter_inventory.hpp"
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

// Whether software keeps matrices of this group as one parameter.
bool is_stacked(StackedMatrix stacked, const SoftwareSpec& software);
// The place of the last of those that stand in a group with the one at `first`, which follow it.
std::size_t last_of_group(const ParameterList& parameters, std::size_t first);

// The trained matrices among `parameters`, as one rank holds them; none for an optimizer that does
// not ask.
WeightMatrices weight_matrices(const ParameterList& parameters, const ParallelPlan& plan,
                               const TrainingRecipe& training, const SoftwareSpec& software);

// Whole matrices given to the ranks of a data-parallel group.
//
// The most costly first, each to the rank with least to compute so far, as Megatron's
// LayerWiseDistributedOptimizer packs them (core/optimizer/layer_wise_optimizer.py,
// _compute_per_buffer_param_layout), which counts max(m, n) min(m, n)^2 for Newton-Schulz steps on
// m x n. Its limit of 1.3 times the mean of a bucket's elements is left out, and its buckets with
// it: all matrices of a rank's stages are one.

// The sides of a matrix as Newton-Schulz steps see it: rows x columns, rows <= columns unless
// tensor parallelism decides otherwise.
struct IteratedMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
// What a rank iterates on of a matrix that tensor parallelism divides.
IteratedMatrix iterated(const WeightMatrix& matrix, MuonTensorParallel mode);
// FLOPs of a step: rows^2 columns for the products of rows, rows^3 for their square, rows^2 columns
// for the product with the matrix, two each.
double newton_schulz_flops(const IteratedMatrix& matrix);

struct OwnedMatrices {
  WeightMatrices slowest;      // of the rank with most to compute
  double most_elements = 0.0;  // of the rank that holds most
};
OwnedMatrices owned_matrices(const WeightMatrices& matrices, std::int64_t ranks,
                             MuonTensorParallel mode);

}  // namespace stepcast
