// SPDX-License-Identifier: Apache-2.0
// Which of the shipped sets describes the framework of a published run.
#pragma once

#include "importers/foreign_row.hpp"
#include "importers/stated_object.hpp"

namespace stepcast {

// The name of the set; what the row does not state itself is added to `assumed` with its reason.
// Throws RefusedRow for a framework that no set describes.
std::string software_set(StatedObject& row, ProfileCache& profiles, Record& assumed);

// Whether AMD's scripts for MaxText (amd-agi/maxtext-slurm) launched it.
bool runs_maxtext_slurm(StatedObject& row);

}  // namespace stepcast
