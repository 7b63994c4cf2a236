// SPDX-License-Identifier: Apache-2.0
// Measured operators as what they took over what the default models say, looked up by the
// operator; measured.cpp has the equations.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/builtin_backends.hpp"

namespace stepcast {

// Where an operator lies among others: what it must share with a row to be compared, and its sizes.
struct ShapePoint {
  using Kind = std::array<std::int64_t, 12>;
  using Sizes = std::array<double, 5>;
  Kind kind{};
  Sizes log2_sizes{};
};

ShapePoint shape_point(const OpWork& work);

// What the default model's time is multiplied with, and why.
struct TableFactor {
  double ratio = 1.0;
  Origin origin = Origin::kFallback;
};

class MeasuredTable {
 public:
  MeasuredTable() = default;  // without rows
  // The rows of `role`; none of no file. Throws ConfigError for a file without rows of that role.
  MeasuredTable(BackendRole role, const MeasuredOperators& measured);

  [[nodiscard]] TableFactor factor(const OpWork& work, const std::string& gpu) const;

 private:
  struct Row {
    OpWork work;
    ShapePoint::Sizes log2_sizes;
    double log_ratio = 0.0;
  };
  using RowsByKind = std::map<ShapePoint::Kind, std::vector<Row>>;

  std::map<std::string, RowsByKind> gpus_;
};

}  // namespace stepcast
