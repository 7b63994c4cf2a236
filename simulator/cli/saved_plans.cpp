// SPDX-License-Identifier: Apache-2.0
#include "cli/saved_plans.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "cli/common_options.hpp"

namespace stepcast::cli {
namespace {

constexpr std::string_view kRank = "rank_";

void say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

}  // namespace

bool is_saved_name(std::string_view name) {
  return name.starts_with(kRank) || name == "resolved.yaml" || name.ends_with(".csv");
}

void add_save_dir_option(CLI::App& command, std::string& folder, const std::string& help) {
  command.add_option("--save-dir", folder,
                     "a folder for " + help +
                         ": each as an experiment for 'stepcast project' (rank_01.yaml) and as "
                         "launch files of its framework (rank_01.megatron.sh), with the input as "
                         "it was resolved and a CSV; e.g. --save-dir best");
}

void check_save_dir(const std::string& folder, Diagnostics& diagnostics) {
  if (folder.empty()) {
    return;
  }
  const Location where{"--save-dir " + folder, 0, 0};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::error_code unseen;
  if (!std::filesystem::is_directory(folder, unseen)) {
    diagnostics.error(where, std::filesystem::exists(folder, unseen)
                                 ? "this is a file; give a folder"
                                 : "cannot make the folder: " + error.message());
    return;
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    diagnostics.error(where, "the folder cannot be written; give another");
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder, unseen)) {
    const std::string name = entry.path().filename().string();
    if (is_saved_name(name) && !std::filesystem::is_regular_file(entry.symlink_status())) {
      diagnostics.error(where, "'" + name +
                                   "' in it is no regular file and is not replaced; move it away "
                                   "or give another folder");
    }
  }
}

PlanFolder SavedPlans::writer() {
  if (folder_.empty()) {
    return {};
  }
  return {[this](const std::string& name, const std::string& text) {
            write_file((std::filesystem::path(folder_) / name).string(), text);
            written_.insert(name);
          },
          say};
}

void SavedPlans::finish() const {
  if (folder_.empty()) {
    return;
  }
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kRank) && !written_.contains(name)) {
      left.insert(name);
    }
  }
  for (const std::string& name : left) {
    say((std::filesystem::path(folder_) / name).string() +
        " is of an earlier run and does not belong to this one");
  }
}

}  // namespace stepcast::cli
