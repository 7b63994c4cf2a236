// SPDX-License-Identifier: Apache-2.0
#include "frameworks/framework_table.hpp"

#include <array>

#include "frameworks/maxtext.hpp"
#include "frameworks/torchtitan.hpp"

namespace stepcast {
namespace {

constexpr std::array kFrameworks = {
    FrameworkInfo{"torchtitan", "a job config of torchtitan: TOML, or config_registry.py",
                  "import torchtitan llama3_70b.toml --gpu h100_sxm --nodes 8", import_torchtitan,
                  export_torchtitan, "a job config of torchtitan (TOML)"},
    FrameworkInfo{"maxtext", "a configuration of MaxText: YAML",
                  "import maxtext llama2_70b.yml --gpu h100_sxm --nodes 8", import_maxtext,
                  export_maxtext, "a configuration of MaxText (YAML)"},
};

}  // namespace

std::span<const FrameworkInfo> frameworks() { return kFrameworks; }

}  // namespace stepcast
