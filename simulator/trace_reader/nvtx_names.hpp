// SPDX-License-Identifier: Apache-2.0
// What the text of a range of NVTX says that the range is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

// Of a range of PyTorch's emit_nvtx, "aten::mm, seq = 3, op_id = 7, sizes = [[8, 4], [4, 2]]".
struct NvtxRangeName {
  std::string name;        // "aten::mm"
  std::string input_dims;  // "[[8,4],[4,2]]"; empty: not stated
  bool of_operator = false;
};

NvtxRangeName nvtx_range_name(std::string_view text);

// The kind of steps that a range is one of: the place of its word among those that are known, in
// the order in which they are looked for. Empty where the range is no step.
std::optional<std::size_t> step_kind(std::string_view name);

}  // namespace stepcast
