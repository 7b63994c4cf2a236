// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/named_profiles.hpp"
#include "stepcast/hardware/data_root.hpp"

#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {
namespace {

std::filesystem::path gpu_file(const std::string& name, const DataRoot& data,
                               const Location& where) {
  return is_own_file(name) ? std::filesystem::path(name)
                           : named_file(data.gpus(), name, "GPU", where);
}

}  // namespace

std::filesystem::path named_file(const std::filesystem::path& folder, const std::string& name,
                                 const std::string& kind, const Location& where) {
  if (const std::optional<std::filesystem::path> file = file_named(folder, name)) {
    return *file;
  }
  const std::vector<std::string> known = names_in(folder);
  std::string remedy = did_you_mean(name, known);
  if (remedy.empty()) {
    remedy = "; 'stepcast list' shows what there is";
  }
  throw ConfigError(where, "unknown " + kind + " '" + name.substr(0, 60) + "'" + remedy);
}

SourceTable load_shared_sources(const DataRoot& data) {
  if (!std::filesystem::exists(data.sources())) {
    return {};
  }
  const ConfigNode root = load_config(data.sources());
  Diagnostics diagnostics;
  MappingReader reader(root, "", diagnostics);
  SourceTable sources = read_sources(reader, "sources");
  reader.finish();
  diagnostics.throw_if_any();
  return sources;
}

bool is_own_file(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

DeviceSpec load_gpu(const std::string& name, const DataRoot& data, const Location& where) {
  return load_gpu(name, data, where, load_shared_sources(data));
}

DeviceSpec load_gpu(const std::string& name, const DataRoot& data, const Location& where,
                    const SourceTable& shared_sources) {
  return load_device(gpu_file(name, data, where), shared_sources, data.profiles());
}

std::int64_t usual_gpus_per_node(const std::string& name, const DataRoot& data,
                                 const Location& where) {
  std::vector<std::string> bases;
  const ConfigNode profile = profile_with_bases(gpu_file(name, data, where), data.gpus(), bases);
  const ConfigNode* stated = profile.find("gpus_per_node");
  const ConfigNode* value = stated == nullptr ? nullptr : stated->find("value");
  if (value != nullptr) {
    const auto scanned = scan_whole(*value, kPositiveCount);
    if (scanned.fault == NumberFault::kNone) {
      return scanned.value;
    }
  }
  return load_gpu(name, data, where).gpus_per_node;  // which says what is wrong
}

ModelSpec load_named_model(const std::string& name, const DataRoot& data, const Location& where) {
  return load_model(named_file(data.models(), name, "model", where));
}

SoftwareSpec load_named_software(const std::string& name, const DataRoot& data,
                                 const Location& where) {
  return load_software(named_file(data.software(), name, "software set", where));
}

HostSpec load_named_host(const std::string& name, const DataRoot& data, const Location& where) {
  return load_named_host(name, data, where, load_shared_sources(data));
}

HostSpec load_named_host(const std::string& name, const DataRoot& data, const Location& where,
                         const SourceTable& shared_sources) {
  return load_host(named_file(data.hosts(), name, "host", where), shared_sources);
}

}  // namespace stepcast
