// SPDX-License-Identifier: Apache-2.0
// The list of backends that ship with stepcast, and how to pick one for each role.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/validation/measurements.hpp"

namespace stepcast {

// What a backend that reads a file of measurements is made from: measured:FILE.
struct BackendArgument {
  std::filesystem::path file;  // empty: as if the file had no rows
  DataRoot data;
  Importers importers;  // that read it
};

template <typename Role>
using MakeModel = std::shared_ptr<const Role> (*)();
template <typename Role>
using MakeFromFile = std::shared_ptr<const Role> (*)(const BackendArgument&);

using MakeBackend =
    std::variant<MakeModel<GemmModel>, MakeModel<AttentionModel>, MakeModel<MemoryBoundModel>,
                 MakeModel<CollectiveModel>, MakeFromFile<GemmModel>, MakeFromFile<AttentionModel>,
                 MakeFromFile<MemoryBoundModel>, MakeFromFile<CollectiveModel>>;

struct BackendInfo {
  std::string_view role;  // gemm, attention, memory_bound, collective
  std::string_view name;
  std::string_view equation;
  std::string_view assumptions;
  MakeBackend make;

  [[nodiscard]] bool takes_file() const;
};

// Every backend, by role; the first of a role is its default.
std::span<const BackendInfo> builtin_backends();

// The backend of this role and name, or null.
const BackendInfo* find_backend(std::string_view role, std::string_view name);

// The default backend of every role.
CostModel default_cost_model();

// Replaces the backend of info's role. Throws ConfigError for a file that is wrong.
void use_backend(CostModel& model, const BackendInfo& info, const BackendArgument& argument = {});

std::shared_ptr<const GemmModel> make_roofline_gemm();
std::shared_ptr<const GemmModel> make_tile_gemm();
std::shared_ptr<const AttentionModel> make_tile_attention();
std::shared_ptr<const AttentionModel> make_roofline_attention();
std::shared_ptr<const MemoryBoundModel> make_passes_memory_bound();
std::shared_ptr<const CollectiveModel> make_library_collective();
std::shared_ptr<const CollectiveModel> make_ring_direct_collective();

std::shared_ptr<const GemmModel> make_measured_gemm(const BackendArgument& argument);
std::shared_ptr<const AttentionModel> make_measured_attention(const BackendArgument& argument);
std::shared_ptr<const MemoryBoundModel> make_measured_memory_bound(const BackendArgument& argument);
std::shared_ptr<const CollectiveModel> make_measured_collective(const BackendArgument& argument);

}  // namespace stepcast
