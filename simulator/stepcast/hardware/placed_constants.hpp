// SPDX-License-Identifier: Apache-2.0
// All described constants of a folder of hardware_profiles, or of its file of libraries, by their
// place in its files.
#pragma once

#include <vector>

#include "stepcast/hardware/constant_sections.hpp"
#include "stepcast/hardware/dispatcher.hpp"

namespace stepcast {

enum class ProfileFolder {
  kGpus,
  kKernels,
  kArchitectures,
  kCollectives,
  kExchange,
  kHosts,
  kLibraries
};

// In the order of the files, whether or not a file gives them.
std::vector<PlacedConstant> placed_constants(ProfileFolder folder);

// Those of one dispatcher of hardware_profiles/exchange.
std::vector<PlacedConstant> placed_constants(Dispatcher dispatcher);

// What a number of a GPU's profile, or of a file that the profile names, is; empty where no table
// has it. `key` is that of its provenance: "clock.sustained.bf16".
std::string_view meaning_of(std::string_view key);

}  // namespace stepcast
