// SPDX-License-Identifier: Apache-2.0
#include "cli/number_option.hpp"

#include <string>

#include "stepcast/base/units_text.hpp"
#include "stepcast/config/value_message.hpp"

namespace stepcast::cli {
namespace {

// As config files have it, without the colon behind a key.
std::string problem(const ConfigNode& value, NumberFault fault, const WantedNumber& wanted) {
  constexpr std::size_t kColon = 2;
  return fault == NumberFault::kNone ? std::string{}
                                     : config_number_message(value, fault, wanted).substr(kColon);
}

// A check of which --help says nothing: there stands the word of what the option takes.
CLI::Validator silent(std::function<std::string(std::string&)> check) {
  return {std::move(check), ""};
}

}  // namespace

CLI::Validator whole_number(Range<std::int64_t> range) {
  return silent([range](std::string& text) {
    const ConfigNode value = scalar_at({}, text);
    return problem(
        value, scan_whole(value, range).fault,
        {"a whole number", "8", std::to_string(range.lowest), std::to_string(range.highest)});
  });
}

CLI::Validator real_number(Range<double> range) {
  return silent([range](std::string& text) {
    const ConfigNode value = scalar_at({}, text);
    return problem(
        value, scan_number(value, range).fault,
        {"a plain number", "0.5", significant(range.lowest, 4), significant(range.highest, 4)});
  });
}

}  // namespace stepcast::cli
