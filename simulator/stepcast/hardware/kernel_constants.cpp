// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/kernel_constants.hpp"

namespace stepcast {

KernelConstants read_kernel_constants(const ConfigNode& root, SourceTable& sources,
                                      std::vector<Provenance>& provenance,
                                      Diagnostics& diagnostics) {
  MappingReader top(root, "", diagnostics);
  sources.merge(read_sources(top, "sources"));
  SourcedReader reader(std::move(top), sources, provenance);
  KernelConstants kernels;
  kernels.power = read_power_constants(reader.mapping("power"));
  kernels.gemm = read_gemm_constants(reader.mapping("gemm"));
  kernels.attention = read_attention_constants(reader.mapping("attention"));
  kernels.memory = read_memory_constants(reader.mapping("memory_bound"));
  reader.finish();
  return kernels;
}

}  // namespace stepcast
