// SPDX-License-Identifier: Apache-2.0
// Settings of a framework's file that lower memory and that no key here says. What they touch is
// counted whole, and reports say how much that is:
//
//   uncarried_savings:
//     - {setting: tiled_mlp true, of: workspace}
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

enum class MemoryPart { kParameters, kOptimizer, kActivations, kLoss, kWorkspace };
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<MemoryPart> = {
    "parameters", "optimizer", "activations", "loss", "workspace"};

struct UncarriedSaving {
  std::string setting;  // as the framework's file has it, with its value
  MemoryPart of = MemoryPart::kActivations;
  bool operator==(const UncarriedSaving&) const = default;
};

// The list that `reader` has under kUncarriedSavings. Reports what is no such list.
std::vector<UncarriedSaving> read_uncarried_savings(MappingReader& reader,
                                                    Diagnostics& diagnostics);
// As it is read.
ConfigNode uncarried_savings_node(const std::vector<UncarriedSaving>& savings);

inline constexpr const char* kUncarriedSavings = "uncarried_savings";

}  // namespace stepcast
