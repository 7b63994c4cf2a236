// SPDX-License-Identifier: Apache-2.0
// Lines of operators with their prices: what `stepcast cost` writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stepcast/base/error.hpp"
#include "stepcast/cost/cost_model.hpp"
#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/operator_lines/operator_line.hpp"

namespace stepcast {

struct LinePricing {
  CostModel model;
  ClusterSpec cluster;
  std::optional<Hertz> locked_clock;  // of lines that do not lock their own
  Detail detail = Detail::kDuration;
};

// The clock that a user locks. Throws ConfigError at `where` if the device does not run at it.
Hertz locked_clock(double mhz, const DeviceSpec& device, const Location& where);
// The limit that a user sets, "500 W". Throws ConfigError at `where`.
Watts power_limit(const std::string& text, const PowerSpec& power, const Location& where);

// Each line of `text`, a JSON object, with its predicted time and what belongs to it; `name` is
// what problems call the text. Throws ConfigError with the problems of all lines.
std::string priced_lines(std::string_view text, const std::string& name,
                         const LinePricing& pricing);
// The same as CSV: a header, and the cells of each line under its keys. A column for every key of
// any line, in the order in which they first stand, those of an object in it as "terms.math"; a
// cell is empty where the line lacks the key, and a list stands in it as JSON.
std::string priced_csv(std::string_view text, const std::string& name, const LinePricing& pricing);

}  // namespace stepcast
