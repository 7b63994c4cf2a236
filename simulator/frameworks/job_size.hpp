// SPDX-License-Identifier: Apache-2.0
// How many GPUs a job has: by its file, which may leave one degree open ("-1: the rest") or say
// nothing of it, and by what is given beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/launch_size.hpp"
#include "frameworks/setting.hpp"

namespace stepcast {

// GPUs of a usual node of the GPU of that name.
std::int64_t usual_node(const std::string& gpu, const ImportInput& input);

// GPUs of a node, by what was given beside the file; 8 where nothing was.
std::int64_t gpus_per_node(const ImportInput& input);

struct JobSize {
  std::int64_t gpus = 1;
  bool stated = false;  // by --nodes, or by `stated_gpus`
};
// `ranks` is the least that the degrees need. Whole nodes where nothing else says how many.
JobSize job_size(const ImportInput& input, std::optional<std::int64_t> stated_gpus,
                 std::int64_t ranks);

// a * b, at most kMostRanks + 1: degrees come from files, and their product must not overflow.
inline constexpr std::int64_t kMostRanks = std::int64_t{1} << 40;
std::int64_t bounded_product(std::int64_t a, std::int64_t b);

// GPUs of the job where the file or what is given beside it says how many.
std::optional<std::int64_t> cluster_gpus(const ImportInput& input,
                                         std::optional<std::int64_t> nodes,
                                         std::optional<std::int64_t> gpus_per_node,
                                         const std::string& gpu);

// Takes a setting that says how large the job is: nnodes, nproc_per_node. False for any other.
bool given_size(const Setting& setting, LaunchSize& size);

// Tells what of a launch file's size follows from no number in it.
// One GPU where python or torchrun starts one process and nothing divides the model, unless --nodes
// are given.
void take_one_process(const ImportInput& input, const std::vector<Setting>& fields,
                      LaunchSize& size);

// Nodes of more GPUs than those of `input.gpu` have and its fabric joins become several of these.
void fit_nodes(const ImportInput& input, LaunchSize& size);

void assume_size(const LaunchSize& size, const ImportInput& input, FrameworkReader& settings);

}  // namespace stepcast
