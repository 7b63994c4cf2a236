// SPDX-License-Identifier: Apache-2.0
// The work of an operator of a file by its kind, key by key, and the sizes and directions that it
// may have; operator_line.hpp has the keys. Problems are recorded in `fields`, and what is returned
// then is of no use.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/cost/cost_model.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/model/expert_exchange.hpp"

namespace stepcast {

inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;
inline constexpr Range<std::int64_t> kSize{1, kLargestSize};
inline constexpr Range<std::int64_t> kSizeOrNone{0, kLargestSize};
inline constexpr Range<std::int64_t> kTaps{1, 64};
inline constexpr Range<std::int64_t> kHeadSize{1, 65'536};

// The values of an enumeration and further names of some of them.
template <typename Enum, typename Aliases>
std::vector<NamedValue<Enum>> with_aliases(std::vector<NamedValue<Enum>> values,
                                           const Aliases& aliases) {
  values.insert(values.end(), aliases.begin(), aliases.end());
  return values;
}

// An error if a tensor has more elements than any program counts: one a line, at the largest number
// that it gives, or at `key` if it gives none.
void check_elements(MappingReader& fields, std::string_view key, double elements);

// --- products -----------------------------------------------------------------------------------

Op read_gemm(MappingReader& fields, Dtype dtype, const DeviceSpec& device);
Op read_grouped_gemm(MappingReader& fields, Dtype dtype, const DeviceSpec& device);

// --- mixers -------------------------------------------------------------------------------------

Op read_attention(MappingReader& fields, Dtype dtype, const DeviceSpec& device);
Op read_linear_attention(MappingReader& fields, Dtype dtype, const DeviceSpec& device);
Op read_sparse_attention(MappingReader& fields, Dtype dtype, const DeviceSpec& device);
Op read_index_scores(MappingReader& fields, Dtype dtype, const DeviceSpec& device);

// --- collectives --------------------------------------------------------------------------------

Op read_collective(MappingReader& fields, Dtype dtype, const DeviceSpec& device);

// Makes `priced` that of one of many calls: a kernel comes after the one before, and after the call
// by the machine's host.
void wait_for_host(const Collective& op, const ClusterSpec& machine, Detail detail,
                   PricedOp& priced);

// --- exchanges of tokens among experts ----------------------------------------------------------

Op read_dispatch(MappingReader& fields, Dtype dtype, const DeviceSpec& device);
Op read_combine(MappingReader& fields, Dtype dtype, const DeviceSpec& device);

}  // namespace stepcast
