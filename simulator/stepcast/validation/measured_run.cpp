// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/measured_run.hpp"

#include "stepcast/cost/operator_line.hpp"

namespace stepcast {
namespace {

const Location kWhere{"validation", 0, 0};

}  // namespace

const DeviceSpec& ProfileCache::gpu(const std::string& name) {
  const auto known = gpus_.find(name);
  return known != gpus_.end() ? known->second
                              : gpus_.emplace(name, load_gpu(name, data_, kWhere)).first->second;
}

const ClusterSpec& ProfileCache::fabric(const std::string& name) {
  const auto known = fabrics_.find(name);
  return known != fabrics_.end() ? known->second
                                 : fabrics_.emplace(name, fabric_of(gpu(name))).first->second;
}

const ModelSpec& ProfileCache::model(const std::string& name) {
  const auto known = models_.find(name);
  return known != models_.end()
             ? known->second
             : models_.emplace(name, load_named_model(name, data_, kWhere)).first->second;
}

const SoftwareSpec& ProfileCache::software(const std::string& name) {
  const auto known = software_.find(name);
  return known != software_.end()
             ? known->second
             : software_.emplace(name, load_named_software(name, data_, kWhere)).first->second;
}

}  // namespace stepcast
