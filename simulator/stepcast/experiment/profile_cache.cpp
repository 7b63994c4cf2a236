// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/profile_cache.hpp"

#include "stepcast/experiment/named_profiles.hpp"
#include "stepcast/operators/operator_line.hpp"

namespace stepcast {
namespace {

template <typename Profile, typename Load>
const Profile& once(std::map<std::string, Profile>& known, const std::string& name, Load load) {
  const auto found = known.find(name);
  return found != known.end() ? found->second : known.emplace(name, load()).first->second;
}

}  // namespace

const std::vector<std::string>& ProfileCache::gpu_names() {
  if (!gpu_names_) {
    gpu_names_ = names_in(data_.gpus());
  }
  return *gpu_names_;
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
    return load_cluster_profile(named_file(data_.clusters(), name, "cluster", where), sources());
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
  return once(fabrics_, name, [&] { return fabric_of(gpu(name), host(std::string(kUsualHost))); });
}

}  // namespace stepcast
