// SPDX-License-Identifier: Apache-2.0
// Training steps measured on one host of H200 (JSON lines) as experiments.
//
// A line has `case`, `arch`, `layers`, `seq`, `mbs`, `mode`, `ac`, `world` and the degrees of the
// mode:
//   fsdp   parameters sharded over all ranks (`hsdp`: over groups of that many), experts over `ep`
//   tp     tensor and sequence parallel over `tp` ranks, FSDP over the rest
//   pp     `micro` micro-batches, `v` stages a rank, everything in 16 bits
//   local  every rank alone, in 16 bits
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "stepcast/validation/measured_run.hpp"

namespace stepcast {

MeasuredRun read_measured_step(const nlohmann::json& row, ProfileCache& profiles);

}  // namespace stepcast
