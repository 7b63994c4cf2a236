// SPDX-License-Identifier: Apache-2.0
// Training steps measured by programs/cluster.py and programs/steps.py (JSON lines) as records.
//
// A line has `case`, `gpu` (H200 without it), `arch`, `layers`, `seq`, `mbs`, `mode`, `ac`, `world`
// and the degrees of the mode:
//   fsdp   parameters sharded over all ranks (`hsdp`: over groups of that many), experts over `ep`;
//          `no_reshard`: they stay gathered after forward
//   tp     tensor and sequence parallel over `tp` ranks, FSDP over the rest
//   pp     `micro` micro-batches, `v` stages a rank, `schedule` of torch.distributed, in 16 bits
//   ddp    replicas, in 16 bits
//   cp     context_parallel of torch.distributed over all ranks, with FSDP
//   local  every rank alone, in 16 bits
// `fp8`: linear layers in 8 bits; `eager`: nothing is compiled; `dyn`: tokens are routed as
// torchtitan does, with splits that the host reads.
#pragma once

#include "importers/foreign_row.hpp"

namespace stepcast {

void read_measured_step(const nlohmann::json& json, ProfileCache& profiles,
                        std::vector<Record>& records);

}  // namespace stepcast
