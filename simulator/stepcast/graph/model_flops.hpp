// SPDX-License-Identifier: Apache-2.0
// FLOPs a token of training, by torchtitan's convention, the one that MFU is stated in here.
//
//   6 (N_active - N_embedding) + 6 L A (D_qk + D_v) s
//
// 2 FLOPs a parameter forward and 4 backward for every parameter that a token uses, without the
// token embedding (a lookup; a tied matrix counts as the output matrix); plus attention over all s
// positions of the sequence, masked or not. Recomputation is not model work, and multi-token
// prediction modules are not counted either (they are priced all the same). Source: torchtitan,
// get_nparams_and_flops; Megatron-LM counts the same for dense models.
#pragma once

#include "stepcast/base/units.hpp"
#include "stepcast/graph/model_spec.hpp"

namespace stepcast {

inline constexpr const char* kFlopConvention =
    "torchtitan: 6 (active parameters - embedding) + 6 L heads (d_qk + d_v) seq, attention uncut "
    "by "
    "the mask, no recomputation, no multi-token prediction";

// FLOPs of forward and backward for one token of a sequence of `sequence_length`.
Flops training_flops_per_token(const ModelSpec& model, std::int64_t sequence_length);

}  // namespace stepcast
