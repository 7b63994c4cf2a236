// SPDX-License-Identifier: Apache-2.0
// Source: axolotl-ai-cloud/axolotl at 067b021c8, deepspeed_configs; hiyouga/LLaMA-Factory at
// ff6d4d12e, examples/deepspeed.
#include "frameworks/trainer_shipped.hpp"

#include <array>
#include <filesystem>

#include "frameworks/words.hpp"

namespace stepcast {
namespace {

struct ShippedConfig {
  std::string_view path;  // its end
  std::string_view tool;
  std::string_view stage;
  bool optimizer_on_host = false;
  bool parameters_on_host = false;
  std::string_view bf16 = "auto";
  bool compiles = false;
  std::string_view tensor_ranks{};
};
constexpr std::string_view kOfAxolotl = "axolotl";
constexpr std::string_view kOfFactory = "LLaMA-Factory";
constexpr auto kShippedConfigs = std::to_array<ShippedConfig>({
    {"deepspeed_configs/zero1.json", kOfAxolotl, "1"},
    {"deepspeed_configs/zero1_torch_compile.json", kOfAxolotl, "1", false, false, "auto", true},
    {"deepspeed_configs/zero2.json", kOfAxolotl, "2", true},
    {"deepspeed_configs/zero2_torch_compile.json", kOfAxolotl, "2", true, false, "auto", true},
    {"deepspeed_configs/zero3.json", kOfAxolotl, "3"},
    {"deepspeed_configs/zero3_bf16.json", kOfAxolotl, "3", false, false, "true"},
    {"deepspeed_configs/zero3_bf16_cpuoffload_all.json", kOfAxolotl, "3", true, true, "true"},
    {"deepspeed_configs/zero3_bf16_cpuoffload_params.json", kOfAxolotl, "3", false, true, "true"},
    {"deepspeed/ds_z0_config.json", kOfFactory, "0"},
    {"deepspeed/ds_z2_config.json", kOfFactory, "2"},
    {"deepspeed/ds_z2_offload_config.json", kOfFactory, "2", true},
    {"deepspeed/ds_z2_autotp_config.json", kOfFactory, "2", false, false, "auto", false, "2"},
    {"deepspeed/ds_z3_config.json", kOfFactory, "3"},
    {"deepspeed/ds_z3_offload_config.json", kOfFactory, "3", true, true},
    {"deepspeed/ds_z3_fp8_config.json", kOfFactory, "3", true},
});

}  // namespace

std::vector<Setting> shipped_settings(const std::string& path, const ConfigPlace& place,
                                      std::vector<ImportRemark>& remarks) {
  const std::filesystem::path whole(path);
  const std::string end = (whole.parent_path().filename() / whole.filename()).generic_string();
  const ShippedConfig* const known = row_with(kShippedConfigs, &ShippedConfig::path, end);
  if (known == nullptr) {
    return {};
  }
  std::vector<Setting> settings;
  const auto put = [&](const char* name, std::string_view value) {
    settings.push_back({std::string("deepspeed.") + name, scalar_at(place, std::string(value))});
  };
  put("zero_optimization.stage", known->stage);
  put("bf16.enabled", known->bf16);
  put("train_micro_batch_size_per_gpu", "auto");
  put("gradient_accumulation_steps", "auto");
  if (known->optimizer_on_host) {
    put("zero_optimization.offload_optimizer.device", "cpu");
  }
  if (known->parameters_on_host) {
    put("zero_optimization.offload_param.device", "cpu");
  }
  if (known->compiles) {
    put("compile.disable", "false");
  }
  if (!known->tensor_ranks.empty()) {
    put("tensor_parallel.autotp_size", known->tensor_ranks);
  }
  remarks.push_back({ImportOutcome::kAssumed,
                     {},
                     "ZeRO " + std::string(known->stage),
                     "plan.zero",
                     path.substr(0, 100) +
                         " is not beside the file; it is taken for the one that " +
                         std::string(known->tool) + " ships in 2026",
                     {}});
  return settings;
}

}  // namespace stepcast
