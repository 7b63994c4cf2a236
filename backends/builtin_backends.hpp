// SPDX-License-Identifier: Apache-2.0
// The list of backends that ship with stepcast, and how to pick one for each role.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/operator_lines/operator_line.hpp"

namespace stepcast {

template <typename Role>
using MakeModel = std::shared_ptr<const Role> (*)();
template <typename Role>
using MakeFromRows = std::shared_ptr<const Role> (*)(const MeasuredOperators&);

using MakeBackend =
    std::variant<MakeModel<GemmModel>, MakeModel<AttentionModel>, MakeModel<MemoryBoundModel>,
                 MakeModel<CollectiveModel>, MakeFromRows<GemmModel>, MakeFromRows<AttentionModel>,
                 MakeFromRows<MemoryBoundModel>, MakeFromRows<CollectiveModel>>;

struct BackendInfo {
  BackendRole role;
  std::string_view name;
  std::string_view equation;
  std::string_view assumptions;
  std::string_view source;
  MakeBackend make;

  [[nodiscard]] bool takes_file() const;  // of measured operators: measured:FILE
};

// Every backend, by role; the first of a role is its default.
std::span<const BackendInfo> builtin_backends();

// The backend of these names of a role and of a backend, or null.
const BackendInfo* find_backend(std::string_view role, std::string_view name);

// The default backend of every role.
CostModel default_cost_model();

// Replaces the backend of info's role; `measured` is for one that takes a file. Throws ConfigError
// if no row of it is of the role.
void use_backend(CostModel& model, const BackendInfo& info, const MeasuredOperators& measured = {});

std::shared_ptr<const GemmModel> make_roofline_gemm();
std::shared_ptr<const GemmModel> make_tile_gemm();
std::shared_ptr<const AttentionModel> make_tile_attention();
std::shared_ptr<const AttentionModel> make_roofline_attention();
std::shared_ptr<const MemoryBoundModel> make_passes_memory_bound();
std::shared_ptr<const CollectiveModel> make_library_collective();
std::shared_ptr<const CollectiveModel> make_ring_direct_collective();

std::shared_ptr<const GemmModel> make_measured_gemm(const MeasuredOperators& measured);
std::shared_ptr<const AttentionModel> make_measured_attention(const MeasuredOperators& measured);
std::shared_ptr<const MemoryBoundModel> make_measured_memory_bound(
    const MeasuredOperators& measured);
std::shared_ptr<const CollectiveModel> make_measured_collective(const MeasuredOperators& measured);

}  // namespace stepcast
