// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_digest.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <set>

#include "stepcast/experiment/backend_choice.hpp"

namespace stepcast {
namespace {

// Two 64-bit FNV-1a hashes that start apart.
class Hash {
 public:
  void add(std::string_view text) {
    add_bytes(std::to_string(text.size()));
    add_bytes(":");
    add_bytes(text);
  }

  void add(const ConfigNode& node) {
    add(std::to_string(static_cast<int>(node.kind)));
    add(node.text);
    add(std::to_string(node.items.size()) + " " + std::to_string(node.entries.size()));
    for (const ConfigNode& item : node.items) {
      add(item);
    }
    for (const ConfigEntry& entry : node.entries) {
      add(entry.key);
      add(entry.value);
    }
  }

  // Nothing if there is no such file.
  void add_file(const std::filesystem::path& file) {
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error)) {
      constexpr std::size_t kLargest = 1U << 30U;
      add(file.filename().string());
      add(read_file(file, kLargest));
    }
  }

  [[nodiscard]] std::string text() const {
    std::array<char, 33> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                  static_cast<unsigned long long>(a_), static_cast<unsigned long long>(b_));
    return digits.data();
  }

 private:
  void add_bytes(std::string_view text) {
    constexpr std::uint64_t kPrime = 0x100000001b3U;
    for (const char c : text) {
      a_ = (a_ ^ static_cast<unsigned char>(c)) * kPrime;
      b_ = (b_ ^ (static_cast<unsigned char>(c) + 0x5bU)) * kPrime;
    }
  }

  std::uint64_t a_ = 0xcbf29ce484222325U;
  std::uint64_t b_ = 0x84222325cbf29ce4U;
};

void add_folder(const std::filesystem::path& folder, Hash& hash) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    // What projections say of their errors, accuracy.json, is no part of them.
    if (entry.is_regular_file(error) && entry.path().extension() == ".yaml") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    hash.add_file(file);
  }
}

// Texts below `key` of the root, wherever they stand: names and files.
void collect_texts(const ConfigNode& node, std::set<std::string>& texts) {
  if (node.kind == ConfigNode::Kind::kScalar) {
    texts.insert(node.text);
  }
  for (const ConfigNode& item : node.items) {
    collect_texts(item, texts);
  }
  for (const ConfigEntry& entry : node.entries) {
    collect_texts(entry.value, texts);
  }
}

}  // namespace

std::string sweep_digest(const ConfigNode& root, const std::vector<Experiment>& sites,
                         const std::filesystem::path& folder, const DataRoot& data,
                         const std::string& version) {
  Hash hash;
  hash.add(version);
  hash.add(root);
  add_folder(data.folder / "hardware_profiles", hash);
  std::set<std::filesystem::path> files;
  std::set<std::string> models;
  if (const ConfigNode* model = root.find("model")) {
    collect_texts(*model, models);
  }
  for (const std::string& model : models) {
    files.insert(model.ends_with(".yaml") || model.ends_with(".yml")
                     ? folder / model
                     : data.models() / (model + ".yaml"));
  }
  for (const Experiment& site : sites) {
    files.insert(data.software() / (site.software.name + ".yaml"));
    for (const auto& [role, chosen] : site.backends) {
      const BackendChoice choice = parse_backend_choice(chosen);
      files.insert(choice.files.begin(), choice.files.end());
    }
    if (const ConfigNode* kernels = site.cluster_given.find("kernels")) {
      files.insert(kernels->text);
    }
  }
  for (const std::filesystem::path& file : files) {
    hash.add_file(file);
  }
  return hash.text();
}

}  // namespace stepcast
