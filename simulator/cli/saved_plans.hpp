// SPDX-License-Identifier: Apache-2.0
// The folder of --save-dir, which the best plans of a sweep or a comparison are written to: their
// experiments and launch files, what was asked for, and tables. Each file is there whole or not at
// all.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "stepcast/base/error.hpp"
#include "stepcast/stepcast.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace stepcast::cli {

// Whether files of the folder may have such a name.
bool is_saved_name(std::string_view name);

// `help` says which plans they are.
void add_save_dir_option(CLI::App& command, std::string& folder, const std::string& help);

// Makes the folder. What keeps it from being written, or one of its files from being replaced, is
// an error here, before any work is done. An empty name is no folder, and nothing is wrong with it.
void check_save_dir(const std::string& folder, Diagnostics& diagnostics);

// An empty name is no folder, and nothing is written.
class SavedPlans {
 public:
  explicit SavedPlans(std::string folder) : folder_(std::move(folder)) {}
  // To which the library writes as long as this lives; its remarks go to standard error.
  [[nodiscard]] PlanFolder writer();
  // Says on standard error which files of ranks an earlier run left, which are not touched.
  void finish() const;

 private:
  std::string folder_;
  std::set<std::string> written_;
};

}  // namespace stepcast::cli
