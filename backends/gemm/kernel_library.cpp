// SPDX-License-Identifier: Apache-2.0
#include "backends/gemm/kernel_library.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

// Small clusters first: among equal times, the library takes those.
constexpr std::array<ClusterShape, 5> kClusters = {{{1, 1}, {2, 1}, {1, 2}, {4, 1}, {1, 4}}};

std::span<const ClusterShape> shapes_of(Clusters clusters) {
  switch (clusters) {
    case Clusters::kNone:
      return std::span(kClusters).first(1);
    case Clusters::kPairs:
    case Clusters::kMulticastPairs:
      return std::span(kClusters).first(3);
    case Clusters::kMulticastFours:
      return kClusters;
  }
  return std::span(kClusters).first(1);
}

}  // namespace

KernelLibrary kernel_library(const DeviceSpec& device, Dtype dtype) {
  const GemmLibrary& library = device.architecture.gemm;
  const bool blocks = dtype == Dtype::kFp8Block && library.block_scaled.has_value();
  const GemmKernels& kernels = blocks ? *library.block_scaled : library.dense;
  return {kernels.tiles,        shapes_of(kernels.clusters), kernels.clusters != Clusters::kPairs,
          kernels.splits_inner, kernels.overlaps_tiles,      std::nullopt};
}

KernelLibrary grouped_library(const DeviceSpec& device, Dtype dtype, double rows, double cols) {
  KernelLibrary library = kernel_library(device, dtype);
  const std::optional<GroupedKernel>& grouped = device.architecture.gemm.grouped;
  const bool sixteen_bits = dtype == Dtype::kBf16 || dtype == Dtype::kFp16;
  if (grouped && sixteen_bits && std::min(rows, cols) > grouped->above) {
    library.tiles = std::span(&grouped->tile, 1);
    library.clusters = library.clusters.first(std::min<std::size_t>(3, library.clusters.size()));
    library.cache_share = grouped->cache_share;
  }
  return library;
}

}  // namespace stepcast
