// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/profile_base.hpp"

#include <algorithm>

#include "stepcast/base/nearest_name.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kBase = "base";

bool is_section(const ConfigNode& node) {
  return node.kind == ConfigNode::Kind::kMapping && node.find("value") == nullptr;
}

// As changed(), but a number is taken with its source or not at all.
ConfigNode based_on(ConfigNode base, const ConfigNode& own) {
  for (const ConfigEntry& entry : own.entries) {
    const auto same = std::find_if(base.entries.begin(), base.entries.end(),
                                   [&](const ConfigEntry& old) { return old.key == entry.key; });
    if (same == base.entries.end()) {
      base.entries.push_back(entry);
    } else if (is_section(same->value) && is_section(entry.value)) {
      same->value = based_on(std::move(same->value), entry.value);
    } else {
      *same = entry;
    }
  }
  return base;
}

void drop(ConfigNode& root, std::string_view key) {
  std::erase_if(root.entries, [&](const ConfigEntry& entry) { return entry.key == key; });
}

[[noreturn]] void refuse(const ConfigNode& where, const std::string& message) {
  throw ConfigError(where.location(), "'base' " + message);
}

}  // namespace

ConfigNode profile_with_bases(const std::filesystem::path& file,
                              const std::filesystem::path& folder,
                              std::vector<std::string>& bases) {
  ConfigNode root = load_config(file);
  for (const ConfigNode* named = root.find(kBase); named != nullptr; named = root.find(kBase)) {
    const std::string base = named->text;
    const std::filesystem::path other = folder / (base + ".yaml");
    if (base.find('/') != std::string::npos || !is_there(other)) {
      refuse(*named, "is '" + base + "', which is no part" + did_you_mean(base, names_in(folder)));
    }
    if (base == file.stem().string() ||
        std::find(bases.begin(), bases.end(), base) != bases.end()) {
      refuse(*named, "leads back to '" + base + "'");
    }
    bases.push_back(base);
    ConfigNode whole = load_config(other);
    // What names a part, and says that it was never measured, is said by each part for itself.
    for (const std::string_view own : {"name", "title", "kernels_measured_on"}) {
      drop(whole, own);
    }
    drop(root, kBase);
    root = based_on(std::move(whole), root);
  }
  return root;
}

}  // namespace stepcast
