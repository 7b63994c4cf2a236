// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/saved_plans.hpp"

#include <algorithm>
#include <filesystem>

#include "frameworks/framework_table.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/experiment/reported_input.hpp"

namespace stepcast {
namespace {

using Kind = ConfigNode::Kind;

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
      change_texts_below(entry.value, "name", own_file);
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

// None where the framework cannot say the plan, and why as a remark.
std::vector<ExportedFile> launch_files(const FrameworkInfo& framework, const std::string& rank,
                                       const ConfigNode& experiment, const DataRoot& data,
                                       const PlanFolder& folder) {
  try {
    return exported(framework, experiment, {}, data);
  } catch (const ConfigError& error) {
    const std::vector<Diagnostic>& problems = error.diagnostics();
    folder.remark(
        rank + ": nothing is written for " + std::string(framework.name) + ": " +
        problems.front().message +
        (problems.size() > 1 ? " (and " + std::to_string(problems.size() - 1) + " more)" : ""));
    return {};
  }
}

}  // namespace

SavedPlans::SavedPlans(const PlanFolder& folder, ConfigNode input,
                       const std::filesystem::path& input_folder, std::size_t most, DataRoot data)
    : folder_(folder),
      data_(std::move(data)),
      names_software_(input.find("software") != nullptr),
      width_(std::max<std::size_t>(2, std::to_string(most).size())) {
  place_files(input, input_folder);
  write("resolved.yaml", comment("with every option applied") + to_yaml(input));
}

void SavedPlans::write(const std::string& name, const std::string& text) {
  folder_.write(name, text);
  written_.insert(name);
}

void SavedPlans::add(const Experiment& experiment, const std::string& heading) {
  const std::string number = std::to_string(++ranks_);
  const std::string rank =
      "rank_" + std::string(width_ - std::min(width_, number.size()), '0') + number;
  ConfigNode root = settled_experiment(experiment);
  place_files(root, {});
  write(rank + ".yaml", comment("rank " + number + heading) + to_yaml(root));
  write_launch_files(rank, root, names_software_ ? experiment.named.software : "");
}

void SavedPlans::write_launch_files(const std::string& rank, const ConfigNode& experiment,
                                    const std::string& software) {
  for (const FrameworkInfo* framework : writers_for(software)) {
    const std::string begin = rank + "." + std::string(framework->name);
    for (const ExportedFile& file : launch_files(*framework, rank, experiment, data_, folder_)) {
      const std::string name = begin + extension_of(file.name);
      write(written_.contains(name) ? begin + "." + file.name : name, file.text);
    }
  }
}

void SavedPlans::add_table(const std::string& name, const std::string& text) { write(name, text); }

}  // namespace stepcast
