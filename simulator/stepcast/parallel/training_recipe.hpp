// SPDX-License-Identifier: Apache-2.0
// What is trained, apart from the model: batch, sequence, number format, recomputation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/dtype.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

// Activation recomputation in Megatron's terms.
//
//   full uniform: every layer is recomputed; one input is kept for each run of `layers` layers
//   full block: the first `layers` layers of each stage are recomputed, the rest keeps everything
//   selective: the modules named are recomputed in every layer
enum class RecomputeKind { kNone, kSelective, kFull };
enum class RecomputeMethod { kUniform, kBlock };
enum class RecomputeModule { kCoreAttention, kLayerNorm, kMlpActivation, kMlp, kMoe, kMlaUp };

struct RecomputeSpec {
  RecomputeKind kind = RecomputeKind::kNone;
  RecomputeMethod method = RecomputeMethod::kUniform;
  std::int64_t layers = 1;
  std::vector<RecomputeModule> modules = {RecomputeModule::kCoreAttention};

  [[nodiscard]] bool recomputes(RecomputeModule module) const;
};

struct TrainingRecipe {
  std::int64_t sequence_length = 0;
  std::int64_t micro_batch_size = 1;
  std::int64_t global_batch_size = 0;
  Dtype dtype = Dtype::kBf16;
  RecomputeSpec recompute;
  std::string optimizer = "adamw";
  bool dropout = false;  // GPT-3 style: after attention, softmax and MLP
};

// Reads the mapping `training` of an experiment.
TrainingRecipe read_training(MappingReader reader);

}  // namespace stepcast
