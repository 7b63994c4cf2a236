// SPDX-License-Identifier: Apache-2.0
// What optimizers that update matrices as a whole keep otherwise than for parameters one by one.
#pragma once

#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/weight_matrix.hpp"

namespace stepcast {

// What the states of `matrices` take more, or less, than those of as many parameters that are
// updated one by one, if all ranks that share them hold the same.
//
//   Muon       momentum in place of AdamW's moments
//   Adafactor  an fp32 of each row and of each column in place of one of each element; every rank
//              that shares a matrix has them all
Bytes matrix_state_change(const ExpansionContext& context, const WeightMatrices& matrices);

// What the rank that holds most of whole matrices has above the mean.
Bytes whole_matrix_excess(const ExpansionContext& context, const WeightMatrices& matrices);

}  // namespace stepcast
