// SPDX-License-Identifier: Apache-2.0
#include "backends/gemm/kernel_library.hpp"

#include <algorithm>

namespace stepcast {

KernelLibrary kernel_library(const DeviceSpec& device, Dtype dtype) {
  const GemmLibrary& library = device.architecture.gemm;
  const bool blocks = dtype == Dtype::kFp8Block && library.block_scaled.has_value();
  const GemmKernels& kernels = blocks ? *library.block_scaled : library.dense;
  constexpr int kAloneOrPaired = 3;
  return {kernels.tiles, kernels.clusters == Clusters::kPairs ? kAloneOrPaired : 1,
          kernels.splits_inner, kernels.overlaps_tiles, std::nullopt};
}

KernelLibrary grouped_library(const DeviceSpec& device, Dtype dtype, double rows, double cols) {
  KernelLibrary library = kernel_library(device, dtype);
  const std::optional<GroupedKernel>& grouped = device.architecture.gemm.grouped;
  const bool sixteen_bits = dtype == Dtype::kBf16 || dtype == Dtype::kFp16;
  if (grouped && sixteen_bits && std::min(rows, cols) > grouped->above) {
    library.tiles = std::span(&grouped->tile, 1);
    library.cache_share = grouped->cache_share;
  }
  return library;
}

}  // namespace stepcast
