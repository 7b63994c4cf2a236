// SPDX-License-Identifier: Apache-2.0
// The model of a published training run: one of ours by its name with what the row says otherwise,
// else from the row's own figures.
#pragma once

#include "importers/foreign_row.hpp"
#include "importers/stated_object.hpp"

namespace stepcast {

// The key `model` of an experiment, and what it says of the model that other keys depend on.
// NOLINTNEXTLINE(bugprone-exception-escape): JSON values move without throwing
struct RunModel {
  Record record;
  std::int64_t layers = 0;
  bool experts = false;
};

// `figures` is the row's `model`. Throws RefusedRow.
RunModel run_model(StatedObject& figures, std::int64_t sequence_length, ProfileCache& profiles);

}  // namespace stepcast
