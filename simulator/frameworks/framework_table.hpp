// SPDX-License-Identifier: Apache-2.0
// The one list of frameworks whose files come in and go out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/exported_file.hpp"
#include "frameworks/imported_experiment.hpp"

namespace stepcast {

struct FrameworkInfo {
  std::string_view name;     // of the subcommand
  std::string_view reads;    // what an import takes
  std::string_view example;  // a command line of an import
  ImportedExperiment (*import_from)(const ImportInput&);
  // Null: nothing is written for it.
  std::vector<ExportedFile> (*export_to)(const ExportInput&);
  // All reasons why it cannot run an experiment; without any, `export_to` writes its files.
  std::vector<ExportRefusal> (*why_not)(const ExportInput&);
  std::string_view writes{};  // what an export prints
  bool takes_name = false;    // also a name that is no file
  std::string_view sets{};    // software sets that are this framework's; "nemo_20*" is all such
  bool dated = false;         // its sets say for which time they hold
};

std::span<const FrameworkInfo> frameworks();

// Those for which something is written: the one that a software set is of, or all of them where it
// is of none (pytorch_compiled) or not named.
std::vector<const FrameworkInfo*> writers_for(std::string_view software);

}  // namespace stepcast
