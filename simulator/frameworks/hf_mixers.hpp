// SPDX-License-Identifier: Apache-2.0
// The types of Hugging Face whose layers mix positions otherwise than by full attention, or choose
// what they attend to (hf_types.hpp). Source: configuration_<model_type>.py and
// modeling_<model_type>.py of transformers, or of the checkpoint where those are named.
#pragma once

#include "frameworks/hf_types.hpp"

namespace stepcast {

void import_lfm2(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
void import_lfm2_moe(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
// Qwen3-Next and Qwen3.5, with experts where there are any.
void import_qwen3_next(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
void import_kimi_linear(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
void import_deepseek_v4(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
// Of the layers of latent attention that the model has.
void read_hf_indexer(MappingReader& fields, ModelSpec& model);

}  // namespace stepcast
