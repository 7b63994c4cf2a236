// SPDX-License-Identifier: Apache-2.0
// The folder of --save-dir: what a run of the best plans of a sweep or a comparison needs.
//
//   rank_01.yaml           an experiment that `stepcast project` takes, and that projects to the
//                          same numbers
//   rank_01.megatron.sh    the plan as a framework is launched with it
//   resolved.yaml          what was asked for, with every option applied; of a comparison its first
//                          column
//
// and tables that the command adds. Each file is there whole or not at all.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "stepcast/base/error.hpp"
#include "stepcast/experiment/experiment.hpp"

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

class SavedPlans {
 public:
  // `input`: what was asked for; the files that it names lie in `input_folder`. Launch files are
  // those of the framework that its software is of, or of each framework where it names none. All
  // names of ranks are as wide as that of `most`.
  SavedPlans(std::string folder, ConfigNode input, const std::filesystem::path& input_folder,
             std::size_t most, DataRoot data);

  // The next rank: its experiment, whose first line is the comment `heading`, and its launch files.
  // What a framework cannot say is said on standard error and not written.
  void add(const Experiment& experiment, const std::string& heading);
  void add_table(const std::string& name, const std::string& text);
  // Says on standard error which files of ranks an earlier run left, which are not touched.
  void finish() const;

 private:
  void write(const std::string& name, const std::string& text);
  void write_launch_files(const std::string& rank, const ConfigNode& experiment,
                          const std::string& software);

  std::string folder_;
  DataRoot data_;
  bool names_software_ = false;
  std::size_t width_ = 2;
  std::size_t ranks_ = 0;
  std::set<std::string> written_;
};

}  // namespace stepcast::cli
