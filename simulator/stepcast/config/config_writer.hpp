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
#include <vector>

#include "stepcast/base/units_text.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast {

ConfigNode number_node(std::int64_t value);
ConfigNode number_node(double value);
ConfigNode switch_node(bool value);
ConfigNode text_node(std::string_view value);
ConfigNode list_node(const std::vector<std::int64_t>& values);
ConfigNode list_node(const std::vector<std::string>& texts);

class ConfigWriter {
 public:
  ConfigWriter();

  void field(std::string_view key, std::int64_t value) { field(key, number_node(value)); }
  void field(std::string_view key, double value) { field(key, number_node(value)); }
  void field(std::string_view key, bool value) { field(key, switch_node(value)); }
  void field(std::string_view key, std::string_view value) { field(key, text_node(value)); }
  void field(std::string_view key, const std::string& value) { field(key, text_node(value)); }
  void field(std::string_view key, const char* value) { field(key, text_node(value)); }
  void field(std::string_view key, ConfigNode value);
  template <typename Q>
  void quantity(std::string_view key, Q value) {
    field(key, text_node(format_quantity(value)));
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
