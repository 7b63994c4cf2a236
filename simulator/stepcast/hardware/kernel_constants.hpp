// SPDX-License-Identifier: Apache-2.0
// Constants of the models of kernels, shared by the parts of a family: hardware_profiles/kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/attention_constants.hpp"
#include "stepcast/hardware/gemm_constants.hpp"
#include "stepcast/hardware/memory_constants.hpp"
#include "stepcast/hardware/mixer_constants.hpp"
#include "stepcast/hardware/power_constants.hpp"

namespace stepcast {

struct KernelConstants {
  std::string name;
  PowerConstants power;
  GemmConstants gemm;
  AttentionConstants attention;
  LinearAttentionConstants linear_attention;
  SparseAttentionConstants sparse_attention;
  std::optional<SparseAttentionConstants> sparse_attention_triton;  // where they are known
  MemoryConstants memory;
};

// Reads a file's tree; its own sources are added to the shared `sources`, where each number comes
// from to `provenance`, and its problems to `diagnostics`.
KernelConstants read_kernel_constants(const ConfigNode& root, SourceTable& sources,
                                      std::vector<Provenance>& provenance,
                                      Diagnostics& diagnostics);

}  // namespace stepcast
