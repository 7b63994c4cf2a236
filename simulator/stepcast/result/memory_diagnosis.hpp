// SPDX-License-Identifier: Apache-2.0
// Why a run is out of memory: its memory, and what single settings would save of it
// (diagnosis/memory_savings.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

struct MemorySaving {
  std::string what;  // "full recomputation"
  KeySettings settings;
  Bytes in_use;       // of the fullest GPU with them, as nvidia-smi counts it
  Bytes saved;        // of what it was
  double pace = 1.0;  // tokens/s with them over those without
  double odds = 0.0;  // of not running out of memory with them
};

// Something that is as large as the request that failed.
struct TensorOfSize {
  std::string what;  // "saved by a dense layer: attn.qkv", "logits and loss"
  Bytes bytes;
};

struct MemoryDiagnosis {
  Projection projection;
  std::optional<Bytes> tried;          // the request that failed
  std::vector<TensorOfSize> as_large;  // within 2 %
  std::vector<MemorySaving> savings;   // that save anything, the least loss of pace first
};

}  // namespace stepcast
