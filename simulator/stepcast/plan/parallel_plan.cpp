// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/parallel_plan.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 4> kCpAlgorithmNames = {"ring", "all_gather", "all_to_all",
                                                               "all_to_all_ring"};

}  // namespace

std::string_view name(CpAlgorithm algorithm) { return entry(kCpAlgorithmNames, algorithm); }

template <>
std::span<const std::string_view> names_of<CpAlgorithm>() {
  return kCpAlgorithmNames;
}

}  // namespace stepcast
