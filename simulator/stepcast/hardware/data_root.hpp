// SPDX-License-Identifier: Apache-2.0
// Where the files lie that experiments name: models, software sets and hardware profiles.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace stepcast {

// The folder that holds configs/ and hardware_profiles/. Always passed, never guessed.
struct DataRoot {
  std::filesystem::path folder;

  [[nodiscard]] std::filesystem::path models() const { return folder / "configs/models"; }
  [[nodiscard]] std::filesystem::path software() const { return folder / "configs/software"; }
  [[nodiscard]] std::filesystem::path profiles() const { return folder / "hardware_profiles"; }
  [[nodiscard]] std::filesystem::path gpus() const { return folder / "hardware_profiles/gpus"; }
  [[nodiscard]] std::filesystem::path architectures() const {
    return folder / "hardware_profiles/architectures";
  }
  [[nodiscard]] std::filesystem::path collectives() const {
    return folder / "hardware_profiles/collectives";
  }
  [[nodiscard]] std::filesystem::path exchange() const {
    return folder / "hardware_profiles/exchange";
  }
  [[nodiscard]] std::filesystem::path kernels() const {
    return folder / "hardware_profiles/kernels";
  }
  [[nodiscard]] std::filesystem::path clusters() const {
    return folder / "hardware_profiles/clusters";
  }
  [[nodiscard]] std::filesystem::path hosts() const { return folder / "hardware_profiles/hosts"; }
  [[nodiscard]] std::filesystem::path accuracy() const {
    return folder / "hardware_profiles/accuracy.json";
  }
  [[nodiscard]] std::filesystem::path published_runs() const {
    return folder / "hardware_profiles/published_runs.json";
  }
  [[nodiscard]] std::filesystem::path attention_libraries() const {
    return folder / "hardware_profiles/attention_libraries.yaml";
  }
  // Names of models elsewhere, each with the name of its file of models().
  [[nodiscard]] std::filesystem::path hugging_face() const {
    return folder / "configs/hugging_face.yaml";
  }
  // What the types of config.json mean (frameworks/hf_types.hpp).
  [[nodiscard]] std::filesystem::path hugging_face_types() const {
    return folder / "configs/hugging_face_types.yaml";
  }
  // Words of the field, each with what it means.
  [[nodiscard]] std::filesystem::path glossary() const { return folder / "configs/glossary.yaml"; }
  // Files for a user to begin a GPU, a cluster, a model or a software set of their own with.
  [[nodiscard]] std::filesystem::path templates() const { return folder / "configs/templates"; }
  [[nodiscard]] std::filesystem::path libraries() const {
    return folder / "hardware_profiles/libraries.yaml";
  }
  [[nodiscard]] std::filesystem::path sources() const {
    return folder / "hardware_profiles/sources.yaml";
  }
};

// Whether there is such a file; what no file can be called is none.
bool is_there(const std::filesystem::path& file);

// The YAML file of that name in a folder; nothing where it has none, or the name leads elsewhere.
std::optional<std::filesystem::path> file_named(const std::filesystem::path& folder,
                                                const std::string& name);

// Names (file stems) of the YAML files of a folder, sorted; none if there is no such folder.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace stepcast
