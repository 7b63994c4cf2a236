// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/profile_cache.hpp"

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/data_root.hpp"
#include "stepcast/hardware/device_spec.hpp"
#include "stepcast/operator_lines/operator_line.hpp"

namespace stepcast {
namespace {

// The file of a named part. Throws ConfigError at `where` with the nearest name if there is none.
std::filesystem::path named_file(const std::filesystem::path& folder, const std::string& name,
                                 const std::string& kind, const Location& where) {
  if (const std::optional<std::filesystem::path> file = file_named(folder, name)) {
    return *file;
  }
  if (name.ends_with(".json")) {
    throw ConfigError(where, "'" + name.substr(0, 60) + "' is no " + kind +
                                 " file: those are YAML; 'stepcast import' makes "
                                 "one of a file of another program");
  }
  const std::vector<std::string> known = names_in(folder);
  std::string remedy = did_you_mean(name, known);
  if (remedy.empty()) {
    remedy = "; 'stepcast list' shows what there is";
  }
  throw ConfigError(where, "unknown " + kind + " '" + name.substr(0, 60) + "'" + remedy);
}

std::filesystem::path gpu_file(const std::string& name, const DataRoot& data,
                               const Location& where) {
  return is_own_file(name) ? std::filesystem::path(name)
                           : named_file(data.gpus(), name, "GPU", where);
}

template <typename Profile, typename Load>
const Profile& once(std::map<std::string, Profile>& known, const std::string& name, Load load) {
  const auto found = known.find(name);
  return found != known.end() ? found->second : known.emplace(name, load()).first->second;
}

}  // namespace

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

std::string model_named_elsewhere(const std::string& name, const DataRoot& data) {
  if (name.find('/') == std::string::npos || is_own_file(name) ||
      !std::filesystem::exists(data.hugging_face())) {
    return name;
  }
  const ConfigNode names = load_config(data.hugging_face());
  for (const ConfigEntry& entry : names.entries) {
    if (ascii::same_letters(entry.key, name)) {
      return entry.value.text;
    }
  }
  return name;
}

ModelSpec load_named_model(const std::string& name, const DataRoot& data, const Location& where) {
  return load_model(named_file(data.models(), name, "model", where));
}

SoftwareSpec load_named_software(const std::string& name, const DataRoot& data,
                                 const Location& where) {
  return load_software(is_own_file(name) ? std::filesystem::path(name)
                                         : named_file(data.software(), name, "software set", where),
                       data.software());
}

HostSpec load_named_host(const std::string& name, const DataRoot& data, const Location& where) {
  return load_named_host(name, data, where, load_shared_sources(data));
}

HostSpec load_named_host(const std::string& name, const DataRoot& data, const Location& where,
                         const SourceTable& shared_sources) {
  return load_host(named_file(data.hosts(), name, "host", where), shared_sources);
}

const std::vector<std::string>& ProfileCache::gpu_names() {
  if (!gpu_names_) {
    gpu_names_ = names_in(data_.gpus());
  }
  return *gpu_names_;
}

const std::vector<KnownPart>& ProfileCache::known_parts() {
  if (!known_parts_) {
    known_parts_.emplace();
    for (const std::string& name : gpu_names()) {
      known_parts_->push_back(known_part(gpu(name)));
    }
  }
  return *known_parts_;
}

const SourceTable& ProfileCache::sources() {
  if (!sources_) {
    sources_ = load_shared_sources(data_);
  }
  return *sources_;
}

const DeviceSpec& ProfileCache::gpu(const std::string& name, const Location& where) {
  return once(gpus_, name, [&] { return load_gpu(name, data_, where, sources()); });
}

const ModelSpec& ProfileCache::model(const std::string& name, const Location& where) {
  return once(models_, name, [&] { return load_named_model(name, data_, where); });
}

const SoftwareSpec& ProfileCache::software(const std::string& name, const Location& where) {
  return once(software_, name, [&] { return load_named_software(name, data_, where); });
}

const HostSpec& ProfileCache::host(const std::string& name, const Location& where) {
  return once(hosts_, name, [&] { return load_named_host(name, data_, where, sources()); });
}

const ClusterProfile& ProfileCache::cluster(const std::string& name, const Location& where) {
  return once(clusters_, name, [&] {
    return load_cluster_profile(is_own_file(name)
                                    ? std::filesystem::path(name)
                                    : named_file(data_.clusters(), name, "cluster", where),
                                sources());
  });
}

const ConfigNode& ProfileCache::model_text(const std::string& name, const Location& where) {
  return once(model_texts_, name,
              [&] { return load_config(named_file(data_.models(), name, "model", where)); });
}

const AttentionSupport& ProfileCache::attention_support() {
  if (!attention_) {
    const std::filesystem::path file = data_.attention_libraries();
    attention_ = std::filesystem::exists(file) ? load_attention_support(file) : AttentionSupport{};
  }
  return *attention_;
}

const ClusterSpec& ProfileCache::fabric(const std::string& name) {
  return once(fabrics_, name, [&] { return fabric_of(gpu(name), host(host_name_of(gpu(name)))); });
}

}  // namespace stepcast
