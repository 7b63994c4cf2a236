// SPDX-License-Identifier: Apache-2.0
// What Megatron and Primus call values of keys (megatron/training/arguments.py of Megatron-LM;
// configs/modules/megatron/primus_pipeline.yaml of Primus).
#pragma once

#include "frameworks/words.hpp"

namespace stepcast {

// cp_comm_type, the algorithm of context parallelism.
inline constexpr std::array kContextWays = {
    Word{"p2p", "ring"}, Word{"a2a", "all_to_all"}, Word{"allgather", "all_gather"},
    Word{"all_gather", "all_gather"}, Word{"a2a+p2p", "all_to_all_ring"}};
// data_parallel_sharding_strategy, the ZeRO stage of Megatron's own FSDP.
inline constexpr std::array kFsdpStages = {Word{"no_shard", "0"}, Word{"optim", "1"},
                                           Word{"optim_grads", "2"},
                                           Word{"optim_grads_params", "3"}};
// pp_algorithm of Primus' own pipelines.
inline constexpr std::array kPrimusSchedules = {
    Word{"1f1b", "1f1b"},         Word{"1f1b-interleaved", "interleaved_1f1b"},
    Word{"zero-bubble", "zb_h1"}, Word{"zero-bubble-heuristic", "zb_h1"},
    Word{"zbv-formatted", "zbv"}, Word{"v-half", "v_half"},
    Word{"v-min", "v_min"}};
// attention_backend; empty for what the software set runs.
inline constexpr std::array kAttentionBackends = {
    Word{"auto", ""}, Word{"flash", "flash2"}, Word{"fused", "cudnn"}, Word{"unfused", "unfused"},
    Word{"local", "unfused"}};

}  // namespace stepcast
