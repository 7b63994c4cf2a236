// SPDX-License-Identifier: Apache-2.0
// A projection as text for people:
//
//   llama3.1_70b on 64 x mi300x (8 nodes), bf16, sequence 8192, global batch 128
//     plan        tp 1  cp 1  pp 1  ep 1  dp 64, fsdp 64, 2 micro-batches of 1, recompute full
//
//   tokens/s/GPU       1,105
//   step time          14.83 s
//   ...
#pragma once

#include <string>

#include "stepcast/result/projection.hpp"

namespace stepcast {

std::string to_text(const Projection& projection);
// "1 x 50 GB/s a GPU, rail_optimised_fat_tree, oversubscribed 2:1"; nothing of a single node.
std::string network_text(const Projection& projection);
// What every report about a projection starts and ends with.
std::string heading(const Projection& projection);
std::string notes_and_reasons(const Projection& projection);
std::string memory_to_text(const Projection& projection);
// A line for each pipeline rank with the keys and bytes of `memory_by_stage` of the JSON, the
// buffers' own as "buffers.loss_bytes", and the capacity; the header alone where nothing is priced.
std::string memory_to_csv(const Projection& projection);
// One header line and one line of values.
std::string to_csv(const Projection& projection);

}  // namespace stepcast
