// SPDX-License-Identifier: Apache-2.0
// What the dispatchers of DeepEP have in common.
#pragma once

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/layer/dispatcher_model.hpp"

namespace stepcast {

// Up to a multiple of 128 bytes (DeepEP, csrc/kernels/configs.cuh: NUM_BUFFER_ALIGNMENT_BYTES).
std::int64_t deepep_aligned(std::int64_t bytes);

// Of the normal kernels. With channels = units / 2: over NVLink, channels * peers * chunk * bytes
// of a token; over the network twice channels * nodes * chunk * bytes of a token; and the rows that
// arrive.
std::vector<ExchangeBuffer> deepep_buffers(const LayerExchange& exchange);

// What is true of the normal kernels of both versions.
inline constexpr DispatcherModel kDeepEpNormal = {
    .dispatch = {.usual = ExchangePrimitive::kNodeDedup},
    .combine = {.usual = ExchangePrimitive::kNodeDedup},
    .receives = {.dynamic = true, .worst_case = true},
    .sends_fp8 = true,
    .takes_num_sms = true,
    .stands_for_all_to_all = true,
    .weights_in_fp32 = true,
    .buffers = deepep_buffers,
};

// The units that DeepEP V2 takes where none are given: so many that its copies take at most as long
// as the links do.
std::int64_t deepep_v2_units(const ExpertExchange& op, const ClusterSpec& cluster);

}  // namespace stepcast
