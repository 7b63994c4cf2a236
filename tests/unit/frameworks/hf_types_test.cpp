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
       kCode},
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
      {"an OpenELM of two layers",
       R"({"model_type": "openelm", "model_dim": 1280, "num_transformer_layers": 2,
         "vocab_size": 32000, "head_dim": 64, "num_query_heads": [12, 16], "num_kv_heads": [3,
         4], "ffn_multipliers": [0.5, 4.0], "ffn_dim_divisor": 256, "ffn_with_glu": true,
         "normalize_qk_projections": true, "share_input_output_layers": true})",
       32'000L * 1280L + 1280L + 1280L * (12L + 3L + 3L) * 64L + 12L * 64L * 1280L +
           3L * 1280L * 768L + 1280L * (16L + 4L + 4L) * 64L + 16L * 64L * 1280L +
           3L * 1280L * 5120L + 2L * (2L * 64L + 2L * 1280L),
       kCode},
      {"a Llama-Nemotron of two layers, one of which lacks attention",
       R"({"model_type": "nemotron-nas", "hidden_size": 8192, "num_hidden_layers": 2,
         "vocab_size": 128256, "num_attention_heads": 64, "block_configs": [{"attention":
         {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 5.25}}, {"attention": {"no_op": true},
         "ffn": {"ffn_mult": 1.0}}]})",
       2L * 128'256L * 8192L + 8192L + 8192L * (64L + 8L + 8L) * 128L + 64L * 128L * 8192L +
           3L * 8192L * 28'672L + 2L * 8192L + 3L * 8192L * 5632L + 8192L,
       kCode},
  };
  return models;
}

TEST_CASE("a published config.json has the published parameters, to the last one", "[case]") {
  for (const Published& published : published_models()) {
    CAPTURE(published.model, published.source);
    ModelSpec model;
    CHECK(config_error([&] { model = imported(published.json); }) == "no error");
    CHECK(count_parameters(model).total == published.parameters);
  }
}

// The others are those of the config.json beside the shipped models (hf_config_test.cpp).
TEST_CASE("every type has a published model that is counted", "[unit]") {
  std::set<std::string> counted = {"deepseek_v2", "deepseek_v3", "glm_moe_dsa",      "gpt_oss",
                                   "kimi_k2",     "lfm2_moe",    "qwen3_5_moe_text", "llama",
                                   "llama4_text", "minimax_m2",  "mixtral",          "olmo2",
                                   "qwen2",       "qwen3",       "qwen3_moe",        "deepseek_v4"};
  for (const Published& published : published_models()) {
    counted.insert(imported(published.json).family);
  }
  for (const HfType& type : shipped_types().types) {
    CAPTURE(type.name);
    CHECK(counted.contains(type.name));
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
