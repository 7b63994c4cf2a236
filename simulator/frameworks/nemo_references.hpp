// SPDX-License-Identifier: Apache-2.0
// Values of NeMo's files that are made of other keys:
//
//   max_position_embeddings: ${.encoder_seq_length}         beside it
//   ffn_hidden_size: ${multiply:4, ${.hidden_size}}         arithmetic, one in another
//   encoder_seq_length: ${training.model.encoder_seq_length}    as the launcher has the file
//
// Source: the resolvers that NVIDIA/NeMo (core/config/hydra_runner.py) and NeMo-Framework-Launcher
// (launcher_scripts/main.py) register: multiply, sum, divide_ceil and divide_floor.
#pragma once

#include <vector>

#include "frameworks/setting.hpp"

namespace stepcast {

// Puts the values in the place of what names them. What does not come out stays as it is written.
void settle_references(std::vector<Setting>& settings);

}  // namespace stepcast
