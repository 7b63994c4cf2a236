// SPDX-License-Identifier: Apache-2.0
// What a host takes to keep its device busy: a CPU with a version of a framework. How often it does
// each of these things in a step is the software's (plan/software_spec.hpp).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

// The host that is taken for a cluster that names none.
inline constexpr std::string_view kUsualHost = "xeon_pytorch_2_11";

// All zero: a host that never holds its device up.
struct HostSpec {
  std::string name;
  std::string title;
  std::string framework;

  Seconds eager_call;
  Seconds eager_kernel;
  Seconds dispatch_mode;
  Seconds compiled_region;
  Seconds compiled_kernel;
  Seconds graph_replay;
  Seconds collective;
  Seconds message;  // zero: as a collective
  Seconds message_peer;
  Seconds functional_forward;
  Seconds functional_backward;
  Seconds device_read;
  Seconds unit_forward;
  Seconds unit_backward;
  Seconds unit_update;
  Seconds update_call;
  // Where it is not known, no optimizer can be on the host.
  std::optional<BytesPerSecond> device_link;
  std::optional<BytesPerSecond> update_memory;
  std::optional<BytesPerSecond> node_memory;

  std::vector<Provenance> provenance;
  SourceTable sources;
};

// Reads a host's profile. Throws ConfigError with all of its problems.
HostSpec load_host(const std::filesystem::path& file, const SourceTable& shared_sources);

}  // namespace stepcast
