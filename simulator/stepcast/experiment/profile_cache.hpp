// SPDX-License-Identifier: Apache-2.0
// Profiles by name, each read once: for what reads many experiments one after the other.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

class ProfileCache {
 public:
  explicit ProfileCache(DataRoot data) : data_(std::move(data)) {}

  [[nodiscard]] const DataRoot& data() const { return data_; }
  // Throw ConfigError at `where`, with the nearest name, for a name without a profile.
  const DeviceSpec& gpu(const std::string& name, const Location& where = {"validation", 0, 0});
  const ModelSpec& model(const std::string& name, const Location& where = {"validation", 0, 0});
  const SoftwareSpec& software(const std::string& name,
                               const Location& where = {"validation", 0, 0});
  const HostSpec& host(const std::string& name, const Location& where = {"validation", 0, 0});
  const ClusterProfile& cluster(const std::string& name, const Location& where);
  // The text of a named model, for what changes some of it.
  const ConfigNode& model_text(const std::string& name, const Location& where);
  // None if the data folder has no such table.
  const AttentionSupport& attention_support();
  // As many nodes of the part as any group needs, for kernels and collectives by themselves.
  const ClusterSpec& fabric(const std::string& name);
  const std::vector<std::string>& gpu_names();
  // All parts that ship, as what devices say of themselves is held against them.
  const std::vector<KnownPart>& known_parts();
  [[nodiscard]] std::vector<std::string> software_names() const {
    return names_in(data_.software());
  }

 private:
  const SourceTable& sources();

  DataRoot data_;
  std::optional<SourceTable> sources_;
  std::map<std::string, ClusterProfile> clusters_;
  std::map<std::string, ConfigNode> model_texts_;
  std::map<std::string, DeviceSpec> gpus_;
  std::map<std::string, ClusterSpec> fabrics_;
  std::map<std::string, ModelSpec> models_;
  std::map<std::string, SoftwareSpec> software_;
  std::map<std::string, HostSpec> hosts_;
  std::optional<AttentionSupport> attention_;
  std::optional<std::vector<std::string>> gpu_names_;
  std::optional<std::vector<KnownPart>> known_parts_;
};

// The same as read_experiment of a data root, with profiles that are read once.
Experiment read_experiment(const ConfigNode& root, const std::filesystem::path& folder,
                           ProfileCache& profiles, std::span<const std::string_view> others = {});

}  // namespace stepcast
