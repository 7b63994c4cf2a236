// SPDX-License-Identifier: Apache-2.0
// Models of config.json by the types that ship.
#pragma once

#include <string>

#include "frameworks/hf_config.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast::test {

inline const HfTypes& shipped_types() {
  static const HfTypes types = load_hf_types(DataRoot{STEPCAST_DATA_ROOT}.hugging_face_types());
  return types;
}

inline ModelSpec imported(const std::string& json) {
  return import_hf_config(json, "a.json", "a", shipped_types());
}

}  // namespace stepcast::test
