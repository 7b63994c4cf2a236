// SPDX-License-Identifier: Apache-2.0
// What a published run states of its software on top of the set for its framework, as the key
// `software` of an experiment.
#pragma once

#include "importers/foreign_row.hpp"
#include "importers/stated_object.hpp"

namespace stepcast {

struct RunSoftware {
  std::string base;                   // a shipped set
  Record changes = Record::object();  // switches on top of it

  // The value of the key `software`.
  [[nodiscard]] Record record() const;
};

// What a row's software depends on besides its own texts.
struct RunFacts {
  bool experts = false;
};

// Reads `train.overlap`, every key of it, into switches; throws RefusedRow for a value that is not
// known. What it says about the plan (context parallelism, the schedule) goes there.
void read_overlap(StatedObject& train, const RunFacts& facts, RunSoftware& software, Record& plan,
                  Record& assumed);

}  // namespace stepcast
