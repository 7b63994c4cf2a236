// SPDX-License-Identifier: Apache-2.0
// The types of Hugging Face whose layers differ in heads and widths (hf_types.hpp), with keys of
// their own for sizes. Source: configuration_openelm.py and configuration_decilm.py, which lie
// beside the checkpoints.
#pragma once

#include "frameworks/hf_types.hpp"

namespace stepcast {

// OpenELM: heads and multipliers of the width are lists of one a layer.
void import_openelm(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
// Llama-Nemotron of a search over blocks (DeciLM): 'block_configs' gives each layer the query heads
// of a key head and the feed-forward's share of the width, or leaves a block out.
void import_nemotron_nas(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);

}  // namespace stepcast
