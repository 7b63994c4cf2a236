// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/config_json.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

template <typename Number>
bool read_whole(const std::string& text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && after == end;
}

Json scalar_json(const ConfigNode& node) {
  if (!node.quoted) {
    std::int64_t whole = 0;
    double number = 0.0;
    if (node.text == "true" || node.text == "false") {
      return node.text == "true";
    }
    if (read_whole(node.text, whole)) {
      return whole;
    }
    if (read_whole(node.text, number)) {
      return number;
    }
  }
  return node.text;
}

}  // namespace

nlohmann::ordered_json json_of(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      return nullptr;
    case ConfigNode::Kind::kScalar:
      return scalar_json(node);
    case ConfigNode::Kind::kSequence: {
      Json list = Json::array();
      for (const ConfigNode& item : node.items) {
        list.push_back(json_of(item));
      }
      return list;
    }
    case ConfigNode::Kind::kMapping: {
      Json object = Json::object();
      for (const ConfigEntry& entry : node.entries) {
        object[entry.key] = json_of(entry.value);
      }
      return object;
    }
  }
  return nullptr;
}

}  // namespace stepcast
