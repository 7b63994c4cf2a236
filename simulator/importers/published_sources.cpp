// SPDX-License-Identifier: Apache-2.0
#include "importers/published_sources.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

constexpr std::array kSources = {
    PublishedSource{"amd-maxtext-slurm", "maxtext-slurm"},
    PublishedSource{"amd-primus-dsv4", "Primus"},
    PublishedSource{"amd-primus-moe-package", "Primus"},
    PublishedSource{"amd-primus-moe-package-2", "Primus"},
    PublishedSource{"amd-primus-pipeline", "Primus"},
    PublishedSource{"amd-primus-projection", "Primus"},
    PublishedSource{"colossalai-readme", "ColossalAI"},
    PublishedSource{"deepseek-v3-readme", "DeepSeek-V3"},
    PublishedSource{"gdn-1b-tuning-guide", "Primus"},
    PublishedSource{"google-gpu-recipes", "gpu-recipes"},
    PublishedSource{"internevo", "InternEvo"},
    PublishedSource{"llama3-paper-table", "glennklockwood.com"},
    PublishedSource{"megatron-bridge", "Megatron-Bridge"},
    PublishedSource{"megatron-lm-llama-example", "Megatron-LM"},
    PublishedSource{"megatron-lm-readme", "Megatron-LM"},
    PublishedSource{"mlperf-training", "training_results"},
    PublishedSource{"mlperf-training-v6.0", "training_results"},
    PublishedSource{"nvidia-dgxc-benchmarking", "dgxc-benchmarking"},
    PublishedSource{"olmo-core", "OLMo-core"},
    PublishedSource{"primus-commit-log", "Primus"},
    PublishedSource{"primus-fla-parity", "Primus"},
    PublishedSource{"primus-gptoss20b-mlperf", "Primus"},
    PublishedSource{"primus-maxtext-commits", "Primus"},
    PublishedSource{"primus-maxtext-mi325x-memory", "Primus"},
    PublishedSource{"primus-mlperf-examples", "Primus"},
    PublishedSource{"primus-qwen3-235b-lora", "Primus"},
    PublishedSource{"primus-turbo-expert-gemm", "Primus-Turbo"},
    PublishedSource{"primus-turbo-gfx1250", "Primus-Turbo"},
    PublishedSource{"primus-turbo-qwen3-ladder", "Primus"},
    PublishedSource{"primus-v4-routing", "Primus"},
    PublishedSource{"pytorch-blog-nebius-b200", "pytorch.org"},
    PublishedSource{"rocm-cvs", "cvs"},
    PublishedSource{"rocm-te-issues", "TransformerEngine"},
    PublishedSource{"sonicmoe-ep-pr54", "sonic-moe"},
    PublishedSource{"torchtitan-distmoe-gb300", "torchtitan"},
    PublishedSource{"torchtitan-pr-deepep", "torchtitan"},
    PublishedSource{"simumax-b200",
                    "SimuMax",
                    true,
                    {"megatron_eager", "megatron_eager_mla",
                     "the source's scripts run Megatron-LM without CUDA graphs and without "
                     "overlap of gradients"}},
};

}  // namespace

PublishedSource published_source(std::string_view key) {
  const auto* const known =
      std::find_if(kSources.begin(), kSources.end(),
                   [key](const PublishedSource& source) { return source.key == key; });
  return known == kSources.end() ? PublishedSource{key, key} : *known;
}

}  // namespace stepcast
