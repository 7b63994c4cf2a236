// SPDX-License-Identifier: Apache-2.0
// How much of a step's time rests on which constants, and what stands behind those
// (experiment/provenance_shares.hpp says what "rests on" means).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

struct RestingConstant {
  Provenance constant;
  std::string source;  // what the key of its source stands for; why it is assumed
  double share = 0.0;  // of the step's time
};

struct ProvenanceShares {
  std::vector<RestingConstant> constants;  // the largest share first; they add up to 1

  // Of all constants of a kind.
  [[nodiscard]] double of(SourceKind kind) const;
};

}  // namespace stepcast
