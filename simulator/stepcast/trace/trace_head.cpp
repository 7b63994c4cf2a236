// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace/trace_head.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/ascii.hpp"
#include "stepcast/config/json_dump.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

struct ComputeCapability {
  std::int64_t major = 0;
  std::int64_t minor = 0;
};

// The digits of an architecture's name: 90 is 9.0, 103 is 10.3; of 942 the last one is a stepping.
ComputeCapability capability_of(const Architecture& architecture) {
  std::int64_t number = 0;
  for (const char letter : architecture.name) {
    if (ascii::is_digit(letter)) {
      number = 10 * number + (letter - '0');
    }
  }
  if (architecture.runtime == DeviceRuntime::kHip) {
    number /= 10;
  }
  return {number / 10, number % 10};
}

Json device_properties(const ClusterSpec& cluster) {
  constexpr std::int64_t kWarp = 32;  // threads that run together, of CUDA; of HIP twice as many
  const DeviceSpec& device = cluster.device;
  const ComputeCapability capability = capability_of(device.architecture);
  const bool hip = device.architecture.runtime == DeviceRuntime::kHip;
  Json devices = Json::array();
  for (std::int64_t id = 0; id < std::min(cluster.gpus(), cluster.gpus_per_node); ++id) {
    devices.push_back({{"id", id},
                       {"name", device.title},
                       {"totalGlobalMem", std::llround(device.hbm.capacity.value())},
                       {"computeMajor", capability.major},
                       {"computeMinor", capability.minor},
                       {"warpSize", hip ? 2 * kWarp : kWarp},
                       {"numSms", device.compute_units}});
  }
  return devices;
}

Json distributed_info(std::int64_t rank, const std::vector<NamedGroup>& groups) {
  Json configurations = Json::array();
  for (const NamedGroup& group : groups) {
    configurations.push_back({{"pg_name", group.name},
                              {"pg_desc", group.description},
                              {"backend_config", "cuda:nccl"},
                              {"pg_size", group.ranks.size()},
                              {"ranks", group.ranks}});
  }
  return {{"backend", "nccl"},
          {"rank", rank},
          {"world_size", groups.front().ranks.size()},
          {"pg_count", groups.size()},
          {"pg_config", configurations}};
}

}  // namespace

std::string trace_head(const Experiment& experiment, const Projection& projection,
                       std::int64_t rank, const std::vector<NamedGroup>& groups) {
  constexpr double kMega = 1e6;
  const Json head = {{"schemaVersion", 1},
                     {"deviceProperties", device_properties(experiment.cluster)},
                     {"record_shapes", 1},
                     {"distributedInfo", distributed_info(rank, groups)},
                     {"projection",
                      {{"program", "stepcast"},
                       {"model", projection.model},
                       {"gpu", projection.gpu},
                       {"gpus", projection.gpus},
                       {"rank", rank},
                       {"step_time_s", projection.time.step.value()},
                       {"tokens_per_second_per_gpu", projection.tokens_per_second_per_gpu},
                       {"clock_mhz", projection.clock.value() / kMega}}},
                     {"displayTimeUnit", "ms"},
                     {"baseTimeNanoseconds", 0},
                     {"traceName", "rank" + std::to_string(rank)}};
  std::string text = json_dump(head);
  text.pop_back();
  return text;
}

}  // namespace stepcast
