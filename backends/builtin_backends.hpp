// SPDX-License-Identifier: Apache-2.0
// The list of backends that ship with stepcast, and how to pick one for each role.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

using MakeBackend = std::variant<
    std::shared_ptr<const GemmModel> (*)(), std::shared_ptr<const AttentionModel> (*)(),
    std::shared_ptr<const MemoryBoundModel> (*)(), std::shared_ptr<const CollectiveModel> (*)()>;

struct BackendInfo {
  std::string_view role;  // gemm, attention, memory_bound, collective
  std::string_view name;
  std::string_view equation;
  std::string_view assumptions;
  MakeBackend make;
};

// Every backend; the first of a role is its default.
std::span<const BackendInfo> builtin_backends();

// The backend of this role and name, or null.
const BackendInfo* find_backend(std::string_view role, std::string_view name);

// The default backend of every role.
CostModel default_cost_model();

// Replaces the backend of info's role.
void use_backend(CostModel& model, const BackendInfo& info);

std::shared_ptr<const GemmModel> make_roofline_gemm();
std::shared_ptr<const GemmModel> make_tile_gemm();
std::shared_ptr<const AttentionModel> make_tile_attention();
std::shared_ptr<const AttentionModel> make_roofline_attention();
std::shared_ptr<const MemoryBoundModel> make_passes_memory_bound();
std::shared_ptr<const CollectiveModel> make_ring_direct_collective();

}  // namespace stepcast
