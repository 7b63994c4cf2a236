// SPDX-License-Identifier: Apache-2.0
// Published training runs (JSON lines) as records.
//
// A line has `model`, `hardware`, `parallel`, `train`, `measured`, `completeness` (A: everything
// that a simulation needs is stated, B: some of it guessed, C: partial), `family` and `task`; null
// is "not stated". What is not stated gets the framework's default, which the record names; what
// cannot be guessed, and what is stated and not known, is a reason to skip. `outcome` oom: the run
// ran out of memory.
#pragma once

#include "importers/foreign_row.hpp"

namespace stepcast {

void read_training_run(const nlohmann::json& json, ProfileCache& profiles,
                       std::vector<Record>& records);

}  // namespace stepcast
