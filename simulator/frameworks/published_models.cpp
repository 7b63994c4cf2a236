// SPDX-License-Identifier: Apache-2.0
// Source of the sizes: config.json of each at huggingface.co.
#include "frameworks/published_models.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "frameworks/hf_config.hpp"
#include "frameworks/trainer_files.hpp"
#include "frameworks/words.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

struct ShippedModel {
  std::string_view names;  // as simple_name() makes them
  std::string_view ours;
};
constexpr auto kShippedModels = std::to_array<ShippedModel>({
    {"llama-2-7b llama-7b vicuna-7b vicuna-7b-v1.5 vicuna-7b-v1.3 nous-hermes-llama2-7b "
     "vigogne-2-7b hf_llama_7b",
     "llama2_7b"},
    {"llama-2-13b llama-13b vicuna-13b vicuna-13b-v1.5 vicuna-13b-v1.3 nous-hermes-llama2-13b",
     "llama2_13b"},
    {"llama-2-70b", "llama2_70b"},
    {"llama-3-8b", "llama3_8b"},
    {"llama-3-70b", "llama3_70b"},
    {"llama-3.1-8b deepseek-r1-distill-llama-8b tulu-3-8b hermes-3-llama-3.1-8b", "llama3.1_8b"},
    {"llama-3.1-70b", "llama3.1_70b"},
    {"llama-3.3-70b deepseek-r1-distill-llama-70b", "llama3.3_70b"},
    {"llama-3.1-405b", "llama3.1_405b"},
    {"llama-3.2-1b", "llama3.2_1b"},
    {"llama-3.2-3b cogito-v1-preview-llama-3b", "llama3.2_3b"},
    {"llama-4-scout-17b-16e", "llama4_17b16e"},
    {"llama-4-maverick-17b-128e", "llama4_17b128e"},
    {"mixtral-8x7b-v0.1", "mixtral_8x7b"},
    {"mixtral-8x22b-v0.1", "mixtral_8x22b"},
    {"qwen2.5-3b qwen2.5-coder-3b", "qwen2.5_3b"},
    {"qwen2.5-7b qwen2-7b qwen2.5-coder-7b qwen2.5-math-7b deepseek-r1-distill-qwen-7b "
     "qwen2-math-7b qwen2.5-math-7b-rope-300k openr1-distill-7b",
     "qwen2.5_7b"},
    {"qwen2.5-14b qwen2.5-coder-14b deepseek-r1-distill-qwen-14b deepcoder-14b-preview "
     "cogito-v1-preview-qwen-14b",
     "qwen2.5_14b"},
    {"qwen2.5-32b qwen2.5-coder-32b deepseek-r1-distill-qwen-32b qwq-32b", "qwen2.5_32b"},
    {"qwen2.5-72b qwen2-72b qwen2.5-math-72b", "qwen2.5_72b"},
    {"deepseek-r1-distill-qwen-1.5b", "deepseek_r1_distill_qwen_1.5b"},
    {"qwen3-4b", "qwen3_4b"},
    {"qwen3-8b", "qwen3_8b"},
    {"qwen3-14b", "qwen3_14b"},
    {"qwen3-32b", "qwen3_32b"},
    {"qwen3-30b-a3b", "qwen3_30b_a3b"},
    {"qwen3-235b-a22b", "qwen3_235b_a22b"},
    {"gpt-oss-20b gpt-oss-safeguard-20b", "gpt_oss_20b"},
    {"gpt-oss-120b", "gpt_oss_120b"},
    {"deepseek-v2-lite", "deepseek_v2_lite"},
    {"deepseek-v2", "deepseek_v2"},
    {"deepseek-v3 deepseek-r1", "deepseek_v3"},
    {"olmo-2-1124-7b", "olmo2_7b"},
    {"kimi-k2", "kimi_k2"},
    {"internlm-7b", "internlm_7b"},
});

struct PublishedModel {
  std::string_view names;
  std::string_view type;
  std::int64_t layers;
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head_dim;
  std::int64_t ffn_hidden;
  std::int64_t vocabulary;
  bool tied = false;
  std::string_view more{};  // further keys of config.json
};
constexpr std::string_view kWindowed = R"(, "sliding_window": 4096)";
constexpr std::string_view kWithoutWindow = R"(, "sliding_window": null)";
constexpr std::string_view kNoSliding = R"(, "use_sliding_window": false)";
constexpr auto kPublishedModels = std::to_array<PublishedModel>({
    {"qwen2-0.5b qwen2.5-0.5b qwen2.5-coder-0.5b", "qwen2", 24, 896, 14, 2, 64, 4864, 151'936, true,
     kNoSliding},
    {"qwen2-1.5b qwen2.5-1.5b qwen2.5-coder-1.5b qwen2.5-math-1.5b", "qwen2", 28, 1536, 12, 2, 128,
     8960, 151'936, true, kNoSliding},
    {"qwen1.5-0.5b", "qwen2", 24, 1024, 16, 16, 64, 2816, 151'936, true, kNoSliding},
    {"qwen1.5-1.8b", "qwen2", 24, 2048, 16, 16, 128, 5504, 151'936, false, kNoSliding},
    {"qwen1.5-7b", "qwen2", 32, 4096, 32, 32, 128, 11'008, 151'936, false, kNoSliding},
    {"qwen1.5-14b", "qwen2", 40, 5120, 40, 40, 128, 13'696, 152'064, false, kNoSliding},
    {"qwen-7b", "qwen2", 32, 4096, 32, 32, 128, 11'008, 151'936, false, kNoSliding},
    {"qwen3-0.6b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151'936, true, kNoSliding},
    {"qwen3-1.7b", "qwen3", 28, 2048, 16, 8, 128, 6144, 151'936, true, kNoSliding},
    {"mistral-7b-v0.1 zephyr-7b-beta zephyr-7b-sft-full openhermes-2.5-mistral-7b", "mistral", 32,
     4096, 32, 8, 128, 14'336, 32'000, false, kWindowed},
    {"mistral-7b-v0.2", "mistral", 32, 4096, 32, 8, 128, 14'336, 32'000, false, kWithoutWindow},
    {"mistral-7b-v0.3", "mistral", 32, 4096, 32, 8, 128, 14'336, 32'768, false, kWithoutWindow},
    {"mistral-nemo-2407 mistral-nemo-base-2407", "mistral", 40, 5120, 32, 8, 128, 14'336, 131'072,
     false, kWithoutWindow},
    {"mistral-small-24b-2501 magistral-small-2506 magistral-small-2507 devstral-small-2507",
     "mistral", 40, 5120, 32, 8, 128, 32'768, 131'072, false, kWithoutWindow},
    {"llama-30b", "llama", 60, 6656, 52, 52, 128, 17'920, 32'000},
    {"llama-65b", "llama", 80, 8192, 64, 64, 128, 22'016, 32'000},
    {"tinyllama-1.1b-v1.0 tinyllama-1.1b-intermediate-step-1431k-3t tinyllama_v1.1 "
     "tinyllama-1.1b-step-50k-105b",
     "llama", 22, 2048, 32, 4, 64, 5632, 32'000},
    {"codellama-7b", "llama", 32, 4096, 32, 32, 128, 11'008, 32'016},
    {"codellama-13b", "llama", 40, 5120, 40, 40, 128, 13'824, 32'016},
    {"codellama-34b", "llama", 48, 8192, 64, 8, 128, 22'016, 32'000},
    {"yi-6b yi-1.5-6b", "llama", 32, 4096, 32, 4, 128, 11'008, 64'000},
    {"yi-34b yi-1.5-34b", "llama", 60, 7168, 56, 8, 128, 20'480, 64'000},
    {"deepseek-coder-1.3b", "llama", 24, 2048, 16, 16, 128, 5504, 32'256},
    {"deepseek-coder-6.7b", "llama", 32, 4096, 32, 32, 128, 11'008, 32'256},
    {"deepseek-coder-33b", "llama", 62, 7168, 56, 8, 128, 19'200, 32'256},
    {"deepseek-llm-7b", "llama", 30, 4096, 32, 32, 128, 11'008, 102'400},
    {"smollm2-135m smollm-135m", "llama", 30, 576, 9, 3, 64, 1536, 49'152, true},
    {"smollm2-360m smollm-360m", "llama", 32, 960, 15, 5, 64, 2560, 49'152, true},
    {"smollm2-1.7b smollm-1.7b", "llama", 24, 2048, 32, 32, 64, 8192, 49'152, true},
    {"gemma-2b", "gemma", 18, 2048, 8, 1, 256, 16'384, 256'000, true},
    {"gemma-7b zephyr-7b-gemma-sft-v0.1 gemma-1.1-7b", "gemma", 28, 3072, 16, 16, 256, 24'576,
     256'000, true},
    {"gemma-2-2b", "gemma2", 26, 2304, 8, 4, 256, 9216, 256'000, true, kWindowed},
    {"gemma-2-9b", "gemma2", 42, 3584, 16, 8, 256, 14'336, 256'000, true, kWindowed},
    {"gemma-2-27b", "gemma2", 46, 4608, 32, 16, 128, 36'864, 256'000, true, kWindowed},
    {"phi-3-mini-4k", "phi3", 32, 3072, 32, 32, 96, 8192, 32'064, false,
     R"(, "sliding_window": 2047)"},
    {"phi-3.5-mini", "phi3", 32, 3072, 32, 32, 96, 8192, 32'064, false, kWithoutWindow},
    {"gemma-3-1b", "gemma3_text", 26, 1152, 4, 1, 256, 6912, 262'144, true,
     R"(, "sliding_window": 512)"},
    {"smollm3-3b smollm3-3b-checkpoints", "smollm3", 36, 2048, 16, 4, 128, 11'008, 128'256, true},
    {"open_llama_3b open_llama_3b_v2", "llama", 26, 3200, 32, 32, 100, 8640, 32'000},
    {"phi-4", "phi3", 40, 5120, 40, 10, 128, 17'920, 100'352, false, kWithoutWindow},
});

bool drop_end(std::string& name, std::string_view end) {
  if (!name.ends_with(end) || name.size() == end.size()) {
    return false;
  }
  name.resize(name.size() - end.size());
  return true;
}

// "llama-3.1-8b" of "NousResearch/Meta-Llama-3.1-8B-Instruct".
std::string simple_name(const std::string& written) {
  std::string name = ascii::lower_case(written);
  while (name.ends_with('/')) {
    name.pop_back();
  }
  name = name.substr(name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1);
  // ModelScope's folders have "2___5" for 2.5.
  for (std::size_t at = name.find("___"); at != std::string::npos; at = name.find("___")) {
    name.replace(at, 3, ".");
  }
  std::replace(name.begin(), name.end(), ':', '-');  // Ollama's tags
  if (name.starts_with("meta-")) {
    name.erase(0, 5);
  }
  constexpr std::array<std::string_view, 15> kEndings = {
      "-instruct", "-chat", "-hf",  "-base", "-it",   "-pt",   "-2507",         "-thinking",
      "-fp16",     "-bf16", "-sft", "-orig", "-0528", "-0324", "-instruct-v0.1"};
  // Mistral's and Mixtral's versions stand behind the ending.
  if (const std::size_t at = name.find("-instruct-v0"); at != std::string::npos) {
    name.erase(at, 9);
  }
  if (const std::size_t at = name.find("-chat-v1"); at != std::string::npos) {
    name.erase(at, 5);
  }
  if (const std::size_t at = name.find("-instruct-2"); at != std::string::npos) {
    name.erase(at, 9);
  }
  while (std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view end) { return drop_end(name, end); })) {
  }
  return name;
}

std::string config_of(const PublishedModel& model) {
  const auto key = [](const char* name, std::int64_t value) {
    return ", \"" + std::string(name) + "\": " + std::to_string(value);
  };
  return R"({"model_type": ")" + std::string(model.type) + "\"" +
         key("num_hidden_layers", model.layers) + key("hidden_size", model.hidden) +
         key("num_attention_heads", model.heads) + key("num_key_value_heads", model.kv_heads) +
         key("head_dim", model.head_dim) + key("intermediate_size", model.ffn_hidden) +
         key("vocab_size", model.vocabulary) +
         ", \"tie_word_embeddings\": " + (model.tied ? "true" : "false") + std::string(model.more) +
         "}";
}

// A name as models of ours have it: lower case, '_' for what is no letter, digit or dot.
std::string own_name(std::string name) {
  for (char& c : name) {
    c = ascii::is_alphanumeric(c) || c == '.' ? c : '_';
  }
  return name;
}

template <typename Row, std::size_t N>
const Row* row_named(const std::array<Row, N>& rows, const std::string& name) {
  const auto* const found = std::find_if(rows.begin(), rows.end(),
                                         [&](const Row& row) { return is_among(row.names, name); });
  return found == rows.end() ? nullptr : found;
}

// The config.json that a path leads to, beside the file.
std::optional<std::string> config_near(const std::string& name, const ImportInput& input) {
  if (name.ends_with(".json")) {
    return text_near(input, name);
  }
  const std::filesystem::path folder(name);
  return name.find("://") == std::string::npos
             ? text_near(input, (folder / "config.json").generic_string())
             : std::nullopt;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  const auto add = [&names](std::string_view row) {
    for (const std::string_view name : names_in(row)) {
      names.emplace_back(name);
    }
  };
  for (const ShippedModel& row : kShippedModels) {
    add(row.names);
  }
  for (const PublishedModel& row : kPublishedModels) {
    add(row.names);
  }
  return names;
}

}  // namespace

std::optional<ModelSpec> published_model(const std::string& name, const ImportInput& input,
                                         FrameworkReader& settings, std::string_view key) {
  const std::string simple = simple_name(name);
  if (const ShippedModel* const row = row_named(kShippedModels, simple)) {
    return load_named_model(std::string(row->ours), input.data, {});
  }
  if (const PublishedModel* const row = row_named(kPublishedModels, simple)) {
    ModelSpec model = import_hf_config(config_of(*row), simple, own_name(simple),
                                       load_hf_types(input.data.hugging_face_types()));
    model.source = "huggingface.co, config.json of " + simple;
    return model;
  }
  const std::string own = model_named_elsewhere(name, input.data);
  if (std::filesystem::exists(input.data.models() / (own + ".yaml")) &&
      own.find('/') == std::string::npos) {
    return load_named_model(own, input.data, {});
  }
  if (const std::optional<std::string> config = config_near(name, input)) {
    return import_hf_config(*config, name, own_name(simple),
                            load_hf_types(input.data.hugging_face_types()));
  }
  settings.error(key, "is '" + name.substr(0, 80) + "', which is not known here" +
                          did_you_mean(simple, all_names()) + "; give " + std::string(key) +
                          "=NAME with a model of configs/models, or a config.json beside the file");
  return std::nullopt;
}

}  // namespace stepcast
