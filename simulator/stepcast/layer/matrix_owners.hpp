// SPDX-License-Identifier: Apache-2.0
// Whole matrices given to the ranks of a data-parallel group.
//
// The most costly first, each to the rank with least to compute so far, as Megatron's
// LayerWiseDistributedOptimizer packs them (core/optimizer/layer_wise_optimizer.py,
// _compute_per_buffer_param_layout), which counts max(m, n) min(m, n)^2 for Newton-Schulz steps on
// m x n. Its limit of 1.3 times the mean of a bucket's elements is left out, and its buckets with
// it: all matrices of a rank's stages are one.
#pragma once

#include <cstdint>

#include "stepcast/layer/weight_matrix.hpp"

namespace stepcast {

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
