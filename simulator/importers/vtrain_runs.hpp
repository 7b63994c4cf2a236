// SPDX-License-Identifier: Apache-2.0
// Runs of Megatron-DeepSpeed on A100 that vTrain published (vtrain_a100_multi_node.csv,
// vtrain_a100_single_node.csv) as records.
//
// GPT: multi-head attention, a feed-forward block of two matrices and width 4 H, layer norms,
// learned positions, a vocabulary of 51,200, fp16. Runs on several nodes recompute every layer;
// gradients are reduced after the last backward, not in buckets beside it. Nodes of 8 GPUs share
// 800 Gb/s. Metric: `step_time_s`.
#pragma once

#include "importers/foreign_row.hpp"

namespace stepcast {

void read_vtrain_run(ForeignRow& row, std::vector<Record>& records);

}  // namespace stepcast
