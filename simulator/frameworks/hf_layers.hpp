// SPDX-License-Identifier: Apache-2.0
// The types of Hugging Face (hf_config.hpp) whose layers differ from the usual: in heads and
// widths, or by what mixes positions.
#pragma once

#include <string_view>

#include "frameworks/hf_blocks.hpp"

namespace stepcast {

// What the class of a type in transformers takes absent keys for.
struct ClassDefaults {
  AttentionDefaults attention = {};
  RouterDefaults router = {};
  bool tied_embeddings = false;
  // What says how wide a dense feed-forward is where 'intermediate_size' is absent; empty: nothing.
  std::string_view dense_width = {};
  // Whether the type's reader reads the sizes as well, by keys of its own.
  bool reads_sizes = false;
};

// Types with lists of one value a layer, and keys of their own for sizes. Source:
// configuration_openelm.py and configuration_decilm.py, which lie beside the checkpoints.
//
// OpenELM: heads and multipliers of the width are lists of one a layer.
void import_openelm(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
// Llama-Nemotron of a search over blocks (DeciLM): 'block_configs' gives each layer the query heads
// of a key head and the feed-forward's share of the width, or leaves a block out.
void import_nemotron_nas(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);

// The types of Hugging Face whose layers mix positions otherwise than by full attention, or choose
// what they attend to. Source: configuration_<model_type>.py and modeling_<model_type>.py of
// transformers, or of the checkpoint where those are named.
void import_lfm2(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
void import_lfm2_moe(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
// Qwen3-Next and Qwen3.5, with experts where there are any.
void import_qwen3_next(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
void import_kimi_linear(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
void import_deepseek_v4(MappingReader& fields, const ClassDefaults& defaults, ModelSpec& model);
// Of the layers of latent attention that the model has.
void read_hf_indexer(MappingReader& fields, ModelSpec& model);

}  // namespace stepcast
