// SPDX-License-Identifier: Apache-2.0
// What a figure may count otherwise than we do: a ratio that follows from the run, and no size.
//
//   of tokens/s           all GPUs together; those of a node; those of one copy of the model;
//                         sequences for tokens
//   of TFLOP/s and MFU    6 FLOPs a parameter and token without attention's; attention's with the
//                         half of it that a causal mask leaves; forward once more, of recomputation
//   of MFU alone          the peak with 2:4 sparsity, twice the dense one
//
// A step and a size in memory have no such doubt.
#pragma once

#include <string>
#include <vector>

#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

struct FigureConvention {
  std::string form;    // "of a node"
  double ratio = 1.0;  // of the figure by the other convention over ours
};

std::vector<FigureConvention> conventions_of(Metric metric, const Projection& projection);

}  // namespace stepcast
