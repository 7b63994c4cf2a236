// SPDX-License-Identifier: Apache-2.0
// What an operator works on, by which a traced one and one of ours are told to be the same.
//
//   gemm             8192 x 4096 x 14336      the larger of m and n, the smaller, k; "4 of" a batch
//   grouped_gemm     49152 x 2048 x 1408 in 32  rows of all groups x the larger of n and k x the
//                                             smaller, groups; "wgrad" of weights' gradients
//   attention        fwd 1 x 8192 x 32 x 128  batch x sequence x heads x head size
//   all_gather, ...  2.001 GiB / 2            the full tensor, ranks
//
// Products are kept without the order of m and n, since libraries compute transposed results, and
// attention without the heads of keys, which frameworks repeat. Kernels that memory bounds have no
// shape here: compilers fuse them as they please.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace_reader/step_categories.hpp"

namespace stepcast {

struct WorkShape {
  StepCategory category = StepCategory::kOther;
  bool weight_gradient = false;         // of a grouped product
  std::array<std::int64_t, 6> sizes{};  // as the table above has them, read from the end
  auto operator<=>(const WorkShape&) const = default;
};

// Ends with the names that reports print: "8192 x 4096 x 14336".
std::string shape_text(const WorkShape& shape);

// Of one of our operators; empty for what memory bounds.
std::optional<WorkShape> work_shape(const Op& op);

// Of an operator of PyTorch or of one of its libraries that ran a kernel of `category`, from the
// shapes of its inputs as the profiler writes them, "[[8192,4096],[4096,14336]]".
std::optional<WorkShape> work_shape(StepCategory category, std::string_view op,
                                    const std::string& input_dims);

// Those shapes, "[[1, 77, 1280], [], [1280]]"; a size that is no number from 1 on is 0, a text of
// another kind has none.
std::vector<std::vector<std::int64_t>> shapes_in(const std::string& text);
// The same with those of lists of tensors in their place, "[[[32, 8], [1, 8]], []]".
std::vector<std::vector<std::int64_t>> tensors_in(const std::string& text);

struct CollectiveSizes {
  double in_elements = 0.0;
  double out_elements = 0.0;
  std::int64_t ranks = 0;
  std::string_view dtype;  // as PyTorch calls it
};
std::optional<WorkShape> work_shape(StepCategory category, const CollectiveSizes& sizes);

// Of communication: the bytes of the full tensor, and its ranks.
double bytes_of(const WorkShape& shape);
std::int64_t ranks_of(const WorkShape& shape);

}  // namespace stepcast
