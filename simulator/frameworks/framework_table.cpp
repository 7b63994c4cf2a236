// SPDX-License-Identifier: Apache-2.0
#include "frameworks/framework_table.hpp"

#include <array>

#include "frameworks/bridge_recipe.hpp"
#include "frameworks/huggingface.hpp"
#include "frameworks/maxtext.hpp"
#include "frameworks/megatron_import.hpp"
#include "frameworks/nemo.hpp"
#include "frameworks/primus_import.hpp"
#include "frameworks/setting.hpp"
#include "frameworks/torchtitan.hpp"

namespace stepcast {
namespace {

constexpr auto kFrameworks = std::to_array<FrameworkInfo>({
    {"megatron", "a script that launches Megatron-LM, its arguments or its YAML",
     "import megatron train.sh --gpu h100_sxm --out mine.yaml", import_megatron, export_megatron,
     why_not_megatron, "a script that launches Megatron-LM", false,
     "megatron megatron_2021 megatron_eager* megatron_plain"},
    {"primus", "an experiment of Primus in YAML",
     "import primus llama3.1_70B-BF16-pretrain.yaml --gpu mi300x --nodes 8", import_primus,
     export_primus, why_not_primus, "an experiment of Primus in YAML", false, "primus_*"},
    {"megatron_bridge",
     "a recipe of Megatron Bridge by its name, in Python, or as its launcher's command",
     "import megatron_bridge deepseek_v3_pretrain_256gpu_gb300_fp8mx_config",
     import_megatron_bridge, export_megatron_bridge, why_not_megatron_bridge,
     "the command that launches a recipe of Megatron Bridge", true,
     "megatron_bridge* nemo nemo_20*"},
    {"mlperf", "the variables of one of NVIDIA's submissions to MLPerf Training",
     "import mlperf config_GB200_18x4x64xtp2pp8cp2_fp8.sh model=llama3.1_405b", import_mlperf,
     nullptr, nullptr},
    {"nemo", "a configuration of NeMo 1 in YAML, or a script that runs it",
     "import nemo megatron_gpt_config.yaml model.micro_batch_size=2 --gpu h100_sxm", import_nemo,
     nullptr, nullptr},
    {"torchtitan", "a job config of torchtitan: TOML, config_registry.py, or a script that runs it",
     "import torchtitan llama3_70b.toml --gpu h100_sxm --nodes 8", import_torchtitan,
     export_torchtitan, why_not_torchtitan, "a job config of torchtitan (TOML)", false,
     "torchtitan*", true},
    {"maxtext", "a configuration of MaxText: YAML, or a script that runs it",
     "import maxtext llama2_70b.yml --gpu h100_sxm --nodes 8", import_maxtext, export_maxtext,
     why_not_maxtext, "a configuration of MaxText (YAML)", false, "maxtext*"},
    {"deepspeed", "a DeepSpeed JSON, Trainer's arguments that name one, or what launches them",
     "import deepspeed ds_config.json model_name_or_path=Qwen/Qwen3-8B bf16=true max_length=4096",
     import_deepspeed, nullptr, nullptr},
    {"accelerate", "accelerate's YAML with Trainer's arguments behind it, or a script",
     "import accelerate fsdp.yaml arguments=sft.yaml --gpu h100_sxm", import_accelerate, nullptr,
     nullptr},
    {"axolotl", "axolotl's YAML, or a script that runs it",
     "import axolotl qlora.yml --gpu h100_sxm --nodes 1", import_axolotl, nullptr, nullptr},
    {"llamafactory", "LLaMA-Factory's YAML or JSON, or a script that runs it",
     "import llamafactory qwen3_full_sft.yaml --gpu h100_sxm --nodes 1", import_llamafactory,
     nullptr, nullptr},
    {"trl", "TRL's YAML, a script of SFTTrainer in Python, or the command that runs it",
     "import trl sft.yaml num_processes=8 --gpu h100_sxm", import_trl, nullptr, nullptr},
});

}  // namespace

std::span<const FrameworkInfo> frameworks() { return kFrameworks; }

std::vector<const FrameworkInfo*> writers_for(std::string_view software) {
  std::vector<const FrameworkInfo*> all;
  for (const FrameworkInfo& framework : kFrameworks) {
    if (framework.export_to == nullptr) {
      continue;
    }
    if (is_among(framework.sets, software)) {
      return {&framework};
    }
    all.push_back(&framework);
  }
  return all;
}

}  // namespace stepcast
