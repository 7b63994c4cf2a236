// SPDX-License-Identifier: Apache-2.0
// What a published LoRA run trains and how it was launched: the rows name neither the rank nor the
// matrices, but the benchmark's rules and the frameworks' recipes do.
#pragma once

#include "importers/foreign_row.hpp"
#include "importers/run_software.hpp"
#include "importers/stated_object.hpp"

namespace stepcast {

// Whether the row's task is LoRA. Throws RefusedRow for a task that is neither LoRA nor
// pretraining.
bool trains_adapters(StatedObject& row);

// Adds `lora` to the keys of `training`, and the set and switches of the software that such runs
// have; says what is assumed. Nothing for another task.
void settle_adapter(StatedObject& row, const DeviceSpec& device, Record& training, Record& plan,
                    RunSoftware& software, Record& assumed);

}  // namespace stepcast
