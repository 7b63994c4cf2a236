// SPDX-License-Identifier: Apache-2.0
// What a pass over memory is for, where a trace tells it: by the name of its kernel, by the hook of
// FSDP that runs it, or by the rows that it works on.
#pragma once

#include "stepcast/model/op_id.hpp"

namespace stepcast {

enum class OpPurpose {
  kComputes,    // what the model computes, or what the update needs besides
  kClips,       // the norm of all gradients, and their product with what it asks for
  kFsdpCopies,  // casts and copies of parameters and gradients around FSDP's collectives
  kExpertRows,  // tokens' rows brought into the order of experts and back, weighted, summed
};

constexpr OpPurpose purpose_of(OpId id) {
  if (id == OpId::kGradientNorm || id == OpId::kGradientClip) {
    return OpPurpose::kClips;
  }
  if (id >= OpId::kFsdpCast && id <= OpId::kFsdpStore) {
    return OpPurpose::kFsdpCopies;
  }
  const bool moves_rows = id >= OpId::kMoePermute && id <= OpId::kMoeWeightedSum;
  return moves_rows || id == OpId::kExpertsGradientSum ? OpPurpose::kExpertRows
                                                       : OpPurpose::kComputes;
}

// Whether it is a block of the model, whose operators run casts and copies of their own, and not
// one of what surrounds it.
constexpr bool is_of_model(Block block) { return block > Block::kNone && block < Block::kPipeline; }

}  // namespace stepcast
