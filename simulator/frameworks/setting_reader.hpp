// SPDX-License-Identifier: Apache-2.0
// Reads the keys of a framework's file, each once; keeps what became of every one of them.
//
//   FrameworkReader settings(read_arguments(text), diagnostics);
//   plan.tp = settings.count("tensor_model_parallel_size", "plan.tp", 1);
//   settings.without_effect({"lr", "wandb_*"});
//   settings.not_carried("moe_z_loss_coeff", "a loss of some FLOPs that is not priced");
//   settings.finish(Unknown::kRefused);
//
// A problem is recorded and reading goes on, as in config/mapping_reader.hpp. Where a key stands
// several times the last one counts, as in argparse and in shells.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/import_remark.hpp"
#include "frameworks/setting.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {

// What becomes of keys that nobody asked for: an error each, or a remark.
enum class UnknownSettings { kRefused, kRemarked };

class FrameworkReader {
 public:
  FrameworkReader(std::vector<Setting> settings, Diagnostics& diagnostics);

  // What counts where a key is absent, from a file that others share: no remark, and no error
  // where nobody asks for it.
  void add_defaults(std::vector<Setting> settings);

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] Location location(std::string_view name) const;
  [[nodiscard]] Diagnostics& diagnostics() const { return *diagnostics_; }

  // The value of `name`, which becomes our key `ours`; empty if it is absent, null or "None".
  // `ours` may be empty where a key only helps to read others.
  std::optional<std::int64_t> count(std::string_view name, std::string_view ours);
  std::optional<double> number(std::string_view name, std::string_view ours);
  // From 0 to 1.
  std::optional<double> share(std::string_view name, std::string_view ours);
  std::optional<bool> flag(std::string_view name, std::string_view ours);
  std::optional<std::string> text(std::string_view name, std::string_view ours);
  // As it stood, a list in one line.
  std::optional<std::string> as_written(std::string_view name, std::string_view ours);
  // A list, or a text with commas or blanks between its items.
  std::optional<std::vector<std::string>> texts(std::string_view name, std::string_view ours);

  // The same with the framework's default, which becomes a remark.
  std::int64_t count_or(std::string_view name, std::string_view ours, std::int64_t fallback);
  std::string text_or(std::string_view name, std::string_view ours, std::string_view fallback);
  // A switch that is off where it is absent, in every framework: no remark.
  bool is_on(std::string_view name, std::string_view ours);

  // Keys that change nothing that is predicted; a name that ends in '*' stands for all that begin
  // so.
  void without_effect(std::span<const std::string_view> names);
  // A key that changes the result if it is there with a value other than `neutral`.
  void not_carried(std::string_view name, std::string_view meaning,
                   std::string_view neutral = "false");

  void error(std::string_view name, std::string message) const;
  void remark(ImportRemark remark) { remarks_.push_back(std::move(remark)); }

  // What nobody asked for is an error or a remark, with the nearest key that somebody asked for.
  void finish(UnknownSettings unknown);
  // In the order of the file, then what was defaulted or assumed.
  std::vector<ImportRemark> take_remarks();

 private:
  struct Held {
    Setting setting;
    bool asked = false;
    bool is_default = false;
  };
  const Setting* take(std::string_view name, std::string_view ours);
  void refuse(const Setting& setting, const std::string& expected) const;

  std::vector<Held> settings_;
  std::vector<std::string> asked_;  // every name that was asked for, for suggestions
  std::vector<ImportRemark> remarks_;
  Diagnostics* diagnostics_;
};

}  // namespace stepcast
