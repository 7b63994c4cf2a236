// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/kernel_constants.hpp"

namespace stepcast {

AttentionConstants read_attention_constants(SourcedReader reader) {
  constexpr Range<double> kShare{0.05, 1.0};
  constexpr Range<double> kCycles{0.0, 100'000.0};
  AttentionConstants attention;
  attention.forward_efficiency = reader.number("forward_efficiency", kShare);
  attention.backward_efficiency = reader.number("backward_efficiency", kShare);
  attention.group_cycles = reader.number("group_cycles", kCycles);
  attention.reduction_rate = reader.optional_quantity<BytesPerSecond>("reduction_rate");
  reader.finish();
  return attention;
}

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
