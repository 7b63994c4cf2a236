// SPDX-License-Identifier: Apache-2.0
// The model types of Hugging Face that a model file can say: what the keys of each mean
// (hf_config.hpp).
#pragma once

#include <span>
#include <string_view>

#include "frameworks/hf_attention.hpp"
#include "frameworks/hf_experts.hpp"

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

struct HfType {
  std::string_view model_type;
  // Expects sizes, layers and query heads in the model, unless it reads them.
  void (*read)(MappingReader&, const ClassDefaults&, ModelSpec&);
  ClassDefaults defaults;
};
std::span<const HfType> hf_types();

// A type that is known and has no form here.
struct HfRefusal {
  std::string_view model_type;
  std::string_view lacks;
};
std::span<const HfRefusal> hf_refusals();

}  // namespace stepcast
