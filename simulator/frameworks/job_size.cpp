// SPDX-License-Identifier: Apache-2.0
#include "frameworks/job_size.hpp"

#include <algorithm>

#include "stepcast/config/scalar.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

std::int64_t usual_node(const std::string& gpu, const ImportInput& input) {
  const bool known = input.gpus_per_node && gpu == input.gpu;
  return known ? *input.gpus_per_node : usual_gpus_per_node(gpu, input.data, {"--gpu", 0, 0});
}

std::int64_t gpus_per_node(const ImportInput& input) {
  constexpr std::int64_t kUsual = 8;
  return input.gpu.empty() ? kUsual : usual_node(input.gpu, input);
}

std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMostRanks + 1
                                                : std::min(product, kMostRanks + 1);
}

JobSize job_size(const ImportInput& input, std::optional<std::int64_t> stated_gpus,
                 std::int64_t ranks) {
  if (stated_gpus) {
    return {*stated_gpus, true};
  }
  const std::int64_t node = gpus_per_node(input);
  if (input.nodes) {
    return {bounded_product(*input.nodes, node), true};
  }
  std::int64_t gpus = ranks;
  for (std::int64_t nodes = 1; nodes < node && gpus % node != 0; ++nodes) {
    gpus += ranks;
  }
  return {gpus, false};
}

std::optional<std::int64_t> cluster_gpus(const ImportInput& input,
                                         std::optional<std::int64_t> nodes,
                                         std::optional<std::int64_t> gpus_per_node,
                                         const std::string& gpu) {
  constexpr std::string_view kKeptGpu = "cluster.gpu=";
  constexpr std::string_view kKeptNodes = "cluster.nodes=";
  std::string name = input.gpu.empty() ? gpu : input.gpu;
  for (const std::string& kept : kept_assignments(input.text)) {
    if (kept.starts_with(kKeptNodes) && !nodes) {
      nodes = leading_number(std::string_view(kept).substr(kKeptNodes.size()));
    }
    name = name.empty() && kept.starts_with(kKeptGpu) ? kept.substr(kKeptGpu.size()) : name;
  }
  if (!gpus_per_node && !name.empty()) {
    gpus_per_node = usual_node(name, input);
  }
  const std::optional<std::int64_t> count = input.nodes ? input.nodes : nodes;
  constexpr std::int64_t kMost = 1 << 24;
  const bool sized =
      count && gpus_per_node && *count > 0 && *count < kMost && *gpus_per_node < kMost;
  return sized ? std::optional(*count * *gpus_per_node) : std::nullopt;
}

bool given_size(const Setting& setting, LaunchSize& size) {
  const bool nodes = setting.name == "nnodes";
  if (!nodes && setting.name != "nproc_per_node") {
    return false;
  }
  const std::optional<std::int64_t> number = whole_number_in(setting.value.text);
  if (!number || *number < 1 || *number > kMostRanks) {
    throw ConfigError(setting.value.location(), "'" + setting.name +
                                                    "' must be a number from 1, not '" +
                                                    setting.value.text.substr(0, 40) + "'");
  }
  (nodes ? size.nodes : size.gpus_per_node) = number;
  std::erase_if(size.assumptions, [&](const SizeAssumption& assumption) {
    return assumption.ours == (nodes ? "cluster.nodes" : "cluster.gpus_per_node");
  });
  return true;
}

void take_one_process(const ImportInput& input, const std::vector<Setting>& fields,
                      LaunchSize& size) {
  constexpr std::string_view kDegrees =
      "tensor_model_parallel_size pipeline_model_parallel_size context_parallel_size "
      "expert_model_parallel_size";
  const bool divided = std::any_of(fields.begin(), fields.end(), [&](const Setting& field) {
    return is_among(kDegrees, field.name) && field.value.text != "1";
  });
  if (!size.starts_one_process || divided || input.nodes || size.nodes || size.gpus_per_node) {
    return;
  }
  size.nodes = 1;
  size.gpus_per_node = 1;
  size.assumptions.push_back(
      {"cluster.gpus_per_node", "1",
       "python or torchrun by itself is one process; give nproc_per_node=N and "
       "nnodes=N behind it where others are started as well"});
}

void fit_nodes(const ImportInput& input, LaunchSize& size) {
  constexpr std::int64_t kLargestNode = 64;  // of one host; more is a mistake, which is refused
  const std::int64_t written = size.gpus_per_node.value_or(0);
  const std::int64_t usual = gpus_per_node(input);
  if (input.gpu.empty() || written <= usual || written > kLargestNode || written % usual != 0) {
    return;
  }
  const DeviceSpec device = load_gpu(input.gpu, input.data, {"--gpu", 0, 0});
  if (written <= device.scale_up.domain_size) {
    return;
  }
  size.gpus_per_node = usual;
  size.nodes =
      size.nodes ? std::optional(bounded_product(*size.nodes, written / usual)) : size.nodes;
  size.assumptions.push_back({"cluster.gpus_per_node", std::to_string(usual),
                              "the file's nodes have " + std::to_string(written) +
                                  ", more than the fabric of " + input.gpu +
                                  " joins: as many GPUs in nodes of its own"});
}

void assume_size(const LaunchSize& size, const ImportInput& input, FrameworkReader& settings) {
  for (const SizeAssumption& assumption : size.assumptions) {
    const bool given = input.nodes && assumption.ours == "cluster.nodes";
    if (!given) {
      settings.assume(assumption.ours, assumption.value, assumption.note);
    }
  }
  if (!size.gpus_per_node && !input.gpu.empty()) {
    settings.assume("cluster.gpus_per_node", std::to_string(gpus_per_node(input)),
                    "as a usual node of " + input.gpu +
                        " has; the file does not say; give nproc_per_node=N behind it");
  }
}

}  // namespace stepcast
