// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/named_profiles.hpp"

#include "stepcast/base/nearest_name.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/experiment/left_out_models.hpp"

namespace stepcast {

std::filesystem::path named_file(const std::filesystem::path& folder, const std::string& name,
                                 const std::string& kind, const Location& where) {
  const bool plain = !name.empty() && name.find('/') == std::string::npos;
  std::filesystem::path file = folder / (name + ".yaml");
  if (plain && std::filesystem::exists(file)) {
    return file;
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
  const std::filesystem::path file =
      is_own_file(name) ? std::filesystem::path(name) : named_file(data.gpus(), name, "GPU", where);
  return load_device(file, load_shared_sources(data), data.profiles());
}

ModelSpec load_named_model(const std::string& name, const DataRoot& data, const Location& where) {
  if (!std::filesystem::exists(data.models() / (name + ".yaml"))) {
    if (const std::string lacks = lacking_for_model(name, data); !lacks.empty()) {
      throw ConfigError(where,
                        "the model '" + name + "' is left out: there is no model of " + lacks);
    }
  }
  return load_model(named_file(data.models(), name, "model", where));
}

SoftwareSpec load_named_software(const std::string& name, const DataRoot& data,
                                 const Location& where) {
  return load_software(named_file(data.software(), name, "software set", where));
}

HostSpec load_named_host(const std::string& name, const DataRoot& data, const Location& where) {
  return load_host(named_file(data.hosts(), name, "host", where), load_shared_sources(data));
}

}  // namespace stepcast
