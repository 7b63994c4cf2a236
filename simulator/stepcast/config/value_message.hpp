// SPDX-License-Identifier: Apache-2.0
// What a value of a config file or of a record looks like in a message.
#pragma once

#include <string>
#include <string_view>

#include "stepcast/base/units_text.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {

// Text of the input as it may stand in a message: short and without control characters.
std::string shown(std::string_view text, std::size_t longest = 60);
// A value as a record has it: "the text 'x'", 7, null, a list.
std::string shown(const ConfigNode& value);
// Text of a config file: short, in any script.
std::string clipped(const std::string& text);

std::string must_be_object(std::string_view what);
std::string kind_name(ConfigNode::Kind kind);
// Of a value of a config file that is no scalar.
std::string not_single(const ConfigNode& value, std::string_view example);

// What a config file is to have, and the range of it.
struct WantedNumber {
  std::string_view what;
  std::string_view example;
  std::string lowest;
  std::string highest;
};

std::string config_number_message(const ConfigNode& value, NumberFault fault,
                                  const WantedNumber& wanted);
// The same of a number with a unit, as it is written.
std::string quantity_message(const std::string& written, QuantityFault fault,
                             std::string_view example);
std::string out_of_range_message(const std::string& written, const UnitRange& range);

}  // namespace stepcast
