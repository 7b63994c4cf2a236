// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/other_software.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "stepcast/plan/software_span.hpp"

namespace stepcast {
namespace {

void add_once(const std::string& name, std::vector<std::string>& names) {
  if (std::ranges::find(names, name) == names.end()) {
    names.push_back(name);
  }
}

}  // namespace

std::vector<std::string> other_releases(const Experiment& experiment, const DataRoot& data) {
  const SoftwareSpec& own = experiment.software_base;
  std::vector<std::string> others;
  if (own.span.family.empty()) {
    return others;
  }
  for (const SoftwareRelease& release : releases_of(own.span.family, data)) {
    if (release.span.since != own.span.since) {  // sets of a family never begin on one day
      others.push_back(release.name);
    }
  }
  return others;
}

std::vector<std::string> kindred_software(const Experiment& experiment, const DataRoot& data) {
  std::vector<std::string> names = other_releases(experiment, data);
  for (const std::string& base : bases_of(experiment.software_base.name, data.software())) {
    const std::optional<std::filesystem::path> file = file_named(data.software(), base);
    if (!file) {
      continue;
    }
    add_once(base, names);
    const std::string family = load_software(*file, data.software()).span.family;
    for (const SoftwareRelease& release :
         family.empty() ? std::vector<SoftwareRelease>{} : releases_of(family, data)) {
      add_once(release.name, names);
    }
  }
  std::erase(names, experiment.software_base.name);
  return names;
}

KeySettings software_settings(const ConfigNode& experiment, const std::string& set) {
  const ConfigNode* written = experiment.find("software");
  const bool is_mapping = written != nullptr && written->kind == ConfigNode::Kind::kMapping;
  return {{is_mapping ? "software.base" : "software", set}};
}

}  // namespace stepcast
