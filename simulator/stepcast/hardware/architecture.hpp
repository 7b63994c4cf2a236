// SPDX-License-Identifier: Apache-2.0
// An architecture, and the kernels that its libraries have: hardware_profiles/architectures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/attention_library.hpp"
#include "stepcast/hardware/device_runtime.hpp"
#include "stepcast/hardware/gemm_library.hpp"

namespace stepcast {

struct Architecture {
  std::string name;     // as a GPU's profile writes it
  std::string kernels;  // whose file describes its kernels, mostly its own
  DeviceRuntime runtime = DeviceRuntime::kCuda;
  std::string usual_software;  // the set that is assumed where an experiment names none
  GemmLibrary gemm;
  AttentionLibrary attention;
};

// Reads the kernels of a file's tree; its own sources are added to the shared `sources`, where each
// number comes from to `provenance`, and its problems to `diagnostics`.
Architecture read_architecture(const ConfigNode& root, SourceTable& sources,
                               std::vector<Provenance>& provenance, Diagnostics& diagnostics);

// Finds the architecture that `key` of a GPU's profile names in `folder`, or the one whose kernels
// that runs. An unknown name is an error with the nearest one or, where its number is another one,
// with all that there are.
Architecture find_architecture(MappingReader& profile, std::string_view key,
                               const std::filesystem::path& folder, SourceTable& sources,
                               std::vector<Provenance>& provenance);

}  // namespace stepcast
