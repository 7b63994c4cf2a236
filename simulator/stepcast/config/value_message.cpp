// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/value_message.hpp"

#include "stepcast/base/printable.hpp"

namespace stepcast {

std::string shown(std::string_view text, std::size_t longest) {
  return printable(beginning_of(text, longest));
}

std::string shown(const ConfigNode& value) {
  switch (value.kind) {
    case ConfigNode::Kind::kNull:
      return "null";
    case ConfigNode::Kind::kScalar:
      return value.quoted ? "the text '" + shown(value.text) + "'" : shown(value.text);
    case ConfigNode::Kind::kSequence:
      return "a list";
    case ConfigNode::Kind::kMapping:
      return "an object";
  }
  return {};
}

std::string must_be_object(std::string_view what) {
  return "the " + std::string(what) + " must hold one JSON object, { \"key\": value, ... }";
}

std::string clipped(const std::string& text) {
  constexpr std::size_t kShown = 60;
  return beginning_of(text, kShown);
}

std::string kind_name(ConfigNode::Kind kind) {
  switch (kind) {
    case ConfigNode::Kind::kNull:
      return "nothing";
    case ConfigNode::Kind::kScalar:
      return "a single value";
    case ConfigNode::Kind::kSequence:
      return "a list";
    case ConfigNode::Kind::kMapping:
      return "a mapping";
  }
  return "";
}

std::string not_single(const ConfigNode& value, std::string_view example) {
  return " must be a single value, not " + kind_name(value.kind) +
         (example.empty() ? "; write one value" : "; write e.g. " + std::string(example));
}

std::string config_number_message(const ConfigNode& value, NumberFault fault,
                                  const WantedNumber& wanted) {
  const std::string example(wanted.example);
  if (value.kind != ConfigNode::Kind::kScalar) {
    return not_single(value, example);
  }
  const std::string written = clipped(value.text);
  return fault == NumberFault::kOutOfRange
             ? ": " + written + " is out of range; give " + wanted.lowest + " to " + wanted.highest
             : ": '" + written + "' is not " + std::string(wanted.what) + "; write e.g. " + example;
}

std::string quantity_message(const std::string& written, QuantityFault fault,
                             std::string_view example) {
  const std::string start = ": '" + clipped(written) + "' ";
  const std::string remedy = "; write e.g. " + std::string(example);
  switch (fault) {
    case QuantityFault::kNoUnit:
      return start + "has no unit" + remedy;
    case QuantityFault::kWrongUnit:
      return start + "has a wrong unit" + remedy;
    case QuantityFault::kOutOfRange:
      return start + "is out of range" + remedy;
    default:
      return start + "is not a number with a unit" + remedy;
  }
}

std::string out_of_range_message(const std::string& written, const UnitRange& range) {
  const auto end = [&range](double number) {
    constexpr double kShort = 1000.0;
    return (number < kShort ? shortest_text(number) : whole_number(number)) + " " +
           std::string(range.unit);
  };
  return ": '" + clipped(written) + "' is out of range; give " + end(range.range.lowest) + " to " +
         end(range.range.highest);
}

}  // namespace stepcast
