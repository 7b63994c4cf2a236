// SPDX-License-Identifier: Apache-2.0
// Builds a tree that the readers of experiments take, key after key.
//
//   ConfigWriter plan;
//   plan.field("tp", 8);
//   plan.field("schedule", "1f1b");
//   ConfigNode mapping = plan.take();   // {tp: 8, schedule: "1f1b"}
//
// Numbers and switches are plain scalars, texts are quoted ones, so that each keeps its type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stepcast/base/units_text.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast {

// The value of a key that is neither a list nor a mapping.
using ConfigScalar = std::variant<bool, std::int64_t, double, std::string_view>;

ConfigNode scalar_node(const ConfigScalar& value);
ConfigNode list_node(const std::vector<std::int64_t>& values);
ConfigNode list_node(const std::vector<std::string>& texts);

class ConfigWriter {
 public:
  ConfigWriter();

  void field(std::string_view key, const ConfigScalar& value) { field(key, scalar_node(value)); }
  void field(std::string_view key, ConfigNode value);
  template <typename Q>
  void quantity(std::string_view key, Q value) {
    field(key, scalar_node(format_quantity(value)));
  }
  // The keys up to the next end() go into a mapping of this key.
  void begin(std::string_view key);
  void end();

  [[nodiscard]] bool empty() const { return open_.front().entries.empty(); }
  ConfigNode take();

 private:
  std::vector<ConfigNode> open_;  // the mapping being written, and those around it first
  std::vector<std::string> keys_;
};

}  // namespace stepcast
