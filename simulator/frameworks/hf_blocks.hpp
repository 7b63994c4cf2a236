// SPDX-License-Identifier: Apache-2.0
// The blocks of a layer as the facts of a Hugging Face config.json give them (hf_fields.hpp):
// sizes, attention, windows, experts, norms.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "frameworks/hf_fields.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// Modules that predict further tokens.
inline constexpr Range<std::int64_t> kMtpLayers{0, 64};

// What an optional count means if its key is not there, and if its value is null.
struct CountFallback {
  std::int64_t absent = 0;
  std::int64_t null = 0;
};
std::int64_t count_of(MappingReader& file, std::string_view key, CountFallback fallback,
                      Range<std::int64_t> range);

void read_sizes(HfFields& fields, ModelSpec& model);
void read_norms(HfFields& fields, ModelSpec& model);
void read_positions(HfFields& fields, ModelSpec& model);
// With windows and the choice of keys. Expects sizes; another kind than gqa and mla is left to the
// code of the type.
void read_attention(HfFields& fields, ModelSpec& model);
// Of the layers of latent attention that the model has.
void read_hf_indexer(HfFields& fields, ModelSpec& model);
// Experts in the layers that the type puts them into, and modules of multi-token prediction.
void read_experts(HfFields& fields, ModelSpec& model);
// Of all keys that the type has a form for, what it has.
void read_blocks(HfFields& fields, ModelSpec& model);

}  // namespace stepcast
