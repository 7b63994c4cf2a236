// SPDX-License-Identifier: Apache-2.0
// A dispatch or a combine written as a JSON object; operator_line.hpp has the form of a line.
//
//   {"kind": "dispatch", "dispatcher": "deepep", "tokens": 4096, "hidden": 7168, "experts": 256,
//    "topk": 8, "ep": 32, "dtype": "fp8", "routing": {"kind": "group_limited", "groups": 4,
//    "groups_per_token": 4}}
//
//   routing   uniform, round_robin_forced or independent; or an object with one of them as `kind`,
//             or {"kind": "zipf", "alpha": 1.0}, {"kind": "group_limited", "groups": 8,
//             "groups_per_token": 4}, {"counts": [...]} with the tokens of each expert over all
//             ranks, {"counts_file": "counts.txt"} with the same as a text of whole numbers
//   pass      fwd or bwd. The gradient of a dispatch is combined and that of a combine dispatched,
//   so
//             that bwd is the price of the other kind in 16 bits, its primitive the mirrored one
//   optional  primitive (auto), stride (1), num_sms (0: the dispatcher's own), capacity_factor (0:
//             none); `version` 2 and `low_latency` true stand for deepep_v2 and deepep_low_latency
#pragma once

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/graph/expert_exchange.hpp"

namespace stepcast {

// Problems are recorded in `fields`, and what is returned then is of no use.
ExpertExchange read_exchange(MappingReader& fields, ExchangePhase phase, Dtype dtype);

}  // namespace stepcast
