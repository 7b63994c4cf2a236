// SPDX-License-Identifier: Apache-2.0
// What a run of the best plans of a sweep or a comparison needs, file by file.
//
//   rank_01.yaml           an experiment that `stepcast project` takes, and that projects to the
//                          same numbers
//   rank_01.megatron.sh    the plan as a framework is launched with it
//   resolved.yaml          what was asked for, with every option applied; of a comparison its first
//                          column
//
// and tables that the call adds.
#pragma once

#include <set>
#include <string>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/inputs.hpp"

namespace stepcast {

class SavedPlans {
 public:
  // `input`: what was asked for; the files that it names lie in `input_folder`. Launch files are
  // those of the framework that its software is of, or of each framework where it names none. All
  // names of ranks are as wide as that of `most`.
  SavedPlans(const PlanFolder& folder, ConfigNode input, const std::filesystem::path& input_folder,
             std::size_t most, DataRoot data);

  // The next rank: its experiment, whose first line is the comment `heading`, and its launch files.
  // What a framework cannot say is remarked and not written.
  void add(const Experiment& experiment, const std::string& heading);
  void add_table(const std::string& name, const std::string& text);

 private:
  void write(const std::string& name, const std::string& text);
  void write_launch_files(const std::string& rank, const ConfigNode& experiment,
                          const std::string& software);

  const PlanFolder& folder_;
  DataRoot data_;
  bool names_software_ = false;
  std::size_t width_ = 2;
  std::size_t ranks_ = 0;
  std::set<std::string> written_;
};

}  // namespace stepcast
