// SPDX-License-Identifier: Apache-2.0
// What backends are chosen for: one of each role prices a step.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/graph/op.hpp"

namespace stepcast {

enum class BackendRole { kGemm, kAttention, kMemoryBound, kCollective };

inline constexpr std::array<std::string_view, 4> kBackendRoleNames = {"gemm", "attention",
                                                                      "memory_bound", "collective"};

inline std::string_view name(BackendRole role) { return entry(kBackendRoleNames, role); }

template <>
inline std::span<const std::string_view> names_of<BackendRole>() {
  return kBackendRoleNames;
}

// The role whose backend prices an operator.
struct RoleOf {
  BackendRole operator()(const Gemm& /*op*/) const { return BackendRole::kGemm; }
  BackendRole operator()(const GroupedGemm& /*op*/) const { return BackendRole::kGemm; }
  BackendRole operator()(const Attention& /*op*/) const { return BackendRole::kAttention; }
  BackendRole operator()(const LinearAttention& /*op*/) const { return BackendRole::kAttention; }
  BackendRole operator()(const SparseAttention& /*op*/) const { return BackendRole::kAttention; }
  BackendRole operator()(const IndexScores& /*op*/) const { return BackendRole::kAttention; }
  BackendRole operator()(const MemoryBound& /*op*/) const { return BackendRole::kMemoryBound; }
  BackendRole operator()(const Collective& /*op*/) const { return BackendRole::kCollective; }
  BackendRole operator()(const ExpertExchange& /*op*/) const { return BackendRole::kCollective; }
};
inline BackendRole role_of(const OpWork& work) { return std::visit(RoleOf{}, work); }

}  // namespace stepcast
