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
//
// Of layers that torchtitan has no count for, by the same rule: where keys are chosen or
// compressed, their number takes the place of s, and an indexer adds 6 heads d of each key that it
// scores (2 where no loss trains it); a gated delta rule adds 18 heads d_k d_v, three products of
// its state with a vector, whatever chunks a kernel makes; convolutions and sums of streams add
// nothing but their parameters.
//
// A parameter that is frozen has no weight gradient and counts 4 in place of 6; an adapter counts 6
// beside it. Input gradients count for every layer, also below the first trained parameter, where
// they do not run: a layer at most where adapters stand in all.
#pragma once

#include <string>

#include "stepcast/base/units.hpp"
#include "stepcast/model/document_mask.hpp"
#include "stepcast/model/model_spec.hpp"
#include "stepcast/model/trained_weights.hpp"

namespace stepcast {

// The convention in words, as reports state it.
std::string flop_convention(const TrainedWeights& weights = {});

// FLOPs of forward and backward for one token of a sequence of `sequence_length`.
Flops training_flops_per_token(const ModelSpec& model, std::int64_t sequence_length,
                               const TrainedWeights& weights = {});

// The same with the pairs of positions alone that each layer's causal mask, window and `documents`
// leave, of s^2: what an attention kernel that skips the rest computes.
Flops masked_flops_per_token(const ModelSpec& model, std::int64_t sequence_length,
                             const Documents& documents, const TrainedWeights& weights = {});

}  // namespace stepcast
