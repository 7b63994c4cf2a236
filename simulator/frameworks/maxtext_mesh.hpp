// SPDX-License-Identifier: Apache-2.0
// The axes of MaxText's device mesh, each a part between nodes (dcn_) times one within (ici_).
#pragma once

#include <cstdint>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/setting_reader.hpp"

namespace stepcast {

struct MaxTextMesh {
  std::int64_t data = 1;
  std::int64_t fsdp = 1;     // with fsdp_transpose
  std::int64_t context = 1;  // with sequence
  std::int64_t ulysses = 1;  // of context: heads are exchanged
  std::int64_t tensor = 1;   // with tensor_transpose and tensor_sequence
  std::int64_t pipeline = 1;
  std::int64_t expert = 1;

  [[nodiscard]] std::int64_t gpus() const {
    return data * fsdp * context * tensor * pipeline * expert;
  }
  [[nodiscard]] std::int64_t dp() const { return data * fsdp * expert; }
};

// Problems go to the reader's diagnostics, and every axis is 1 then.
MaxTextMesh read_maxtext_mesh(FrameworkReader& settings, const ImportInput& input);

}  // namespace stepcast
