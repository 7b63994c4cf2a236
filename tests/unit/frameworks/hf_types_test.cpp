// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_types.hpp"

#include <set>

#include "catch.hpp"
#include "frameworks/hf_config.hpp"
#include "hf_models.hpp"
#include "sample_specs.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast::hf_types_test {
namespace {

using test::config_error;
using test::contains_text;
using test::imported;
using test::shipped_types;

// Where a count is published, or how it was made.
// The parameters in the safetensors of the repository as huggingface.co tells them, collected in
// AlexsJones/llmfit 55fa5f57, llmfit-core/data/hf_models.json.
constexpr const char* kHub = "safetensors of the repository";
// total_size of model.safetensors.index.json beside the checkpoint, in bytes.
constexpr const char* kIndex = "total_size of the repository's index";
constexpr const char* kCard = "n_parameters of the model's card";
// published.total of the file of configs/models, with its source.
constexpr const char* kShipped = "the shipped model";
// The sum of the tensors that modeling_<model_type>.py makes: ends and final norm, then layers of
// queries, keys, values and output, feed-forward, norms.
constexpr const char* kCode = "the modeling code";
// Likewise of sizes that no published model has.
constexpr const char* kMade = "the modeling code, of a model that is made up";

// The keys of a published config.json that give shapes, and its parameters without modules of
// multi-token prediction.
struct Published {
  const char* model;
  const char* json;
  std::int64_t parameters;
  const char* source;
};

const std::vector<Published>& published_models() {
  static const std::vector<Published> models = {
      {"HuggingFaceTB/SmolLM3-3B",
       R"({"model_type": "smollm3", "hidden_size": 2048, "intermediate_size": 11008,
         "num_hidden_layers": 36, "num_attention_heads": 16, "vocab_size": 128256,
         "num_key_value_heads": 4, "tie_word_embeddings": true})",
       3'075'098'624L, kHub},
      {"ByteDance-Seed/Seed-OSS-36B-Instruct",
       R"({"model_type": "seed_oss", "hidden_size": 5120, "intermediate_size": 27648,
         "num_hidden_layers": 64, "num_attention_heads": 80, "vocab_size": 155136,
         "num_key_value_heads": 8, "head_dim": 128, "attention_bias": true,
         "attention_out_bias": false})",
       2L * 155'136L * 5120L + 5120L +
           64L * (5120L * (80L + 8L + 8L) * 128L + (80L + 8L + 8L) * 128L + 80L * 128L * 5120L +
                  3L * 5120L * 27'648L + 2L * 5120L),
       kCode},
      {"arcee-ai/AFM-4.5B-Base",
       R"({"model_type": "arcee", "hidden_size": 2560, "intermediate_size": 18432,
         "num_hidden_layers": 36, "num_attention_heads": 20, "vocab_size": 128004,
         "num_key_value_heads": 4, "head_dim": 128})",
       4'619'184'640L, kHub},
      // Less the two numbers that the activation of each layer learns.
      {"swiss-ai/Apertus-8B-2509",
       R"({"model_type": "apertus", "hidden_size": 4096, "intermediate_size": 21504,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 131072,
         "num_key_value_heads": 8})",
       8'053'338'176L - 2L * 32L, kHub},
      {"LGAI-EXAONE/EXAONE-4.0-1.2B",
       R"({"model_type": "exaone4", "hidden_size": 2048, "intermediate_size": 4096,
         "num_hidden_layers": 30, "num_attention_heads": 32, "vocab_size": 102400,
         "num_key_value_heads": 8, "tie_word_embeddings": true, "sliding_window": null,
         "sliding_window_pattern": null})",
       1'279'391'488L, kHub},
      {"LGAI-EXAONE/EXAONE-4.0-32B",
       R"({"model_type": "exaone4", "hidden_size": 5120, "intermediate_size": 27392,
         "num_hidden_layers": 64, "num_attention_heads": 40, "vocab_size": 102400,
         "num_key_value_heads": 8, "sliding_window": 4096, "sliding_window_pattern": "LLLG"})",
       32'003'216'384L, kHub},
      {"allenai/Olmo-3-1025-7B",
       R"({"model_type": "olmo3", "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 100278,
         "num_key_value_heads": 32})",
       7'298'011'136L, kHub},
      {"allenai/OLMoE-1B-7B-0125",
       R"({"model_type": "olmoe", "hidden_size": 2048, "intermediate_size": 1024,
         "num_hidden_layers": 16, "num_attention_heads": 16, "vocab_size": 50304,
         "num_experts": 64, "num_experts_per_tok": 8})",
       6'919'161'856L, kHub},
      {"baidu/ERNIE-4.5-0.3B-PT",
       R"({"model_type": "ernie4_5", "hidden_size": 1024, "intermediate_size": 3072,
         "num_hidden_layers": 18, "num_attention_heads": 16, "vocab_size": 103424,
         "num_key_value_heads": 2, "head_dim": 128, "tie_word_embeddings": true})",
       103'424L * 1024L + 1024L +
           18L * (1024L * (16L + 2L + 2L) * 128L + 16L * 128L * 1024L + 3L * 1024L * 3072L +
                  2L * 1024L),
       kCode},
      {"baidu/ERNIE-4.5-21B-A3B-Thinking",
       R"({"model_type": "ernie4_5_moe", "hidden_size": 2560, "intermediate_size": 12288,
         "num_hidden_layers": 28, "num_attention_heads": 20, "vocab_size": 103424,
         "num_key_value_heads": 4, "moe_num_experts": 64, "moe_k": 6, "moe_intermediate_size":
         1536, "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_interval":
         1, "moe_layer_end_index": 27, "tie_word_embeddings": true})",
       21'825'437'888L, kHub},
      {"tencent/Hunyuan-7B-Instruct",
       R"({"model_type": "hunyuan_v1_dense", "hidden_size": 4096, "intermediate_size": 14336,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 128167,
         "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": false})",
       2L * 128'167L * 4096L + 4096L +
           32L * (4096L * (32L + 8L + 8L) * 128L + 4096L * 4096L + 3L * 4096L * 14'336L +
                  2L * 128L + 2L * 4096L),
       kCode},
      {"tencent/Hunyuan-A13B-Instruct",
       R"({"model_type": "hunyuan_v1_moe", "hidden_size": 4096, "intermediate_size": 3072,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 128167,
         "num_key_value_heads": 8, "head_dim": 128, "num_experts": 64, "moe_topk": [8, 8],
         "moe_intermediate_size": [3072, 3072], "num_shared_expert": [1, 1], "use_qk_norm":
         true, "use_cla": false, "tie_word_embeddings": true})",
       128'167L * 4096L + 4096L +
           32L * (4096L * (32L + 8L + 8L) * 128L + 4096L * 4096L + (64L + 1L) * 3L * 4096L * 3072L +
                  64L * 4096L + 2L * 128L + 2L * 4096L),
       kCode},
      {"zai-org/glm-4-9b-chat-hf",
       R"({"model_type": "glm", "hidden_size": 4096, "intermediate_size": 13696,
         "num_hidden_layers": 40, "num_attention_heads": 32, "vocab_size": 151552,
         "num_key_value_heads": 2, "head_dim": 128, "attention_bias": true})",
       9'399'951'360L, kHub},
      {"zai-org/GLM-4-9B-0414",
       R"({"model_type": "glm4", "hidden_size": 4096, "intermediate_size": 13696,
         "num_hidden_layers": 40, "num_attention_heads": 32, "vocab_size": 151552,
         "num_key_value_heads": 2, "head_dim": 128, "attention_bias": true})",
       9'400'279'040L, kHub},
      // Less the module that predicts a second token, which has both ends of its own.
      {"zai-org/GLM-4.7-Flash",
       R"({"model_type": "glm4_moe_lite", "hidden_size": 2048, "intermediate_size": 10240,
         "num_hidden_layers": 47, "num_attention_heads": 20, "vocab_size": 154880,
         "num_key_value_heads": 20, "q_lora_rank": 768, "kv_lora_rank": 512,
         "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256,
         "n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4,
         "moe_intermediate_size": 1536, "first_k_dense_replace": 1, "num_nextn_predict_layers":
         1, "n_group": 1, "topk_group": 1})",
       31'221'488'576L - 2L * 154'880L * 2048L -
           (2048L * 768L + 768L + 768L * 20L * 256L + 2048L * (512L + 64L) + 512L +
            512L * 20L * (192L + 256L) + 20L * 256L * 2048L + (64L + 1L) * 3L * 2048L * 1536L +
            64L * 2048L + 64L + 2L * 2048L + 3L * 2048L + 2L * 2048L * 2048L),
       kHub},
      {"deepseek-ai/deepseek-moe-16b-base",
       R"({"model_type": "deepseek", "hidden_size": 2048, "intermediate_size": 10944,
         "num_hidden_layers": 28, "num_attention_heads": 16, "vocab_size": 102400,
         "num_key_value_heads": 16, "n_routed_experts": 64, "n_shared_experts": 2,
         "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
         "moe_layer_freq": 1, "scoring_func": "softmax"})",
       16'375'728'128L, kHub},
      {"internlm/internlm2_5-7b-chat",
       R"({"model_type": "internlm2", "hidden_size": 4096, "intermediate_size": 14336,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 92544,
         "num_key_value_heads": 8, "bias": false})",
       7'737'708'544L, kHub},
      {"internlm/internlm3-8b-instruct",
       R"({"model_type": "internlm3", "hidden_size": 4096, "intermediate_size": 10240,
         "num_hidden_layers": 48, "num_attention_heads": 32, "vocab_size": 128512,
         "num_key_value_heads": 2, "head_dim": 128, "qkv_bias": false, "bias": false})",
       2L * 128'512L * 4096L + 4096L +
           48L *
               (4096L * (32L + 2L + 2L) * 128L + 4096L * 4096L + 3L * 4096L * 10'240L + 2L * 4096L),
       kCode},
      {"Qwen/Qwen-7B",
       R"({"model_type": "qwen", "hidden_size": 4096, "intermediate_size": 22016,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 151936,
         "kv_channels": 128, "no_bias": true, "tie_word_embeddings": false})",
       7'721'324'544L, kHub},
      {"microsoft/Phi-3.5-MoE-instruct",
       R"({"model_type": "phimoe", "hidden_size": 4096, "intermediate_size": 6400,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32064,
         "num_key_value_heads": 8, "num_local_experts": 16, "num_experts_per_tok": 2,
         "attention_bias": true, "lm_head_bias": true, "sliding_window": 131072})",
       2L * 32'064L * 4096L + 32'064L + 2L * 4096L +
           32L * (4096L * (32L + 8L + 8L) * 128L + (32L + 8L + 8L) * 128L + 4096L * 4096L + 4096L +
                  16L * 3L * 4096L * 6400L + 16L * 4096L + 4L * 4096L),
       kCode},
      {"inclusionAI/Ling-lite",
       R"({"model_type": "bailing_moe", "hidden_size": 2048, "intermediate_size": 5632,
         "num_hidden_layers": 28, "num_attention_heads": 16, "vocab_size": 126464,
         "num_key_value_heads": 4, "head_dim": 128, "num_experts": 64, "num_experts_per_tok":
         6, "moe_intermediate_size": 1408, "num_shared_experts": 2, "first_k_dense_replace": 0,
         "use_qkv_bias": false, "use_bias": false})",
       16'801'974'272L, kHub},
      {"inclusionAI/Ling-mini-2.0",
       R"({"model_type": "bailing_moe_v2", "hidden_size": 2048, "intermediate_size": 5120,
         "num_hidden_layers": 20, "num_attention_heads": 16, "vocab_size": 157184,
         "num_key_value_heads": 4, "head_dim": 128, "num_experts": 256, "num_experts_per_tok":
         8, "moe_intermediate_size": 512, "num_shared_experts": 1, "first_k_dense_replace": 1,
         "use_qk_norm": true, "use_qkv_bias": false, "use_bias": false, "n_group": 8,
         "topk_group": 4, "score_function": "sigmoid", "moe_router_enable_expert_bias": true,
         "partial_rotary_factor": 0.5})",
       16'255'643'392L, kHub},
      {"databricks/dbrx-base",
       R"({"model_type": "dbrx", "d_model": 6144, "n_layers": 40, "n_heads": 48, "vocab_size":
         100352, "attn_config": {"kv_n_heads": 8, "clip_qkv": 8}, "ffn_config":
         {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}})",
       2L * 100'352L * 6144L + 6144L +
           40L * (6144L * (48L + 8L + 8L) * 128L + 6144L * 6144L + 16L * 3L * 6144L * 10'752L +
                  16L * 6144L + 2L * 6144L),
       kCode},
      {"hpcai-tech/grok-1",
       R"({"model_type": "grok-1", "hidden_size": 6144, "intermediate_size": 32768,
         "num_hidden_layers": 64, "num_attention_heads": 48, "vocab_size": 131072,
         "num_key_value_heads": 8, "num_experts": 8, "num_experts_per_tok": 2,
         "tie_word_embeddings": true})",
       131'072L * 6144L + 6144L +
           64L * (6144L * (48L + 8L + 8L) * 128L + 6144L * 6144L + 8L * 3L * 6144L * 32'768L +
                  8L * 6144L + 4L * 6144L),
       kCode},
      {"xai-org/grok-2",
       R"({"architectures": ["Grok1ForCausalLM"], "model_type": "git", "hidden_size": 8192,
         "intermediate_size": 32768, "num_hidden_layers": 64, "num_attention_heads": 64,
         "vocab_size": 131072, "num_key_value_heads": 8, "head_dim": 128, "num_local_experts":
         8, "num_experts_per_tok": 2, "moe_intermediate_size": 16384, "residual_moe": true})",
       269'515'497'472L, kShipped},
      {"openbmb/MiniCPM4-8B",
       R"({"model_type": "minicpm", "hidden_size": 4096, "intermediate_size": 16384,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 73448,
         "num_key_value_heads": 2, "tie_word_embeddings": false, "num_experts": 0})",
       8'185'253'888L, kHub},
      {"openbmb/MiniCPM3-4B",
       R"({"model_type": "minicpm3", "hidden_size": 2560, "intermediate_size": 6400,
         "num_hidden_layers": 62, "num_attention_heads": 40, "vocab_size": 73448,
         "num_key_value_heads": 40, "q_lora_rank": 768, "kv_lora_rank": 256,
         "qk_nope_head_dim": 64, "qk_rope_head_dim": 32})",
       73'448L * 2560L + 2560L +
           62L * (2560L * 768L + 768L + 768L * 40L * 96L + 2560L * (256L + 32L) + 256L +
                  256L * 40L * (64L + 64L) + 40L * 64L * 2560L + 3L * 2560L * 6400L + 2L * 2560L),
       kCode},
      {"tencent/Youtu-LLM-2B",
       R"({"model_type": "youtu_llm", "hidden_size": 2048, "intermediate_size": 6144,
         "num_hidden_layers": 32, "num_attention_heads": 16, "vocab_size": 128256,
         "num_key_value_heads": 16, "q_lora_rank": 1536, "kv_lora_rank": 512,
         "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128})",
       128'256L * 2048L + 2048L +
           32L *
               (2048L * 1536L + 1536L + 1536L * 16L * 192L + 2048L * (512L + 64L) + 512L +
                512L * 16L * (128L + 128L) + 16L * 128L * 2048L + 3L * 2048L * 6144L + 2L * 2048L),
       kCode},
      // Less the module that predicts a second token.
      {"XiaomiMiMo/MiMo-7B-Base",
       R"({"model_type": "mimo", "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 36, "num_attention_heads": 32, "vocab_size": 151680,
         "num_key_value_heads": 8, "head_dim": 128, "attention_bias": true,
         "num_nextn_predict_layers": 1, "tie_word_embeddings": false, "use_sliding_window":
         false, "sliding_window": 32768, "max_window_layers": 36})",
       7'833'409'536L - (4096L * (32L + 8L + 8L) * 128L + (32L + 8L + 8L) * 128L + 4096L * 4096L +
                         3L * 4096L * 11'008L + 2L * 4096L + 3L * 4096L + 2L * 4096L * 4096L),
       kHub},
      {"mistralai/Ministral-3-8B-Base-2512",
       R"({"model_type": "ministral3", "hidden_size": 4096, "intermediate_size": 14336,
         "num_hidden_layers": 34, "num_attention_heads": 32, "vocab_size": 131072,
         "num_key_value_heads": 8, "head_dim": 128})",
       2L * 131'072L * 4096L + 4096L +
           34L *
               (4096L * (32L + 8L + 8L) * 128L + 4096L * 4096L + 3L * 4096L * 14'336L + 2L * 4096L),
       kCode},
      {"bigscience/bloom",
       R"({"model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112,
         "vocab_size": 250880})",
       176'247'271'424L, kHub},
      {"bigscience/bloom-560m",
       R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16,
         "vocab_size": 250880})",
       559'214'592L, kHub},
      {"allenai/OLMo-1B-hf",
       R"({"model_type": "olmo", "hidden_size": 2048, "intermediate_size": 8192,
         "num_hidden_layers": 16, "num_attention_heads": 16, "vocab_size": 50304,
         "num_key_value_heads": 16, "tie_word_embeddings": true})",
       1'176'764'416L, kHub},
      {"CohereLabs/aya-23-8B",
       R"({"model_type": "cohere", "hidden_size": 4096, "intermediate_size": 14336,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 256000,
         "num_key_value_heads": 8, "use_qk_norm": false})",
       8'028'033'024L, kHub},
      {"CohereLabs/c4ai-command-r7b-12-2024",
       R"({"model_type": "cohere2", "hidden_size": 4096, "intermediate_size": 14336,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 256000,
         "num_key_value_heads": 8, "sliding_window": 4096, "sliding_window_pattern": 4})",
       8'028'033'024L, kHub},
      // The checkpoint holds the tied matrix twice.
      {"tiiuae/falcon-7b",
       R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
         "num_attention_heads": 71, "vocab_size": 65024, "multi_query": true, "parallel_attn":
         true, "new_decoder_architecture": false, "bias": false, "alibi": false})",
       7'217'189'760L - 65'024L * 4544L, kHub},
      // The checkpoint holds the tied matrix twice.
      {"tiiuae/falcon-40b",
       R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60,
         "num_attention_heads": 128, "num_kv_heads": 8, "vocab_size": 65024, "multi_query":
         true, "parallel_attn": true, "new_decoder_architecture": true, "bias": false, "alibi":
         false})",
       41'835'970'560L - 65'024L * 8192L, kHub},
      // In 16 bits; the checkpoint holds the tied matrix twice.
      {"tiiuae/falcon-180B-chat",
       R"({"model_type": "falcon", "hidden_size": 14848, "num_hidden_layers": 80,
         "num_attention_heads": 232, "num_kv_heads": 8, "vocab_size": 65024,
         "new_decoder_architecture": true, "bias": false, "alibi": false})",
       359'045'130'240L / 2L - 65'024L * 14'848L, kIndex},
      {"microsoft/phi-1_5",
       R"({"model_type": "phi", "hidden_size": 2048, "intermediate_size": 8192,
         "num_hidden_layers": 24, "num_attention_heads": 32, "vocab_size": 51200,
         "partial_rotary_factor": 0.5, "qk_layernorm": false})",
       1'418'270'720L, kHub},
      {"microsoft/phi-2",
       R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 51200,
         "partial_rotary_factor": 0.4, "qk_layernorm": false})",
       2'779'683'840L, kHub},
      {"EleutherAI/gpt-j-6b",
       R"({"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_inner": null,
         "vocab_size": 50400, "n_positions": 2048, "rotary_dim": 64, "tie_word_embeddings":
         false})",
       2L * 50'400L * 4096L + 50'400L + 2L * 4096L +
           28L * (4L * 4096L * 4096L + 2L * 4096L * 16'384L + 16'384L + 4096L + 2L * 4096L),
       kCode},
      {"EleutherAI/gpt-neox-20b",
       R"({"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576,
         "num_hidden_layers": 44, "num_attention_heads": 64, "vocab_size": 50432, "rotary_pct":
         0.25, "use_parallel_residual": true})",
       20'554'567'680L, kCard},
      {"EleutherAI/pythia-1.4b-deduped",
       R"({"model_type": "gpt_neox", "hidden_size": 2048, "intermediate_size": 8192,
         "num_hidden_layers": 24, "num_attention_heads": 16, "vocab_size": 50304, "rotary_pct":
         0.25, "use_parallel_residual": true})",
       1'414'647'808L, kHub},
      // Less the masks that the checkpoint holds.
      {"openai-community/gpt2",
       R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions":
         1024, "vocab_size": 50257})",
       137'022'720L - 12L * 1024L * 1024L, kHub},
      {"facebook/opt-125m",
       R"({"model_type": "opt", "hidden_size": 768, "ffn_dim": 3072, "num_hidden_layers": 12,
         "num_attention_heads": 12, "max_position_embeddings": 2048, "vocab_size": 50272,
         "word_embed_proj_dim": 768, "do_layer_norm_before": true})",
       125'239'296L, kHub},
      {"mosaicml/mpt-7b",
       R"({"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32, "vocab_size":
         50432, "expansion_ratio": 4, "no_bias": true, "attn_config": {"alibi": true,
         "attn_type": "multihead_attention", "qk_ln": false}})",
       50'432L * 4096L + 4096L + 32L * (4L * 4096L * 4096L + 2L * 4096L * 16'384L + 2L * 4096L),
       kCode},
      {"bigcode/starcoder2-3b",
       R"({"model_type": "starcoder2", "hidden_size": 3072, "intermediate_size": 12288,
         "num_hidden_layers": 30, "num_attention_heads": 24, "vocab_size": 49152,
         "num_key_value_heads": 2, "use_bias": true, "sliding_window": 4096})",
       3'030'371'328L, kHub},
      {"bigcode/starcoder2-7b",
       R"({"model_type": "starcoder2", "hidden_size": 4608, "intermediate_size": 18432,
         "num_hidden_layers": 32, "num_attention_heads": 36, "vocab_size": 49152,
         "num_key_value_heads": 4, "use_bias": true, "sliding_window": 4096})",
       7'173'923'840L, kHub},
      // The checkpoint holds the tied matrix twice.
      {"bigcode/starcoder",
       R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner":
         24576, "n_positions": 8192, "vocab_size": 49152, "multi_query": true})",
       15'819'446'272L - 49'152L * 6144L, kHub},
      {"nvidia/Nemotron-Mini-4B-Instruct",
       R"({"model_type": "nemotron", "hidden_size": 3072, "intermediate_size": 9216,
         "num_hidden_layers": 32, "num_attention_heads": 24, "vocab_size": 256000,
         "num_key_value_heads": 8, "head_dim": 128, "partial_rotary_factor": 0.5,
         "tie_word_embeddings": false})",
       2L * 256'000L * 3072L + 2L * 3072L +
           32L * (3072L * (24L + 8L + 8L) * 128L + 3072L * 3072L + 2L * 3072L * 9216L + 4L * 3072L),
       kCode},
      {"ibm-granite/granite-3.3-8b-instruct",
       R"({"model_type": "granite", "hidden_size": 4096, "intermediate_size": 12800,
         "num_hidden_layers": 40, "num_attention_heads": 32, "vocab_size": 49159,
         "num_key_value_heads": 8, "tie_word_embeddings": true})",
       8'170'864'640L, kHub},
      // In 32 bits.
      {"ibm-granite/granite-3.1-1b-a400m-instruct",
       R"({"model_type": "granitemoe", "hidden_size": 1024, "intermediate_size": 512,
         "num_hidden_layers": 24, "num_attention_heads": 16, "vocab_size": 49155,
         "num_key_value_heads": 8, "num_local_experts": 32, "num_experts_per_tok": 8,
         "tie_word_embeddings": true})",
       5'338'513'408L / 4L, kIndex},
      {"a GraniteMoeShared",
       R"({"model_type": "granitemoeshared", "hidden_size": 1536, "intermediate_size": 512,
         "num_hidden_layers": 40, "num_attention_heads": 12, "vocab_size": 49160,
         "num_key_value_heads": 4, "num_local_experts": 62, "num_experts_per_tok": 6,
         "shared_intermediate_size": 1024, "tie_word_embeddings": true})",
       49'160L * 1536L + 1536L +
           40L * (1536L * (12L + 4L + 4L) * 128L + 1536L * 1536L + 62L * 3L * 1536L * 512L +
                  62L * 1536L + 3L * 1536L * 1024L + 2L * 1536L),
       kMade},
      {"facebook/cwm",
       R"({"model_type": "cwm", "hidden_size": 6144, "intermediate_size": 21504,
         "num_hidden_layers": 64, "num_attention_heads": 48, "vocab_size": 128256,
         "num_key_value_heads": 8, "head_dim": 128})",
       2L * 128'256L * 6144L + 6144L +
           64L *
               (6144L * (48L + 8L + 8L) * 128L + 6144L * 6144L + 3L * 6144L * 21'504L + 2L * 6144L),
       kCode},
      {"kyutai/helium-1-2b",
       R"({"model_type": "helium", "hidden_size": 2048, "intermediate_size": 8192,
         "num_hidden_layers": 28, "num_attention_heads": 16, "vocab_size": 64000,
         "num_key_value_heads": 8, "head_dim": 128})",
       2'023'868'416L, kHub},
      {"rednote-hilab/dots.llm1.inst",
       R"({"model_type": "dots1", "hidden_size": 4096, "intermediate_size": 10944,
         "num_hidden_layers": 62, "num_attention_heads": 32, "vocab_size": 152064,
         "num_key_value_heads": 32, "head_dim": 128, "n_routed_experts": 128,
         "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408,
         "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 1, "topk_group": 1})",
       142'774'381'696L, kHub},
      {"allenai/Flex-reddit-2x7B-1T",
       R"({"model_type": "flex_olmo", "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 100352,
         "num_experts": 2, "num_experts_per_tok": 2})",
       11'627'401'216L, kHub},
      {"stabilityai/stablelm-3b-4e1t",
       R"({"model_type": "stablelm", "hidden_size": 2560, "intermediate_size": 6912,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 50304,
         "num_key_value_heads": 32, "use_qkv_bias": false})",
       2'795'443'200L, kHub},
      {"stabilityai/stablelm-2-1_6b-chat",
       R"({"model_type": "stablelm", "hidden_size": 2048, "intermediate_size": 5632,
         "num_hidden_layers": 24, "num_attention_heads": 32, "vocab_size": 100352,
         "num_key_value_heads": 32, "use_qkv_bias": true})",
       1'644'515'328L, kHub},
      // Less the vision model: patches, 32 layers of 1280 and what merges four patches into one.
      {"Qwen/Qwen2-VL-7B",
       R"({"model_type": "qwen2_vl", "hidden_size": 3584, "intermediate_size": 18944,
         "num_hidden_layers": 28, "num_attention_heads": 28, "vocab_size": 152064,
         "num_key_value_heads": 4, "use_sliding_window": false, "max_window_layers": 28,
         "sliding_window": 32768, "tie_word_embeddings": false, "vision_config": {"depth": 32}})",
       8'291'375'616L - (3L * 2L * 14L * 14L * 1280L +
                         32L * (3L * 1280L * 1280L + 3L * 1280L + 1280L * 1280L + 1280L +
                                2L * 1280L * 5120L + 5120L + 1280L + 4L * 1280L) +
                         2L * 1280L + 5120L * 5120L + 5120L + 5120L * 3584L + 3584L),
       kHub},
      // As Qwen2.5-7B.
      {"Qwen/Qwen2.5-VL-7B-Instruct",
       R"({"model_type": "qwen2_5_vl", "hidden_size": 3584, "intermediate_size": 18944,
         "num_hidden_layers": 28, "num_attention_heads": 28, "vocab_size": 152064,
         "num_key_value_heads": 4, "use_sliding_window": false, "tie_word_embeddings": false})",
       7'615'616'512L, kHub},
      // As Qwen3-8B.
      {"Qwen/Qwen3-VL-8B-Instruct",
       R"({"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text",
         "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
         "num_attention_heads": 32, "vocab_size": 151936, "num_key_value_heads": 8, "head_dim":
         128}, "tie_word_embeddings": false})",
       8'190'735'360L, kHub},
      // As Qwen3-30B-A3B.
      {"Qwen/Qwen3-VL-30B-A3B-Instruct",
       R"({"model_type": "qwen3_vl_moe", "text_config": {"model_type": "qwen3_vl_moe_text",
         "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48,
         "num_attention_heads": 32, "vocab_size": 151936, "num_key_value_heads": 4, "head_dim":
         128, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
         "decoder_sparse_step": 1, "mlp_only_layers": []}, "tie_word_embeddings": false})",
       30'532'122'624L, kShipped},
      {"google/gemma-3-4b-pt",
       R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size":
         2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}})",
       3'880'263'168L, kHub},
      {"google/gemma-3-1b-it",
       R"({"model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912,
         "num_hidden_layers": 26, "num_attention_heads": 4, "vocab_size": 262144,
         "num_key_value_heads": 1, "head_dim": 256, "sliding_window": 512})",
       999'885'952L, kHub},
      {"google/gemma-2b",
       R"({"model_type": "gemma", "hidden_size": 2048, "intermediate_size": 16384,
         "num_hidden_layers": 18, "num_attention_heads": 8, "vocab_size": 256000,
         "num_key_value_heads": 1, "head_dim": 256})",
       2'506'172'416L, kHub},
      // Llama 2 7B with 64 more tokens.
      {"llava-hf/llava-1.5-7b-hf",
       R"({"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}})",
       2L * 32'064L * 4096L + 4096L +
           32L * (4L * 4096L * 4096L + 3L * 4096L * 11'008L + 2L * 4096L),
       kCode},
      // 48 layers of linear attention, 16 of full, each with a feed-forward.
      {"Qwen/Qwen3.5-27B",
       R"({"model_type": "qwen3_5", "tie_word_embeddings": false, "text_config": {"model_type":
         "qwen3_5_text", "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers":
         64, "num_attention_heads": 24, "vocab_size": 248320, "num_key_value_heads": 4,
         "head_dim": 256, "full_attention_interval": 4, "linear_conv_kernel_dim": 4,
         "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 48,
         "linear_value_head_dim": 128}})",
       2L * 248'320L * 5120L + 5120L + 64L * (3L * 5120L * 17'408L + 2L * 5120L) +
           16L * (5120L * (2L * 24L + 4L + 4L) * 256L + 24L * 256L * 5120L + 2L * 256L) +
           48L * (5120L * (2L * 16L * 128L + 2L * 48L * 128L) + 2L * 48L * 5120L + 2L * 48L +
                  4L * (2L * 16L * 128L + 48L * 128L) + 128L + 48L * 128L * 5120L),
       kCode},
      {"principled-intelligence/Qwen3.5-9B-text-only",
       R"({"model_type": "qwen3_5_text", "hidden_size": 4096, "intermediate_size": 12288,
         "num_hidden_layers": 32, "num_attention_heads": 16, "vocab_size": 248320,
         "num_key_value_heads": 4, "head_dim": 256, "full_attention_interval": 4,
         "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
         "linear_num_value_heads": 32, "linear_value_head_dim": 128, "tie_word_embeddings":
         false})",
       8'953'803'264L, kHub},
      {"LiquidAI/LFM2-1.2B",
       R"({"model_type": "lfm2", "hidden_size": 2048, "num_hidden_layers": 16,
         "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536,
         "block_ff_dim": 12288, "block_auto_adjust_ff_dim": true, "block_ffn_dim_multiplier":
         1.0, "block_multiple_of": 256, "full_attn_idxs": [2, 5, 8, 10, 12, 14],
         "tie_embedding": true})",
       1'170'340'608L, kHub},
      {"moonshotai/Kimi-Linear-48B-A3B-Instruct",
       R"({"model_type": "kimi_linear", "hidden_size": 2304, "intermediate_size": 9216,
         "num_hidden_layers": 27, "num_attention_heads": 32, "vocab_size": 163840,
         "num_key_value_heads": 32, "q_lora_rank": null, "kv_lora_rank": 512,
         "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "num_experts":
         256, "num_experts_per_token": 8, "moe_intermediate_size": 1024, "num_shared_experts":
         1, "first_k_dense_replace": 1, "moe_layer_freq": 1, "mla_use_nope": true,
         "moe_router_activation_func": "sigmoid", "linear_attn_config": {"num_heads": 32,
         "head_dim": 128, "short_conv_kernel_size": 4, "full_attn_layers": [4, 8, 12, 16, 20,
         24, 27]}})",
       49'122'681'728L, kHub},
      {"Qwen/Qwen1.5-MoE-A2.7B",
       R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632,
         "num_hidden_layers": 24, "num_attention_heads": 16, "vocab_size": 151936,
         "num_key_value_heads": 16, "num_experts": 60, "num_experts_per_tok": 4,
         "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632,
         "use_sliding_window": false})",
       14'315'784'192L, kHub},
      {"LGAI-EXAONE/EXAONE-3.5-2.4B-Instruct",
       R"({"model_type": "exaone", "hidden_size": 2560, "intermediate_size": 7168, "num_layers":
         30, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 80, "vocab_size":
         102400, "tie_word_embeddings": true})",
       2'405'327'360L, kHub},
      {"microsoft/phi-3-mini-4k-instruct",
       R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32064,
         "num_key_value_heads": 32, "sliding_window": 2047})",
       3'821'079'552L, kHub},
      {"mistralai/Ministral-8B-Instruct-2410",
       R"({"model_type": "ministral", "hidden_size": 4096, "intermediate_size": 12288,
         "num_hidden_layers": 36, "num_attention_heads": 32, "vocab_size": 131072,
         "num_key_value_heads": 8, "head_dim": 128, "sliding_window": 32768})",
       2L * 131'072L * 4096L + 4096L +
           36L *
               (4096L * (32L + 8L + 8L) * 128L + 4096L * 4096L + 3L * 4096L * 12'288L + 2L * 4096L),
       kCode},
      // Less the module that predicts a second token, which has both ends of its own.
      {"zai-org/GLM-4.5-Air",
       R"({"model_type": "glm4_moe", "hidden_size": 4096, "intermediate_size": 10944,
         "num_hidden_layers": 46, "num_attention_heads": 96, "vocab_size": 151552,
         "num_key_value_heads": 8, "head_dim": 128, "attention_bias": true, "use_qk_norm":
         false, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8,
         "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "n_group": 1, "topk_group":
         1, "num_nextn_predict_layers": 1})",
       110'468'824'832L - 2L * 151'552L * 4096L -
           (4096L * (96L + 8L + 8L) * 128L + (96L + 8L + 8L) * 128L + 96L * 128L * 4096L +
            (128L + 1L) * 3L * 4096L * 1408L + 128L * 4096L + 128L + 2L * 4096L + 3L * 4096L +
            2L * 4096L * 4096L),
       kHub},
      {"mistralai/Mistral-7B-v0.1",
       R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000,
         "num_key_value_heads": 8, "sliding_window": 4096})",
       7'241'732'096L, kHub},
      {"deepseek-ai/DeepSeek-V3.2",
       R"({"model_type": "deepseek_v32", "hidden_size": 7168, "intermediate_size": 18432,
         "num_hidden_layers": 61, "num_attention_heads": 128, "vocab_size": 129280,
         "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim":
         64, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3,
         "index_n_heads": 64, "index_head_dim": 128, "index_topk": 2048})",
       671'026'419'200L + 61L * (1536L * 64L * 128L + 7168L * 64L + 7168L * 128L + 2L * 128L),
       kCode},
      {"Qwen/Qwen3-Next-80B-A3B-Instruct",
       R"({"model_type": "qwen3_next", "hidden_size": 2048, "intermediate_size": 5120,
         "num_hidden_layers": 48, "num_attention_heads": 16, "vocab_size": 151936,
         "num_key_value_heads": 2, "head_dim": 256, "num_experts": 512, "num_experts_per_tok":
         10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
         "full_attention_interval": 4, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
         "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim":
         128})",
       2L * 151'936L * 2048L + 2048L +
           48L * ((512L + 1L) * 3L * 2048L * 512L + 512L * 2048L + 2048L + 2L * 2048L) +
           12L * (2048L * (2L * 16L + 2L + 2L) * 256L + 16L * 256L * 2048L + 2L * 256L) +
           36L * (2048L * (2L * 16L * 128L + 2L * 32L * 128L) + 2L * 32L * 2048L + 2L * 32L +
                  4L * (2L * 16L * 128L + 32L * 128L) + 128L + 32L * 128L * 2048L),
       kCode},
      {"google/gemma-2-2b",
       R"({"model_type": "gemma2", "hidden_size": 2304, "intermediate_size": 9216,
         "num_hidden_layers": 26, "num_attention_heads": 8, "vocab_size": 256000,
         "num_key_value_heads": 4, "head_dim": 256})",
       256'000L * 2304L + 2304L +
           26L * (2304L * (8L + 4L + 4L) * 256L + 8L * 256L * 2304L + 3L * 2304L * 9216L +
                  4L * 2304L),
       kCode},
      {"Tele-AI/TeleChat3-36B-Thinking",
       R"({"model_type": "telechat3", "hidden_size": 6144, "intermediate_size": 24576,
         "num_hidden_layers": 64, "num_attention_heads": 48, "vocab_size": 131072,
         "num_key_value_heads": 8, "head_dim": 128, "attention_bias": false, "mlp_bias": false,
         "rope_scaling": {"rope_type": "telechat3-yarn", "factor": 4.0}})",
       2L * 131'072L * 6144L + 6144L +
           64L *
               (6144L * (48L + 8L + 8L) * 128L + 6144L * 6144L + 3L * 6144L * 24'576L + 2L * 6144L),
       kCode},
      {"naver-hyperclovax/HyperCLOVAX-SEED-Think-14B",
       R"({"model_type": "hyperclovax", "hidden_size": 6144, "intermediate_size": 14336,
         "num_hidden_layers": 38, "num_attention_heads": 48, "vocab_size": 110592,
         "num_key_value_heads": 8, "head_dim": 128, "use_post_norm": true})",
       14'748'112'896L, kHub},
      {"ibm-granite/granite-swash-2b",
       R"({"model_type": "granite_swa", "hidden_size": 2560, "intermediate_size": 8192,
         "num_hidden_layers": 24, "num_attention_heads": 20, "vocab_size": 100352,
         "num_key_value_heads": 4, "tie_word_embeddings": true})",
       100'352L * 2560L + 2560L +
           24L * (2560L * (20L + 4L + 4L) * 128L + 2560L * 2560L + 3L * 2560L * 8192L + 2L * 2560L +
                  20L),
       kCode},
      {"inceptionai/Jais-2-8B-Chat",
       R"({"model_type": "jais2", "hidden_size": 3328, "intermediate_size": 26624,
         "num_hidden_layers": 32, "num_attention_heads": 26, "vocab_size": 150272,
         "num_key_value_heads": 26, "head_dim": 128, "hidden_act": "relu2"})",
       8'090'401'280L, kHub},
      {"karpathy/nanochat-d32",
       R"({"model_type": "nanochat", "hidden_size": 2048, "intermediate_size": 8192,
         "num_hidden_layers": 32, "num_attention_heads": 16, "vocab_size": 65536,
         "num_key_value_heads": 16})",
       2L * 65'536L * 2048L + 32L * (4L * 2048L * 2048L + 2L * 2048L * 8192L), kCode},
      // Less the 32 frequencies of positions that the checkpoint holds.
      {"zai-org/glm-4-9b",
       R"({"model_type": "chatglm", "hidden_size": 4096, "ffn_hidden_size": 13696, "num_layers":
         40, "num_attention_heads": 32, "padded_vocab_size": 151552, "kv_channels": 128,
         "multi_query_attention": true, "multi_query_group_num": 2, "add_qkv_bias": true,
         "add_bias_linear": false, "rmsnorm": true, "tie_word_embeddings": false})",
       9'399'951'392L - 32L, kHub},
      // Less the 32 frequencies of positions that the checkpoint holds.
      {"THUDM/chatglm3-6b",
       R"({"model_type": "chatglm", "hidden_size": 4096, "ffn_hidden_size": 13696, "num_layers":
         28, "num_attention_heads": 32, "padded_vocab_size": 65024, "kv_channels": 128,
         "multi_query_attention": true, "multi_query_group_num": 2, "add_qkv_bias": true,
         "add_bias_linear": false, "rmsnorm": true})",
       6'243'584'032L - 32L, kHub},
      // With the biases of 60 routers, which the checkpoint does not hold.
      {"skt/A.X-K1",
       R"({"model_type": "axk1", "hidden_size": 7168, "intermediate_size": 18432,
         "num_hidden_layers": 61, "num_attention_heads": 64, "vocab_size": 163840,
         "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim":
         64, "v_head_dim": 128, "n_routed_experts": 192, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 1,
         "n_group": 8, "topk_group": 4})",
       518'983'059'456L + 60L * 192L, kHub},
      // As Youtu-LLM-2B beside its own code.
      {"tencent/Youtu-LLM-2B of transformers",
       R"({"model_type": "youtu", "hidden_size": 2048, "intermediate_size": 6144,
         "num_hidden_layers": 32, "num_attention_heads": 16, "vocab_size": 128256,
         "num_key_value_heads": 16, "q_lora_rank": 1536, "kv_lora_rank": 512,
         "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128})",
       128'256L * 2048L + 2048L +
           32L *
               (2048L * 1536L + 1536L + 1536L * 16L * 192L + 2048L * (512L + 64L) + 512L +
                512L * 16L * (128L + 128L) + 16L * 128L * 2048L + 3L * 2048L * 6144L + 2L * 2048L),
       kCode},
      {"upstage/Solar-Open-100B",
       R"({"model_type": "solar_open", "hidden_size": 4096, "num_hidden_layers": 48,
         "num_attention_heads": 64, "vocab_size": 196608, "num_key_value_heads": 8, "head_dim":
         128, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8,
         "moe_intermediate_size": 1280, "first_k_dense_replace": 0, "use_qk_norm": false})",
       2L * 196'608L * 4096L + 4096L +
           48L * (4096L * (64L + 8L + 8L) * 128L + 64L * 128L * 4096L +
                  (128L + 1L) * 3L * 4096L * 1280L + 128L * 4096L + 128L + 2L * 4096L),
       kCode},
      // Less the module that predicts a second token.
      {"tencent/Hy3-preview",
       R"({"model_type": "hy_v3", "hidden_size": 4096, "intermediate_size": 13312,
         "num_hidden_layers": 80, "num_attention_heads": 64, "vocab_size": 120832,
         "num_key_value_heads": 8, "head_dim": 128, "num_experts": 192, "num_experts_per_tok":
         8, "num_shared_experts": 1, "moe_intermediate_size": 1536})",
       298'786'155'776L - (4096L * (64L + 8L + 8L) * 128L + 64L * 128L * 4096L + 2L * 128L +
                           (192L + 1L) * 3L * 4096L * 1536L + 192L * 4096L + 192L + 2L * 4096L +
                           3L * 4096L + 2L * 4096L * 4096L),
       kHub},
      // Less the module that predicts a second token, whose feed-forward is dense.
      {"LGAI-EXAONE/K-EXAONE-236B-A23B",
       R"({"model_type": "exaone_moe", "hidden_size": 6144, "intermediate_size": 18432,
         "num_hidden_layers": 48, "num_attention_heads": 64, "vocab_size": 153600,
         "num_key_value_heads": 8, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
         "num_shared_experts": 1, "moe_intermediate_size": 2048, "first_k_dense_replace": 1,
         "num_nextn_predict_layers": 1, "sliding_window": 128, "sliding_window_pattern": "LLLG"})",
       237'099'669'632L - (6144L * (64L + 8L + 8L) * 128L + 64L * 128L * 6144L + 2L * 128L +
                           3L * 6144L * 18'432L + 2L * 6144L + 3L * 6144L + 2L * 6144L * 6144L),
       kHub},
      {"a GraniteMoeSWA",
       R"({"model_type": "granitemoe_swa", "hidden_size": 1536, "intermediate_size": 512,
         "num_hidden_layers": 40, "num_attention_heads": 12, "vocab_size": 100352,
         "num_key_value_heads": 4, "num_local_experts": 62, "num_experts_per_tok": 6,
         "shared_intermediate_size": 1024, "tie_word_embeddings": true})",
       100'352L * 1536L + 1536L +
           40L * (1536L * (12L + 4L + 4L) * 128L + 1536L * 1536L + 62L * 3L * 1536L * 512L +
                  62L * 1536L + 3L * 1536L * 1024L + 2L * 1536L + 12L),
       kMade},
      // Less the vision model (patches, 4900 positions, 27 layers of 1152) and what joins it: 256
      // queries, four products of attention twice, three norms and two products to the text.
      {"rhymes-ai/Aria",
       R"({"model_type": "aria", "text_config": {"model_type": "aria_text", "hidden_size": 2560,
         "intermediate_size": 1664, "num_hidden_layers": 28, "num_attention_heads": 20,
         "num_key_value_heads": 20, "vocab_size": 100352, "moe_num_experts": 64, "moe_topk": 6,
         "moe_num_shared_experts": 2}})",
       25'307'311'216L - (3L * 14L * 14L * 1152L + 1152L + 4900L * 1152L +
                          27L * (4L * 1152L * 1152L + 4L * 1152L + 2L * 1152L * 4304L + 4304L +
                                 1152L + 4L * 1152L) +
                          2L * 1152L + 256L * 1152L + 8L * 1152L * 1152L + 5L * 1152L + 6L * 1152L +
                          1152L * 2560L + 2560L * 2560L),
       kHub},
      {"JetBrains/Mellum2-12B-A2.5B-Base",
       R"({"model_type": "mellum", "hidden_size": 2304, "intermediate_size": 7168,
         "num_hidden_layers": 28, "num_attention_heads": 32, "vocab_size": 98304,
         "num_key_value_heads": 4, "head_dim": 128, "num_experts": 64, "num_experts_per_tok": 8,
         "moe_intermediate_size": 896, "sliding_window": 1024})",
       2L * 98'304L * 2304L + 2304L +
           28L * (2304L * (32L + 4L + 4L) * 128L + 32L * 128L * 2304L + 2L * 128L +
                  64L * 3L * 2304L * 896L + 64L * 2304L + 2L * 2304L),
       kCode},
      {"google/vaultgemma-1b",
       R"({"model_type": "vaultgemma", "hidden_size": 1152, "intermediate_size": 6912,
         "num_hidden_layers": 26, "num_attention_heads": 4, "vocab_size": 256000,
         "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 512})",
       256'000L * 1152L + 1152L +
           26L * (1152L * (4L + 4L + 4L) * 256L + 4L * 256L * 1152L + 3L * 1152L * 6912L +
                  2L * 1152L),
       kCode},
      {"facebook/xglm-564M",
       R"({"model_type": "xglm", "d_model": 1024, "ffn_dim": 4096, "num_layers": 24,
         "attention_heads": 16, "vocab_size": 256008, "max_position_embeddings": 2048})",
       256'008L * 1024L + 2L * 1024L +
           24L *
               (4L * 1024L * 1024L + 4L * 1024L + 2L * 1024L * 4096L + 4096L + 1024L + 4L * 1024L),
       kCode},
      {"microsoft/biogpt",
       R"({"model_type": "biogpt", "hidden_size": 1024, "intermediate_size": 4096,
         "num_hidden_layers": 24, "num_attention_heads": 16, "vocab_size": 42384,
         "max_position_embeddings": 1024})",
       42'384L * 1024L + (1024L + 2L) * 1024L + 2L * 1024L +
           24L *
               (4L * 1024L * 1024L + 4L * 1024L + 2L * 1024L * 4096L + 4096L + 1024L + 4L * 1024L),
       kCode},
      {"Salesforce/ctrl",
       R"({"model_type": "ctrl", "n_embd": 1280, "dff": 8192, "n_layer": 48, "n_head": 16,
         "vocab_size": 246534, "n_positions": 256})",
       246'534L * 1280L + 246'534L + 2L * 1280L +
           48L *
               (4L * 1280L * 1280L + 4L * 1280L + 2L * 1280L * 8192L + 8192L + 1280L + 4L * 1280L),
       kCode},
      {"Salesforce/codegen-350M-mono",
       R"({"model_type": "codegen", "n_embd": 1024, "n_layer": 20, "n_head": 16, "n_inner": null,
         "vocab_size": 51200, "n_positions": 2048, "rotary_dim": 32, "tie_word_embeddings":
         false})",
       2L * 51'200L * 1024L + 51'200L + 2L * 1024L +
           20L * (4L * 1024L * 1024L + 2L * 1024L * 4096L + 4096L + 1024L + 2L * 1024L),
       kCode},
      // Less the bias of the last layer's attention.
      {"abeja/gpt-neox-japanese-2.7b",
       R"({"model_type": "gpt_neox_japanese", "hidden_size": 2560, "intermediate_multiple_size": 4,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000})",
       32'000L * 2560L + 2L * 2560L +
           32L * (4L * 2560L * 2560L + 2L * 2560L * 10'240L + 4L * 2560L),
       kCode},
      {"allenai/OLMo-7B",
       R"({"model_type": "hf_olmo", "d_model": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads":
         null, "mlp_hidden_size": 22016, "mlp_ratio": 4, "vocab_size": 50280, "embedding_size":
         50304, "weight_tying": false, "rope": true, "include_bias": false, "layer_norm_type":
         "default", "layer_norm_with_affine": false, "multi_query_attention": false,
         "activation_type": "swiglu", "block_type": "sequential", "alibi": false})",
       2L * 50'304L * 4096L + 32L * (4L * 4096L * 4096L + 3L * 4096L * 22'016L / 2L), kCode},
      // As allenai/OLMo-1B-hf: both inputs of the activation are 8 * 2048 wide, 8192 each.
      {"allenai/OLMo-1B",
       R"({"model_type": "hf_olmo", "d_model": 2048, "n_layers": 16, "n_heads": 16, "n_kv_heads":
         null, "mlp_hidden_size": null, "mlp_ratio": 8, "vocab_size": 50280, "embedding_size":
         50304, "weight_tying": true, "rope": true, "include_bias": false, "layer_norm_type":
         "default", "layer_norm_with_affine": false, "multi_query_attention": false,
         "activation_type": "swiglu", "block_type": "sequential", "alibi": false})",
       50'304L * 2048L + 16L * (4L * 2048L * 2048L + 3L * 2048L * 8L * 2048L / 2L), kCode},
      {"BAAI/Emu3-Chat-hf",
       R"({"model_type": "emu3", "text_config": {"model_type": "emu3_text_model", "hidden_size":
         4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 8, "vocab_size": 184622}})",
       2L * 184'622L * 4096L + 4096L +
           32L *
               (4096L * (32L + 8L + 8L) * 128L + 4096L * 4096L + 3L * 4096L * 14'336L + 2L * 4096L),
       kCode},
      // As Phi-4-mini.
      {"microsoft/Phi-4-multimodal-instruct",
       R"({"model_type": "phi4mm", "hidden_size": 3072, "intermediate_size": 8192,
         "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8,
         "vocab_size": 200064, "tie_word_embeddings": true, "partial_rotary_factor": 0.75,
         "sliding_window": null})",
       200'064L * 3072L + 3072L +
           32L * (3072L * (24L + 8L + 8L) * 128L + 3072L * 3072L + 3L * 3072L * 8192L + 2L * 3072L),
       kCode},
      {"internlm/internlm-7b",
       R"({"model_type": "internlm", "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 103168, "bias": true})",
       2L * 103'168L * 4096L + 4096L +
           32L * (4L * 4096L * 4096L + 4L * 4096L + 3L * 4096L * 11'008L + 2L * 4096L),
       kCode},
      {"baichuan-inc/Baichuan-7B",
       R"({"model_type": "baichuan", "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 64000})",
       2L * 64'000L * 4096L + 4096L +
           32L * (4L * 4096L * 4096L + 3L * 4096L * 11'008L + 2L * 4096L),
       kCode},
      {"OrionStarAI/Orion-14B-Base",
       R"({"model_type": "orion", "hidden_size": 5120, "intermediate_size": 15360,
         "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 40,
         "vocab_size": 84608})",
       2L * 84'608L * 5120L + 2L * 5120L +
           40L * (4L * 5120L * 5120L + 3L * 5120L * 15'360L + 4L * 5120L),
       kCode},
      {"BAAI/AquilaChat2-7B",
       R"({"model_type": "aquila", "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
         "vocab_size": 100008})",
       2L * 100'008L * 4096L + 4096L +
           32L * (4L * 4096L * 4096L + 3L * 4096L * 11'008L + 2L * 4096L),
       kCode},
      {"xverse/XVERSE-7B-Chat",
       R"({"model_type": "xverse", "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 100534})",
       2L * 100'534L * 4096L + 4096L +
           32L * (4L * 4096L * 4096L + 3L * 4096L * 11'008L + 2L * 4096L),
       kCode},
      {"01-ai/Yi-6B",
       R"({"model_type": "Yi", "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 4,
         "vocab_size": 64000})",
       6'061'035'520L, kHub},
      // The text model is Qwen2.5-7B's.
      {"Qwen/Qwen2.5-Omni-7B",
       R"({"model_type": "qwen2_5_omni", "thinker_config": {"model_type": "qwen2_5_omni_thinker",
         "text_config": {"model_type": "qwen2_5_omni_text", "hidden_size": 3584,
         "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
         "num_key_value_heads": 4, "vocab_size": 152064}}})",
       7'615'616'512L, kHub},
      {"a CohereCompass",
       R"({"model_type": "cohere_compass", "text_config": {"model_type": "cohere_compass_text",
         "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 8,
         "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 256000},
         "tie_word_embeddings": true})",
       256'000L * 2048L + 2048L +
           8L * (2048L * (16L + 4L + 4L) * 128L + 2048L * 2048L + 3L * 2048L * 8192L + 2048L),
       kMade},
      {"a Cohere2Moe",
       R"({"model_type": "cohere2_moe", "hidden_size": 4096, "intermediate_size": 1024,
         "prefix_dense_intermediate_size": 8192, "num_hidden_layers": 8, "num_attention_heads":
         32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 256000, "num_experts": 16,
         "num_experts_per_tok": 4, "num_shared_experts": 2, "first_k_dense_replace": 1})",
       256'000L * 4096L + 4096L +
           8L * (4096L * (32L + 8L + 8L) * 128L + 32L * 128L * 4096L + 4096L) + 3L * 4096L * 8192L +
           7L * ((16L + 2L) * 3L * 4096L * 1024L + 16L * 4096L),
       kMade},
      {"mistralai/Mistral-Small-4-119B-2603",
       R"({"model_type": "mistral3", "text_config": {"model_type": "mistral4", "hidden_size": 4096,
         "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
         "vocab_size": 131072, "q_lora_rank": 1024, "kv_lora_rank": 256, "qk_nope_head_dim": 64,
         "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 128, "n_shared_experts": 1,
         "num_experts_per_tok": 4, "moe_intermediate_size": 2048, "first_k_dense_replace": 0,
         "n_group": 1, "topk_group": 1}})",
       2L * 131'072L * 4096L + 4096L +
           36L * (4096L * 1024L + 1024L + 1024L * 32L * 128L + 4096L * (256L + 64L) + 256L +
                  256L * 32L * (64L + 128L) + 32L * 128L * 4096L +
                  (128L + 1L) * 3L * 4096L * 2048L + 128L * 4096L + 2L * 4096L),
       kCode},
      {"zai-org/GLM-OCR",
       R"({"model_type": "glm_ocr", "text_config": {"model_type": "glm_ocr_text", "hidden_size":
         1024, "intermediate_size": 4096, "num_hidden_layers": 16, "num_attention_heads": 16,
         "num_key_value_heads": 8, "vocab_size": 59392}})",
       2L * 59'392L * 1024L + 1024L +
           16L * (1024L * (16L + 8L + 8L) * 64L + 1024L * 1024L + 3L * 1024L * 4096L + 4L * 1024L),
       kCode},
      {"a HunYuanVL",
       R"({"model_type": "hunyuan_vl", "hidden_size": 1024, "intermediate_size": 3584,
         "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 8,
         "attention_head_dim": 128, "vocab_size": 120818, "vision_config": {"hidden_size": 1152}})",
       120'818L * 1024L + 1024L +
           24L * (1024L * (16L + 8L + 8L) * 128L + 16L * 128L * 1024L + 3L * 1024L * 3584L +
                  2L * 128L + 2L * 1024L),
       kMade},
      {"an OpenELM of two layers",
       R"({"model_type": "openelm", "model_dim": 1280, "num_transformer_layers": 2,
         "vocab_size": 32000, "head_dim": 64, "num_query_heads": [12, 16], "num_kv_heads": [3,
         4], "ffn_multipliers": [0.5, 4.0], "ffn_dim_divisor": 256, "ffn_with_glu": true,
         "normalize_qk_projections": true, "share_input_output_layers": true})",
       32'000L * 1280L + 1280L + 1280L * (12L + 3L + 3L) * 64L + 12L * 64L * 1280L +
           3L * 1280L * 768L + 1280L * (16L + 4L + 4L) * 64L + 16L * 64L * 1280L +
           3L * 1280L * 5120L + 2L * (2L * 64L + 2L * 1280L),
       kMade},
      {"a Llama-Nemotron of two layers, one of which lacks attention",
       R"({"model_type": "nemotron-nas", "hidden_size": 8192, "num_hidden_layers": 2,
         "vocab_size": 128256, "num_attention_heads": 64, "block_configs": [{"attention":
         {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 5.25}}, {"attention": {"no_op": true},
         "ffn": {"ffn_mult": 1.0}}]})",
       2L * 128'256L * 8192L + 8192L + 8192L * (64L + 8L + 8L) * 128L + 64L * 128L * 8192L +
           3L * 8192L * 28'672L + 2L * 8192L + 3L * 8192L * 5632L + 8192L,
       kMade},
  };
  return models;
}

// Scales of a product in 8 bits, one for each block of 128 x 128.
constexpr std::int64_t scales(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlock = 128;
  return (rows + kBlock - 1) / kBlock * ((columns + kBlock - 1) / kBlock);
}

// The vision model of Qwen3-VL and Qwen3.5: patches of 2 x 16 x 16, 2304 positions, layers, and
// what merges four patches into one of the text, once behind the layers and once for each `within`.
constexpr std::int64_t vision_of_qwen(std::int64_t layers, std::int64_t hidden, std::int64_t ffn,
                                      std::int64_t text_hidden, std::int64_t within) {
  const std::int64_t four = 4 * hidden;
  const std::int64_t merger = four * four + four + four * text_hidden + text_hidden;
  return 3 * 2 * 16 * 16 * hidden + hidden + 2304 * hidden +
         layers *
             (4 * hidden * hidden + 4 * hidden + 2 * hidden * ffn + ffn + hidden + 4 * hidden) +
         2 * hidden + merger + within * (2 * four + merger);
}

// A vision model of SigLIP: patches, positions, layers and a norm.
constexpr std::int64_t vision_of_siglip(std::int64_t layers, std::int64_t hidden, std::int64_t ffn,
                                        std::int64_t patch, std::int64_t positions) {
  return 3 * patch * patch * hidden + hidden + positions * hidden +
         layers *
             (4 * hidden * hidden + 4 * hidden + 2 * hidden * ffn + ffn + hidden + 4 * hidden) +
         2 * hidden;
}

// What pools the patches of SigLIP: a query, attention, a norm and a feed-forward network.
constexpr std::int64_t pool_of_siglip(std::int64_t hidden, std::int64_t ffn) {
  return hidden + 4 * hidden * hidden + 4 * hidden + 2 * hidden + 2 * hidden * ffn + ffn + hidden;
}

// Patches of 2 x 14 x 14 with places of 24 x 24, 24 layers, and the merger of GLM.
constexpr std::int64_t vision_of_glm(std::int64_t merged) {
  constexpr std::int64_t hidden = 1536;
  constexpr std::int64_t out = 4096;
  return 3 * 2 * 14 * 14 * hidden + hidden + hidden + 24 * 24 * hidden +
         24 * (4 * hidden * hidden + 3 * hidden * out + 2 * hidden) + hidden + 4 * hidden * out +
         out + out * out + 2 * out + 3 * out * merged;
}

// Scales of the products of DeepSeek's latent attention.
constexpr std::int64_t latent_scales(std::int64_t hidden, std::int64_t heads) {
  return scales(hidden, 1536) + scales(1536, heads * 192) + scales(hidden, 576) +
         scales(512, heads * 256) + scales(heads * 128, hidden);
}

// Parameters of a checkpoint as its repository tells them, and those among them that are neither of
// the text model nor of its modules of multi-token prediction.
struct Checkpoint {
  const char* model;
  const char* json;
  std::int64_t apart;
  std::int64_t stored;
};

const std::vector<Checkpoint>& published_checkpoints() {
  static const std::vector<Checkpoint> checkpoints = {
      // The tied matrix twice.
      {"Qwen/Qwen3-1.7B",
       R"({"model_type": "qwen3", "hidden_size": 2048, "intermediate_size": 6144,
         "num_hidden_layers": 28, "num_attention_heads": 16, "vocab_size": 151936,
         "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": true})",
       151'936L * 2048L, 2'031'739'904L},
      // Scales of 94 layers: experts, queries and output, keys and values.
      {"Qwen/Qwen3-235B-A22B-FP8",
       R"({"model_type": "qwen3_moe", "hidden_size": 4096, "intermediate_size": 12288,
         "num_hidden_layers": 94, "num_attention_heads": 64, "vocab_size": 151936,
         "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
         "moe_intermediate_size": 1536})",
       94L * (128L * 3L * scales(4096, 1536) + 2L * scales(4096, 8192) + 2L * scales(4096, 512)),
       235'107'904'512L},
      {"Qwen/Qwen3-VL-2B-Instruct",
       R"({"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text",
         "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
         "num_attention_heads": 16, "vocab_size": 151936, "num_key_value_heads": 8, "head_dim":
         128}, "tie_word_embeddings": true})",
       vision_of_qwen(24, 1024, 4096, 2048, 3), 2'127'532'032L},
      {"Qwen/Qwen3-VL-235B-A22B-Instruct",
       R"({"model_type": "qwen3_vl_moe", "text_config": {"model_type": "qwen3_vl_moe_text",
         "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 94,
         "num_attention_heads": 64, "vocab_size": 151936, "num_key_value_heads": 4, "head_dim":
         128, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 1536},
         "tie_word_embeddings": false})",
       vision_of_qwen(27, 1152, 4304, 4096, 3), 235'670'022'896L},
      {"Qwen/Qwen3.5-27B",
       R"({"model_type": "qwen3_5", "tie_word_embeddings": false, "text_config": {"model_type":
         "qwen3_5_text", "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers":
         64, "num_attention_heads": 24, "vocab_size": 248320, "num_key_value_heads": 4,
         "head_dim": 256, "full_attention_interval": 4, "linear_conv_kernel_dim": 4,
         "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 48,
         "linear_value_head_dim": 128, "mtp_num_hidden_layers": 1}})",
       vision_of_qwen(27, 1152, 4304, 5120, 0), 27'781'427'952L},
      {"Qwen/Qwen3.5-35B-A3B",
       R"({"model_type": "qwen3_5_moe", "text_config": {"model_type": "qwen3_5_moe_text",
         "hidden_size": 2048, "num_hidden_layers": 40, "num_attention_heads": 16, "vocab_size":
         248320, "num_key_value_heads": 2, "head_dim": 256, "num_experts": 256,
         "num_experts_per_tok": 8, "moe_intermediate_size": 512,
         "shared_expert_intermediate_size": 512, "linear_conv_kernel_dim": 4,
         "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
         "linear_value_head_dim": 128, "mtp_num_hidden_layers": 1}})",
       vision_of_qwen(27, 1152, 4304, 2048, 0), 35'951'822'704L},
      // The vision model of 64 x 64 patches, a norm and a product.
      {"google/gemma-3-4b-pt",
       R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size":
         2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}})",
       vision_of_siglip(27, 1152, 4304, 14, 64 * 64) + 1152L * 2560L + 1152L, 4'300'079'472L},
      {"google/gemma-3-27b-it",
       R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size":
         5376, "intermediate_size": 21504, "num_hidden_layers": 62, "num_attention_heads": 32,
         "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024}})",
       vision_of_siglip(27, 1152, 4304, 14, 64 * 64) + 1152L * 5376L + 1152L, 27'432'406'640L},
      {"google/paligemma-3b-mix-224",
       R"({"model_type": "paligemma", "text_config": {"model_type": "gemma", "hidden_size": 2048,
         "intermediate_size": 16384, "num_attention_heads": 8, "num_hidden_layers": 18,
         "num_key_value_heads": 1, "vocab_size": 257216}})",
       vision_of_siglip(27, 1152, 4304, 14, 16 * 16) + 1152L * 2048L + 2048L, 2'923'466'480L},
      {"google/paligemma2-3b-pt-448",
       R"({"model_type": "paligemma", "text_config": {"model_type": "gemma2", "hidden_size": 2304,
         "intermediate_size": 9216, "num_attention_heads": 8, "num_hidden_layers": 26,
         "num_key_value_heads": 4, "vocab_size": 257216}})",
       vision_of_siglip(27, 1152, 4304, 14, 32 * 32) + 1152L * 2304L + 2304L, 3'033'127'152L},
      // A product of 4 x 4 patches.
      {"HuggingFaceTB/SmolVLM-256M-Instruct",
       R"({"model_type": "idefics3", "text_config": {"model_type": "llama", "hidden_size": 576,
         "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9,
         "num_key_value_heads": 3, "vocab_size": 49280}, "tie_word_embeddings": false})",
       vision_of_siglip(12, 768, 3072, 16, 32 * 32) + 16L * 768L * 576L, 256'484'928L},
      // CLIP ViT-L/14 at 336 pixels with its norms before and after, two products and the end of a
      // row of patches.
      {"llava-hf/llava-v1.6-mistral-7b-hf",
       R"({"model_type": "llava_next", "text_config": {"model_type": "mistral",
         "intermediate_size": 14336, "num_key_value_heads": 8, "sliding_window": null,
         "vocab_size": 32064}})",
       3L * 14L * 14L * 1024L + 1024L + 577L * 1024L + 2L * 2L * 1024L +
           24L *
               (4L * 1024L * 1024L + 4L * 1024L + 2L * 1024L * 4096L + 4096L + 1024L + 4L * 1024L) +
           1024L * 4096L + 4096L + 4096L * 4096L + 4096L + 4096L,
       7'566'747'648L},
      // InternViT as its own repository tells it, a norm of 2 x 2 patches and two products.
      {"OpenGVLab/InternVL3-8B-Instruct",
       R"({"model_type": "internvl_chat", "llm_config": {"model_type": "qwen2", "hidden_size": 3584,
         "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
         "num_key_value_heads": 4, "vocab_size": 151674, "tie_word_embeddings": false}})",
       304'012'288L + 2L * 4096L + 4096L * 3584L + 3584L + 3584L * 3584L + 3584L, 7'944'373'760L},
      // Patches of 2 x 14 x 14, 32 layers with a gate and norms without biases, and a norm and two
      // products of four patches.
      {"allenai/olmOCR-2-7B-1025",
       R"({"model_type": "qwen2_5_vl", "hidden_size": 3584, "intermediate_size": 18944,
         "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
         "vocab_size": 152064, "tie_word_embeddings": false, "use_sliding_window": false})",
       3L * 2L * 14L * 14L * 1280L +
           32L * (4L * 1280L * 1280L + 4L * 1280L + 3L * 1280L * 3420L + 2L * 3420L + 1280L +
                  2L * 1280L) +
           1280L + 5120L * 5120L + 5120L + 5120L * 3584L + 3584L,
       8'292'166'656L},
      // 24 layers of gated feed-forward networks with RMS norms, a product of 2 x 2 patches, and a
      // merger that is gated itself.
      {"zai-org/GLM-4.1V-9B-Thinking",
       R"({"model_type": "glm4v", "text_config": {"model_type": "glm4v_text", "hidden_size": 4096,
         "intermediate_size": 13696, "num_hidden_layers": 40, "num_attention_heads": 32,
         "num_key_value_heads": 2, "vocab_size": 151552}})",
       vision_of_glm(13696), 10'292'777'472L},
      {"zai-org/GLM-4.5V",
       R"({"model_type": "glm4v_moe", "text_config": {"model_type": "glm4v_moe_text",
         "hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46,
         "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
         "vocab_size": 151552, "n_routed_experts": 128, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
         "attention_bias": true}})",
       vision_of_glm(10944), 107'710'933'120L},
      // SigLIP at 980 pixels, a gated product, and three layers of a resampler with 64 latents.
      {"HuggingFaceM4/idefics2-8b",
       R"({"model_type": "idefics2", "text_config": {"model_type": "mistral", "vocab_size": 32003,
         "sliding_window": 4096}})",
       vision_of_siglip(27, 1152, 4304, 14, 70 * 70) + 2L * 1152L * 14336L + 14336L * 4096L +
           64L * 4096L + 4096L +
           3L * (3L * 4096L + 2L * 4096L * 1536L + 2L * 4096L * 384L + 3L * 4096L * 16384L),
       8'402'768'112L},
      // SigLIP with the attention that pools its patches, which the text model has no use of, two
      // products of four patches, and the ends of rows and of views.
      {"deepseek-ai/deepseek-vl2-small",
       R"({"model_type": "deepseek_vl_v2", "language_config": {"model_type": "deepseek_v2",
         "hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 27,
         "num_attention_heads": 16, "num_key_value_heads": 16, "kv_lora_rank": 512,
         "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
         "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "vocab_size": 102400}})",
       vision_of_siglip(27, 1152, 4304, 14, 27 * 27) + pool_of_siglip(1152, 4304) + 4608L * 2048L +
           2048L + 2048L * 2048L + 2048L + 2L * 2048L,
       16'148'349'504L},
      // The same, with places of 32,768 packed patches.
      {"PaddlePaddle/PaddleOCR-VL",
       R"({"model_type": "paddleocr_vl", "hidden_size": 1024, "intermediate_size": 3072,
         "num_hidden_layers": 18, "num_attention_heads": 16, "num_key_value_heads": 2,
         "head_dim": 128, "vocab_size": 103424, "tie_word_embeddings": false, "use_bias": false,
         "vision_config": {}})",
       vision_of_siglip(27, 1152, 4304, 14, 27 * 27) + pool_of_siglip(1152, 4304) + 32768L * 1152L +
           2L * 1152L + 4608L * 4608L + 4608L + 4608L * 1024L + 1024L,
       958'588'736L},
      // The encoder of SAM: 12 layers, four of them over all patches, with places of rows and
      // columns; a neck, two convolutions and a product.
      {"stepfun-ai/GOT-OCR-2.0-hf",
       R"({"model_type": "got_ocr2", "text_config": {"model_type": "qwen2", "hidden_size": 1024,
         "intermediate_size": 2816, "num_hidden_layers": 24, "num_attention_heads": 16,
         "num_key_value_heads": 16, "vocab_size": 151860, "tie_word_embeddings": true}})",
       3L * 16L * 16L * 768L + 768L + 64L * 64L * 768L +
           12L * (4L * 768L + 4L * 768L * 768L + 4L * 768L + 2L * 768L * 3072L + 3072L + 768L) +
           4L * 2L * 127L * 64L + 8L * 2L * 27L * 64L + 768L * 256L + 9L * 256L * 256L + 4L * 256L +
           9L * 256L * 512L + 9L * 512L * 1024L + 1024L * 1024L + 1024L,
       560'528'640L},
      // The ends of the module of prediction, which are copies, and scales of 62 layers of
      // attention, of three dense feed-forwards and of 59 times 257 experts.
      {"deepseek-ai/DeepSeek-R1",
       R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
         "num_hidden_layers": 61, "num_attention_heads": 128, "vocab_size": 129280,
         "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim":
         64, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3,
         "n_group": 8, "topk_group": 4, "num_nextn_predict_layers": 1})",
       2L * 129'280L * 7168L + 62L * latent_scales(7168, 128) + 3L * 3L * scales(7168, 18'432) +
           59L * 257L * 3L * scales(7168, 2048),
       684'531'386'000L},
      {"zai-org/GLM-5.1",
       R"({"model_type": "glm_moe_dsa", "hidden_size": 6144, "intermediate_size": 12288,
         "num_hidden_layers": 78, "num_attention_heads": 64, "vocab_size": 154880,
         "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim":
         64, "v_head_dim": 256, "n_routed_experts": 256, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3,
         "n_group": 1, "topk_group": 1, "index_n_heads": 32, "index_head_dim": 128,
         "index_topk": 2048, "num_nextn_predict_layers": 1})",
       0, 753'864'139'008L},
      // A scale for 32 weights of experts, the shapes of their packed tensors (two numbers, which
      // count eight times), patches and layers of vision, and what joins four of its patches.
      {"moonshotai/Kimi-K2.5",
       R"({"model_type": "kimi_k25", "text_config": {"model_type": "kimi_k2", "hidden_size": 7168,
         "intermediate_size": 18432, "num_hidden_layers": 61, "num_attention_heads": 64,
         "vocab_size": 163840, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
         "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 384,
         "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
         "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1}})",
       60L * 384L * 3L * (7168L * 2048L / 32L + 2L * 8L) + 3L * 14L * 14L * 1152L + 1152L +
           64L * 64L * 1152L +
           27L *
               (4L * 1152L * 1152L + 4L * 1152L + 2L * 1152L * 4304L + 4304L + 1152L + 4L * 1152L) +
           2L * 1152L + 2L * 1152L + 4608L * 4608L + 4608L + 4608L * 7168L + 7168L,
       1'058'589'420'528L},
      // A scale for 32 weights of experts.
      {"openai/gpt-oss-120b",
       R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
         "num_hidden_layers": 36, "num_attention_heads": 64, "vocab_size": 201088,
         "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 128,
         "num_experts_per_tok": 4, "attention_bias": true})",
       36L * 128L * 3L * 2880L * 2880L / 32L, 120'412'337'472L},
      // The vision model, its adapter and the product behind it.
      {"meta-llama/Llama-4-Maverick-17B-128E-Instruct",
       R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text", "hidden_size": 5120,
         "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_hidden_layers": 48,
         "num_attention_heads": 40, "vocab_size": 202048, "num_key_value_heads": 8, "head_dim":
         128, "num_local_experts": 128, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
         "use_qk_norm": false}})",
       3L * 14L * 14L * 1408L + 1408L + 577L * 1408L +
           34L *
               (4L * 1408L * 1408L + 4L * 1408L + 2L * 1408L * 5632L + 5632L + 1408L + 4L * 1408L) +
           4L * 1408L + 5632L * 4096L + 4096L * 4096L + 4096L * 5120L,
       401'583'781'376L},
      // Experts in 4 bits are two to a number, with a scale for 32; scales of attention, shared
      // experts, the module's products and 21 indexers; tables of three layers that choose experts
      // by token, whose routers have no bias.
      {"deepseek-ai/DeepSeek-V4-Flash",
       R"({"model_type": "deepseek_v4", "hidden_size": 4096, "moe_intermediate_size": 2048,
         "num_hidden_layers": 43, "num_attention_heads": 64, "vocab_size": 129280, "head_dim": 512,
         "q_lora_rank": 1024, "qk_rope_head_dim": 64, "o_groups": 8, "o_lora_rank": 1024,
         "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 6,
         "index_n_heads": 64, "index_head_dim": 128, "index_topk": 512, "hc_mult": 4,
         "num_nextn_predict_layers": 1, "sliding_window": 128, "compress_ratios": [0, 0, 4, 128,
         4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128,
         4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 0]})",
       44L * 256L * 3L * 4096L * 2048L / 32L - 44L * 256L * 3L * 4096L * 2048L / 2L +
           44L * (scales(4096, 1024) + scales(1024, 32'768) + scales(4096, 512) +
                  2L * scales(4096, 8192) + 3L * scales(4096, 2048)) +
           2L * scales(4096, 4096) + 21L * scales(1024, 8192) + 3L * 129'280L * 6L - 3L * 256L,
       158'069'433'298L},
  };
  return checkpoints;
}

TEST_CASE("a published config.json has the published parameters, to the last one", "[case]") {
  for (const Published& published : published_models()) {
    CAPTURE(published.model, published.source);
    ModelSpec model;
    CHECK(config_error([&] { model = imported(published.json); }) == "no error");
    CHECK(count_parameters(model).total == published.parameters);
  }
}

TEST_CASE("what a checkpoint holds beside its text model is known, to the last parameter",
          "[case]") {
  for (const Checkpoint& checkpoint : published_checkpoints()) {
    CAPTURE(checkpoint.model);
    ModelSpec model;
    CHECK(config_error([&] { model = imported(checkpoint.json); }) == "no error");
    const ParameterCounts count = count_parameters(model);
    CHECK(count.total + count.mtp + checkpoint.apart == checkpoint.stored);
  }
}

// The others are those of the config.json beside the shipped models (hf_config_test.cpp).
TEST_CASE("every type has a model that is counted, and of all but seven a published one",
          "[unit]") {
  std::set<std::string> counted = {"deepseek_v2", "deepseek_v3", "glm_moe_dsa",      "gpt_oss",
                                   "kimi_k2",     "lfm2_moe",    "qwen3_5_moe_text", "llama",
                                   "llama4_text", "minimax_m2",  "mixtral",          "olmo2",
                                   "qwen2",       "qwen3",       "qwen3_moe",        "deepseek_v4"};
  std::set<std::string> made;
  for (const Published& published : published_models()) {
    (published.source == kMade ? made : counted).insert(imported(published.json).family);
  }
  CHECK(made == std::set<std::string>{"cohere2_moe", "cohere_compass_text", "granitemoe_swa",
                                      "granitemoeshared", "hunyuan_vl_text", "nemotron-nas",
                                      "openelm"});
  for (const HfType& type : shipped_types().types) {
    CAPTURE(type.name);
    CHECK(counted.contains(type.name) != made.contains(type.name));
  }
}

TEST_CASE("no key of a type is read under two facts that a file gives apart", "[unit]") {
  // Keys that mean several things at once: biases of all products, and a width of experts alone.
  const std::set<std::string> shared = {"attention_bias",       "use_bias", "bias",
                                        "enable_bias",          "mlp_bias", "intermediate_size",
                                        "moe_intermediate_size"};
  for (const HfType& type : shipped_types().types) {
    std::set<std::string> seen;
    for (const auto& [fact, keys] : type.keys) {
      for (const std::string& key : keys) {
        CAPTURE(type.name, name(fact), key);
        CHECK((seen.insert(key).second || shared.contains(key)));
      }
    }
  }
}

TEST_CASE("a class's own sizes stand for those that a file leaves out, and are told", "[unit]") {
  const ModelSpec gemma = imported(
      R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
          "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}})");
  CHECK(gemma.vocabulary == 262'208);
  CHECK(gemma.attention.heads == 8);
  CHECK(gemma.attention.kv_heads == 4);
  CHECK(gemma.attention.qk_head_dim == 256);
  CHECK(gemma.tied_embeddings);
  CHECK_THAT(gemma.note, contains_text("vocab_size 262208, num_attention_heads 8"));
  CHECK_THAT(gemma.note, contains_text("The text model of a gemma3."));
  CHECK(imported(R"({"model_type": "llama", "num_hidden_layers": 2})").hidden == 4096);
}

TEST_CASE("ends are tied as the text model says, else as the top does, else as the class",
          "[unit]") {
  const auto tied = [](const std::string& top, const std::string& text) {
    return imported(R"({"model_type": "gemma3")" + top +
                    R"(, "text_config": {"model_type": "gemma3_text")" + text + "}}")
        .tied_embeddings;
  };
  const std::string no = R"(, "tie_word_embeddings": false)";
  const std::string yes = R"(, "tie_word_embeddings": true)";
  CHECK(tied("", ""));
  CHECK_FALSE(tied(no, ""));
  CHECK_FALSE(tied("", no));
  CHECK_FALSE(tied(yes, no));
}

TEST_CASE("a type that goes by two names in its files is one", "[unit]") {
  const std::string sizes =
      R"(, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2)";
  CHECK(imported(R"({"model_type": "llava")" + sizes + "}").family == "llama");
  CHECK(imported(R"({"model_type": "internvl_chat", "llm_config": {"model_type": "qwen2")" + sizes +
                 "}}")
            .family == "qwen2");
  CHECK(imported(R"({"model_type": "qwen2_5_omni", "thinker_config": {"model_type": "a",
                     "text_config": {"model_type": "qwen2")" +
                 sizes + "}}}")
            .family == "qwen2");
}

TEST_CASE("what a row refuses is refused with its reason", "[unit]") {
  const auto fault = [](const std::string& json) { return config_error([&] { imported(json); }); };
  CHECK_THAT(fault(R"({"model_type": "opt", "hidden_size": 1024, "word_embed_proj_dim": 512})"),
             contains_text("'word_embed_proj_dim' is 512, but an embedding of another width"));
  CHECK_THAT(fault(R"({"model_type": "opt", "do_layer_norm_before": false})"),
             contains_text("'do_layer_norm_before' is false, but norms behind blocks"));
  CHECK_THAT(
      fault(R"({"model_type": "mpt", "attn_config": {"alibi": false}})"),
      contains_text("'attn_config.alibi' is false, but transformers builds MPT with ALiBi alone"));
  CHECK_THAT(fault(R"({"model_type": "falcon_h1"})"), contains_text("state space models"));
}

TEST_CASE("what a row refuses is refused where the file leaves it to the class", "[unit]") {
  const auto fault = [](const std::string& type, const std::string& more) {
    return config_error([&] { imported(R"({"model_type": ")" + type + "\"" + more + "}"); });
  };
  const std::string olmo = R"(, "d_model": 64, "n_layers": 2, "n_heads": 4, "embedding_size": 128)";
  const std::string rope = R"(, "rope": true)";
  const std::string plain = R"(, "include_bias": false)";
  CHECK(fault("hf_olmo", olmo + rope + plain) == "no error");
  CHECK_THAT(fault("hf_olmo", olmo + plain),
             contains_text("'rope' is not there, which means false, but OLMo with learned"));
  CHECK_THAT(fault("hf_olmo", olmo + rope),
             contains_text("'include_bias' is not there, which means true, but OLMo with biases"));
  CHECK_THAT(fault("chatglm", ""),
             contains_text("'multi_query_attention' is not there, which means false"));
  CHECK_THAT(fault("grok-2", ""), contains_text("'residual_moe' is not there, which means false"));
  CHECK(fault("mpt", "") == "no error");  // its class has no biases, and ALiBi
}

TEST_CASE("without a width of its own OLMo's feed-forward is a multiple of the layers' width",
          "[unit]") {
  const auto hidden = [](const std::string& more) {
    return imported(R"({"model_type": "hf_olmo", "d_model": 64, "n_layers": 2, "n_heads": 4,
      "embedding_size": 128, "rope": true, "include_bias": false)" +
                    more + "}")
        .mlp.ffn_hidden;
  };
  CHECK(hidden("") == 4 * 64 / 2);  // the class's ratio, of both inputs of the activation
  CHECK(hidden(R"(, "mlp_ratio": 8)") == 8 * 64 / 2);
  CHECK(hidden(R"(, "mlp_ratio": 8, "mlp_hidden_size": null)") == 8 * 64 / 2);
  CHECK(hidden(R"(, "mlp_ratio": 8, "mlp_hidden_size": 96)") == 96 / 2);
}

TEST_CASE("a list of one number a layer is that number where all are the same", "[unit]") {
  const auto experts = [](const std::string& list) {
    return R"({"model_type": "hunyuan_v1_moe", "num_experts": 4, "moe_topk": )" + list + "}";
  };
  CHECK(imported(experts("[2, 2, 2]")).moe->experts_per_token == 2);
  CHECK_THAT(config_error([&] { imported(experts("[2, 4]")); }),
             contains_text("'moe_topk' differs by layer"));
}

TEST_CASE("windows follow the rule of the type: every n-th full, the first of n, letters",
          "[unit]") {
  const auto windows = [](const std::string& type, const std::string& more) {
    const ModelSpec model =
        imported(R"({"model_type": ")" + type + R"(", "num_hidden_layers": 6)" + more + "}");
    std::vector<std::int64_t> all;
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      all.push_back(layer_kind(model, layer).window);
    }
    return all;
  };
  using Windows = std::vector<std::int64_t>;
  CHECK(windows("olmo3", R"(, "sliding_window": 9)") == Windows{9, 9, 9, 0, 9, 9});
  CHECK(windows("cwm", R"(, "sliding_window": 9)") == Windows{0, 9, 9, 9, 0, 9});
  CHECK(windows("exaone4", R"(, "sliding_window": 9, "sliding_window_pattern": "LG")") ==
        Windows{9, 0, 9, 0, 9, 0});
  CHECK(windows("exaone4", R"(, "sliding_window": 9, "sliding_window_pattern": "LLLG")") ==
        Windows{9, 9, 9, 0, 9, 0});  // the last layer is full
  CHECK(windows("exaone4", R"(, "sliding_window": null)") == Windows(6, 0));
}

TEST_CASE("the text of numbers and facts is computed from left to right", "[unit]") {
  using Terms = HfExpression;
  const std::optional<Terms> four = parse_hf_expression("4 * hidden", HfFact::kFfnHidden);
  REQUIRE(four.has_value());
  CHECK(four->size() == 2);
  CHECK(std::get<HfFact>((*four)[1].operand) == HfFact::kHidden);
  CHECK_FALSE(parse_hf_expression("4 * ffn_hidden", HfFact::kHidden).has_value());  // stands below
  CHECK_FALSE(parse_hf_expression("4 *", HfFact::kFfnHidden).has_value());
  CHECK_FALSE(parse_hf_expression("", HfFact::kFfnHidden).has_value());
  CHECK_FALSE(parse_hf_expression("4 hidden", HfFact::kFfnHidden).has_value());
}

}  // namespace
}  // namespace stepcast::hf_types_test
