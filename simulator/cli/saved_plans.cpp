// SPDX-License-Identifier: Apache-2.0
#include "cli/saved_plans.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/common_options.hpp"
#include "frameworks/framework_table.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/experiment/reported_input.hpp"

namespace stepcast::cli {
namespace {

using Kind = ConfigNode::Kind;

constexpr std::string_view kRank = "rank_";
constexpr const char* kResolved = "resolved.yaml";

std::string absolute_file(const std::filesystem::path& folder, const std::string& file) {
  return std::filesystem::absolute(folder / file).lexically_normal().string();
}

// Every value of a key, whether it has one or is an axis of several.
template <typename Change>
void change_texts(ConfigNode& node, const Change& change) {
  if (node.kind == Kind::kScalar) {
    node.text = change(node.text);
  }
  for (ConfigNode& item : node.items) {
    change_texts(item, change);
  }
}

template <typename Change>
void change_texts_below(ConfigNode& node, std::string_view key, const Change& change) {
  for (ConfigEntry& entry : node.entries) {
    if (entry.key == key) {
      change_texts(entry.value, change);
    }
  }
  for (ConfigNode& item : node.items) {  // an axis of mappings
    change_texts_below(item, key, change);
  }
}

// An experiment or a sweep lies in another folder than the files that it names.
void place_files(ConfigNode& root, const std::filesystem::path& folder) {
  const auto own_file = [&](const std::string& name) {
    return is_own_file(name) ? absolute_file(folder, name) : name;
  };
  const auto any_file = [&](const std::string& name) { return absolute_file(folder, name); };
  const auto backend = [&](const std::string& choice) {
    return written_choice(parse_backend_choice(choice), any_file);
  };
  change_texts_below(root, "model", own_file);
  for (ConfigEntry& entry : root.entries) {
    if (entry.key == "cluster") {
      change_texts_below(entry.value, "gpu", own_file);
      change_texts_below(entry.value, "kernels", any_file);
    } else if (entry.key == "backends") {
      for (ConfigEntry& role : entry.value.entries) {
        change_texts(role.value, backend);
      }
    }
  }
}

// A comment of one line, whatever the text.
std::string comment(const std::string& text) {
  std::string line = "# " + text;
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line + "\n";
}

std::string extension_of(const std::string& file) {
  return std::filesystem::path(file).extension().string();
}

void say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

// None where the framework cannot say the plan, and why on standard error.
std::vector<ExportedFile> launch_files(const FrameworkInfo& framework, const std::string& rank,
                                       const ConfigNode& experiment, const DataRoot& data) {
  try {
    return exported(framework, experiment, {}, data);
  } catch (const ConfigError& error) {
    const std::vector<Diagnostic>& problems = error.diagnostics();
    say(rank + ": nothing is written for " + std::string(framework.name) + ": " +
        problems.front().message +
        (problems.size() > 1 ? " (and " + std::to_string(problems.size() - 1) + " more)" : ""));
    return {};
  }
}

}  // namespace

bool is_saved_name(std::string_view name) {
  return name.starts_with(kRank) || name == kResolved || name.ends_with(".csv");
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

SavedPlans::SavedPlans(std::string folder, ConfigNode input,
                       const std::filesystem::path& input_folder, std::size_t most, DataRoot data)
    : folder_(std::move(folder)),
      data_(std::move(data)),
      names_software_(input.find("software") != nullptr),
      width_(std::max<std::size_t>(2, std::to_string(most).size())) {
  place_files(input, input_folder);
  write(kResolved, comment("with every option applied") + to_yaml(input));
}

void SavedPlans::write(const std::string& name, const std::string& text) {
  OutputOptions output;
  output.out = (std::filesystem::path(folder_) / name).string();
  write_output(output, text);
  written_.insert(name);
}

void SavedPlans::add(const Experiment& experiment, const std::string& heading) {
  const std::string number = std::to_string(++ranks_);
  const std::string rank =
      std::string(kRank) + std::string(width_ - std::min(width_, number.size()), '0') + number;
  ConfigNode root = settled_experiment(experiment);
  place_files(root, {});
  write(rank + ".yaml", comment("rank " + number + heading) + to_yaml(root));
  write_launch_files(rank, root, names_software_ ? experiment.named.software : "");
}

void SavedPlans::write_launch_files(const std::string& rank, const ConfigNode& experiment,
                                    const std::string& software) {
  for (const FrameworkInfo* framework : writers_for(software)) {
    const std::string begin = rank + "." + std::string(framework->name);
    for (const ExportedFile& file : launch_files(*framework, rank, experiment, data_)) {
      const std::string name = begin + extension_of(file.name);
      write(written_.contains(name) ? begin + "." + file.name : name, file.text);
    }
  }
}

void SavedPlans::add_table(const std::string& name, const std::string& text) { write(name, text); }

void SavedPlans::finish() const {
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
