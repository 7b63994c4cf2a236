// SPDX-License-Identifier: Apache-2.0
// Measured times of operators by themselves: what a backend that prices by a table is made from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/operators/operator_line.hpp"

namespace stepcast {

struct MeasuredOperator {
  OperatorLine work;
  std::string gpu;
  Seconds time;
  std::optional<double> duty;  // share of the time that it runs in bursts; empty: without pauses
};

struct MeasuredOperators {
  std::string file;  // that holds them, for messages; empty: there are none
  std::vector<MeasuredOperator> rows;
  std::map<std::string, ClusterSpec> machines;  // by the GPU of a row
};

}  // namespace stepcast
