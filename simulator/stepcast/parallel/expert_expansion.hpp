// SPDX-License-Identifier: Apache-2.0
// What a rank runs between the router and the sum of the experts' results, by dispatcher.
//
//   alltoall           permute, all-to-all, sort by expert | experts | and all of it back
//   allgather          all-gather tokens and probabilities, permute its own experts' rows | experts
//                      | sum locally, reduce-scatter
//   deepep             dispatch, permute what arrived | experts | sum a token's local rows, combine
//   deepep_v2, hybridep  the same with both inside the exchange
//   deepep_low_latency dispatch into slots by expert | experts | combine
//   sonic              copy x for its peers, gather choices, index them, dispatch; the experts'
//   first
//                      product gathers its rows itself | experts | [gather scores] combine
//   minimal_async_ep   index, dispatch into slots by expert | experts | combine, sum k rows
//
// Backward mirrors it: the gradient of dispatch is shaped like combine and that of combine like
// dispatch, in bf16 both ways and over the rows known from forward (cached layout).
#pragma once

#include "stepcast/parallel/block_builder.hpp"

namespace stepcast {

// Adds the routed experts of a layer. The model has experts.
void expand_routed_experts(const ExpansionContext& context, BlockBuilder& build);

}  // namespace stepcast
