// SPDX-License-Identifier: Apache-2.0
// The parameter tensors that a framework sees on a rank: what it keeps stacked is one of them.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/layer/layer_expansion.hpp"

namespace stepcast {

// Elements of each trained tensor of a layer on one rank before FSDP, in the order of the model's
// parameters. Experts that the model has apart are apart.
std::vector<double> local_tensors(const ExpansionContext& context, LayerKind kind);

// How many parameters a bucket of DistributedDataParallel has on average over layers of these
// `tensors`. It takes whole tensors, from the last to the first, until they hold `least` elements
// (torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size). Needs tensors of
// some elements; its smaller first bucket is left out.
double mean_ddp_bucket(const std::vector<double>& tensors, double least);

}  // namespace stepcast
