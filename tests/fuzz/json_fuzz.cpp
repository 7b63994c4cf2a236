// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "fuzz/targets.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast::fuzz {
namespace {

using Json = nlohmann::ordered_json;

class TreeCheck {
 public:
  explicit TreeCheck(std::string_view text) : text_(text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') {
        line_starts_.push_back(i + 1);
      }
    }
  }

  void check(const ConfigNode& node, const Json& json) const {
    const std::string_view here = text_at(node.line, node.column);
    switch (node.kind) {
      case ConfigNode::Kind::kNull:
        promise(json.is_null() && here.starts_with("null"), "a null is none");
        break;
      case ConfigNode::Kind::kScalar:
        check_scalar(node, json, here);
        break;
      case ConfigNode::Kind::kSequence:
        promise(json.size() == node.items.size() && here.starts_with('['), "a list is none");
        for (std::size_t i = 0; i < node.items.size(); ++i) {
          check(node.items[i], json[i]);
        }
        break;
      case ConfigNode::Kind::kMapping:
        promise(json.size() == node.entries.size() && begins_object(here), "an object is none");
        for (const ConfigEntry& entry : node.entries) {
          promise(text_at(entry.line, entry.column).starts_with('"'), "a key has a wrong place");
          promise(node.find(entry.key) == &entry.value, "a key is repeated");
          check(entry.value, json.at(entry.key));
        }
        break;
    }
  }

 private:
  // What follows a place.
  [[nodiscard]] std::string_view text_at(int line, int column) const {
    promise(line >= 1 && static_cast<std::size_t>(line) <= line_starts_.size() && column >= 1,
            "there is no such place");
    const std::size_t at = line_starts_[static_cast<std::size_t>(line - 1)];
    return text_.substr(std::min(text_.size(), at + static_cast<std::size_t>(column - 1)));
  }
  // A byte order mark may stand before the outermost one.
  static bool begins_object(std::string_view here) {
    return here.starts_with('{') || here.starts_with("\xEF\xBB\xBF");
  }
  static void check_scalar(const ConfigNode& node, const Json& json, std::string_view here) {
    if (node.quoted) {
      promise(json == node.text && here.starts_with('"'), "a text is another");
    } else if (json.is_boolean()) {
      promise(flag_of(node) == json.get<bool>() && here.starts_with(node.text),
              "a flag is another");
    } else {
      const std::optional<double> number = number_of(node);
      promise(!number || *number == json.get<double>(), "a number is another");
      promise(here.starts_with('-') || (here[0] >= '0' && here[0] <= '9'),
              "a number has a wrong place");
    }
  }

  std::string_view text_;
  std::vector<std::size_t> line_starts_{0};
};

}  // namespace

int fuzz_json(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  Diagnostics diagnostics;
  const std::optional<ConfigNode> object = parse_json_object(text, {"fuzz"}, diagnostics);
  promise(object || !diagnostics.empty(), "no object and no error");
  if (object && diagnostics.empty()) {
    TreeCheck(text).check(*object, Json::parse(text));
  }
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  for (const Diagnostic& problem : diagnostics.entries()) {
    promise(problem.where.line >= 1 && problem.where.line <= lines, "an error has no line");
    promise(problem.where.column >= 1 && !problem.message.empty(), "an error has no place");
  }
  return 0;
}

}  // namespace stepcast::fuzz
