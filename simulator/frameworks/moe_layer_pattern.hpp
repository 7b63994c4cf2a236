// SPDX-License-Identifier: Apache-2.0
// Which layers have experts, as Megatron's --moe-layer-freq says it.
//
//   2                   every second layer, from the first on; -1 is every layer, as Python divides
//   ([0]*3+[1]*58)      three dense layers, then 58 with experts
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// A truth value a layer; nothing where the text is no such pattern.
std::optional<std::vector<bool>> moe_layer_pattern(std::string_view text, std::int64_t layers);

// Whether a model file can say it: `first` dense layers, then the last of every `every` layers.
struct MoePlaces {
  std::int64_t first_dense_layers = 0;
  std::int64_t every = 1;
  bool exact = true;  // false: as many layers as the pattern has, in other places
};
// Nothing where no layer has experts, or where as many cannot be placed.
std::optional<MoePlaces> moe_places(const std::vector<bool>& pattern);

// The text for the places of a model; empty for experts in every layer.
std::string moe_layer_text(const MoeSpec& moe, std::int64_t layers);

}  // namespace stepcast
