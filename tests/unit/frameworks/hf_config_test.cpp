// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_config.hpp"

#include <vector>

#include "catch.hpp"
#include "hf_models.hpp"
#include "model_text.hpp"
#include "sample_specs.hpp"

namespace stepcast::hf_config_test {
namespace {

using test::config_error;
using test::contains_text;
using test::imported;
using test::shipped_types;

std::string fault_of(const std::string& json) {
  return config_error([&] { imported(json); });
}

std::string without_descriptions(ModelSpec model) {
  model.title = model.family = model.source = model.note = {};
  model.published = {};
  return to_yaml(model);
}

// A whole config.json of 4 layers; `rest` is more keys, ", \"key\": value".
std::string sizes(const std::string& type, const std::string& rest = {}) {
  return R"({"model_type": ")" + type +
         R"(", "hidden_size": 256, "num_hidden_layers": 4, "vocab_size": 1000,
             "num_attention_heads": 8, "intermediate_size": 512)" +
         rest + "}";
}

const std::string kGqa = R"(, "num_key_value_heads": 2)";
const std::string kExperts =
    kGqa + R"(, "num_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 64)";
const std::string kLatent =
    R"(, "q_lora_rank": null, "kv_lora_rank": 32, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16,
         "v_head_dim": 32, "n_shared_experts": null, "first_k_dense_replace": 1)";
const std::string kMla = kExperts + kLatent;
// What the types that mix positions otherwise than by attention ask for.
const std::string kMixers =
    R"(, "linear_num_value_heads": 8, "linear_num_key_heads": 4, "linear_key_head_dim": 16,
         "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4, "index_n_heads": 4,
         "index_head_dim": 16, "index_topk": 8, "compress_ratios": [0, 4, 128, 4], "o_groups": 2,
         "o_lora_rank": 16, "n_routed_experts": 16, "num_experts_per_token": 2,
         "linear_attn_config": {"num_heads": 4, "head_dim": 16, "full_attn_layers": [4]})";
const std::string kWindow =
    kGqa + R"(, "use_sliding_window": true, "sliding_window": 64, "max_window_layers": )";

TEST_CASE("an imported config.json is the shipped model", "[unit]") {
  const std::string name =
      GENERATE("llama3.1_8b", "llama2_7b", "qwen2.5_7b", "qwen3_8b", "qwen3_30b_a3b",
               "qwen3_235b_a22b", "mixtral_8x7b", "mixtral_8x22b", "deepseek_v2_lite",
               "deepseek_v2", "deepseek_v3", "gpt_oss_20b", "olmo2_7b", "glm4_7", "kimi_k2",
               "llama4_17b16e", "llama4_17b128e", "minimax_m2.5");
  CAPTURE(name);
  const std::filesystem::path root = STEPCAST_DATA_ROOT;
  const std::filesystem::path file = root / "tests" / "data" / "hf" / (name + ".config.json");
  const ModelSpec model = import_hf_config(read_file(file), file.string(), name, shipped_types());
  const ModelSpec shipped = load_model(root / "configs" / "models" / (name + ".yaml"));
  CHECK(without_descriptions(model) == without_descriptions(shipped));
}

TEST_CASE("an imported model is written as a file that reads back the same", "[unit]") {
  const std::string json =
      GENERATE(sizes("llama"), sizes("mistral"), sizes("qwen3", kWindow + "0"),
               sizes("gpt_oss", kExperts), sizes("deepseek_v2", kMla),
               sizes("qwen2_moe", kExperts + R"(, "shared_expert_intermediate_size": 128)"));
  const std::string yaml = to_yaml(imported(json));
  CHECK(to_yaml(test::model_from(yaml)) == yaml);
}

TEST_CASE("an imported model is named after its file and type", "[unit]") {
  const ModelSpec model =
      import_hf_config(sizes("llama"), "dir/config.json", "mine", shipped_types());
  CHECK(model.name == "mine");
  CHECK(model.title == "mine");
  CHECK(model.family == "llama");
  CHECK(model.source == "imported from dir/config.json");
}

TEST_CASE("absent key/value heads are the query heads or the default of the type", "[unit]") {
  CHECK(imported(sizes("llama")).attention.kv_heads == 8);
  CHECK(imported(sizes("qwen2", R"(, "num_key_value_heads": null)")).attention.kv_heads == 8);
  CHECK(imported(sizes("mistral")).attention.kv_heads == 8);
  CHECK(imported(sizes("llama", kGqa)).attention.kv_heads == 2);
}

TEST_CASE("an absent head_dim is hidden size over heads or the default of the type", "[unit]") {
  CHECK(imported(sizes("llama")).attention.qk_head_dim == 32);
  CHECK(imported(sizes("qwen3", kGqa)).attention.qk_head_dim == 128);
  CHECK(imported(sizes("qwen3", kGqa + R"(, "head_dim": null)")).attention.qk_head_dim == 32);
  CHECK(imported(sizes("llama", R"(, "head_dim": 48)")).attention.v_head_dim == 48);
}

TEST_CASE("biases of attention and feed-forward block are those of the type", "[unit]") {
  const ModelSpec llama = imported(sizes("llama", R"(, "attention_bias": true, "mlp_bias": true)"));
  CHECK(llama.attention.qkv_bias);
  CHECK(llama.attention.output_bias);
  CHECK(llama.mlp.bias);
  const ModelSpec qwen2 = imported(sizes("qwen2", kGqa));
  CHECK(qwen2.attention.qkv_bias);
  CHECK_FALSE(qwen2.attention.output_bias);
  CHECK_FALSE(imported(sizes("qwen3", kGqa)).attention.qkv_bias);
  CHECK(imported(sizes("gpt_oss", kExperts)).attention.output_bias);
}

TEST_CASE("embeddings are tied only if the file says so", "[unit]") {
  CHECK_FALSE(imported(sizes("qwen2", kGqa)).tied_embeddings);
  CHECK(imported(sizes("qwen2", kGqa + R"(, "tie_word_embeddings": true)")).tied_embeddings);
}

TEST_CASE("a sliding window counts if it is used", "[unit]") {
  CHECK(imported(sizes("mistral")).attention.sliding_window == 4096);
  CHECK(imported(sizes("mistral", R"(, "sliding_window": null)")).attention.sliding_window == 0);
  CHECK(imported(sizes("qwen2", kGqa)).attention.sliding_window == 0);
  CHECK(imported(sizes("qwen2", kWindow + "4")).attention.sliding_window == 0);
  const AttentionSpec all = imported(sizes("qwen2", kWindow + "0")).attention;
  CHECK(all.sliding_window == 64);
  CHECK(all.full_attention_every == 0);
  const AttentionSpec alternating = imported(sizes("gpt_oss", kExperts)).attention;
  CHECK(alternating.sliding_window == 128);
  CHECK(alternating.full_attention_every == 2);
}

TEST_CASE("layer_types say which layers have a window, in any order", "[unit]") {
  const auto qwen3 = [](const std::string& types) {
    return sizes("qwen3", kWindow + R"(4, "layer_types": [)" + types + "]");
  };
  const std::string full = R"("full_attention")";
  const std::string slide = R"("sliding_attention")";
  const auto four = [&](const std::string& a, const std::string& b, const std::string& c,
                        const std::string& d) { return qwen3(a + "," + b + "," + c + "," + d); };
  CHECK(imported(four(slide, slide, slide, full)).attention.full_attention_every == 4);
  CHECK(imported(four(full, full, full, full)).attention.sliding_window == 0);
  const AttentionSpec first_full = imported(four(full, slide, slide, slide)).attention;
  CHECK(first_full.sliding_window.pattern() == std::vector<std::int64_t>{0, 64, 64, 64});
  CHECK(first_full.full_attention_every == 0);
  CHECK(imported(four(full, slide, full, slide)).attention.sliding_window.pattern() ==
        std::vector<std::int64_t>{0, 64});
  CHECK_THAT(fault_of(qwen3(full)), contains_text("has 1 items, but 'num_hidden_layers' is 4"));
  CHECK_THAT(fault_of(four(slide, slide, slide, R"("linear_attention")")),
             contains_text("'linear_attention', which is not supported"));
  CHECK_THAT(fault_of(qwen3("1, 2, 3, 4")), contains_text("must hold texts only, not 1"));
  CHECK(imported(sizes("qwen2", kWindow + "2")).attention.sliding_window.pattern() ==
        std::vector<std::int64_t>{0, 0, 64, 64});
}

TEST_CASE("the layers with experts are placed after a first few, every n-th", "[unit]") {
  const auto placed = [](const std::string& keys) {
    const MoeSpec moe = imported(sizes("qwen3_moe", kExperts + keys)).moe.value_or(MoeSpec{});
    return std::vector<std::int64_t>{moe.experts, moe.first_dense_layers, moe.every};
  };
  CHECK(placed("") == std::vector<std::int64_t>{16, 0, 1});
  CHECK(placed(R"(, "decoder_sparse_step": 2)") == std::vector<std::int64_t>{16, 0, 2});
  CHECK(placed(R"(, "mlp_only_layers": [1, 0])") == std::vector<std::int64_t>{16, 2, 1});
  CHECK(placed(R"(, "mlp_only_layers": [0, 2])") == std::vector<std::int64_t>{16, 0, 2});
  CHECK(placed(R"(, "mlp_only_layers": [0, 1, 2, 3])") == std::vector<std::int64_t>{0, 0, 1});
  CHECK_THAT(fault_of(sizes("qwen3_moe", kExperts + R"(, "mlp_only_layers": [3])")),
             contains_text("'mlp_only_layers' leaves experts in layers other than every n-th"));
  CHECK_THAT(fault_of(sizes("qwen3_moe", kExperts + R"(, "mlp_only_layers": [4])")),
             contains_text("names layer 4, but the last of the model is 3"));
  CHECK_THAT(fault_of(sizes("qwen3_moe", kExperts + R"(, "mlp_only_layers": [0, -1])")),
             contains_text("'mlp_only_layers[1]' must be a whole number from 0 to 10000, not -1"));
}

TEST_CASE("the number of experts has several spellings that must agree", "[unit]") {
  const std::string rest = kGqa + R"(, "num_experts_per_tok": 2)";
  const auto experts = [&](const std::string& keys) {
    return imported(sizes("mixtral", rest + keys)).moe->experts;
  };
  CHECK(experts(R"(, "num_local_experts": 8)") == 8);
  CHECK(experts(R"(, "num_experts": 8)") == 8);
  CHECK_THAT(fault_of(sizes("mixtral", rest + R"(, "num_experts": 8, "num_local_experts": 4)")),
             contains_text("'num_experts' is 8, but 'num_local_experts' is 4"));
  CHECK(imported(sizes("mixtral", rest)).moe->experts == 8);  // the class's own
  CHECK_THAT(fault_of(sizes("mixtral", rest + R"(, "num_local_experts": 1)")),
             contains_text("(2) must not exceed the number of experts (1)"));
}

TEST_CASE("the shared expert of Qwen2-MoE has a gate", "[unit]") {
  const ModelSpec model =
      imported(sizes("qwen2_moe", kExperts + R"(, "shared_expert_intermediate_size": 128)"));
  CHECK(model.moe->shared_expert_ffn_hidden == 128);
  CHECK(model.moe->shared_expert_gate);
  CHECK(model.attention.qkv_bias);
}

TEST_CASE("DeepSeek's groups and bias follow from the method of its router", "[unit]") {
  const auto router = [](const std::string& type, const std::string& keys) {
    return imported(sizes(type, kMla + keys)).moe->router;
  };
  const std::string groups = R"(, "n_group": 4, "topk_group": 2)";
  CHECK(router("deepseek_v2", groups).groups == 1);  // greedy looks at no groups
  const RouterSpec limited =
      router("deepseek_v2", groups + R"(, "topk_method": "group_limited_greedy")");
  CHECK(limited.groups == 4);
  CHECK(limited.topk_groups == 2);
  CHECK_FALSE(limited.expert_bias);
  CHECK(limited.score == RouterScore::kSoftmax);
  const RouterSpec v3 = router("deepseek_v3", "");
  CHECK(v3.groups == 8);
  CHECK(v3.topk_groups == 4);
  CHECK(v3.expert_bias);
  CHECK(v3.score == RouterScore::kSigmoid);
  CHECK_THAT(fault_of(sizes("deepseek_v3", kMla + R"(, "n_group": 3)")),
             contains_text("'n_group' (3) must divide the number of experts (16)"));
  CHECK_THAT(fault_of(sizes("deepseek_v3", kMla + R"(, "n_group": 2, "topk_group": 3)")),
             contains_text("'topk_group' (3) must not exceed 'n_group' (2)"));
  CHECK_THAT(fault_of(sizes("deepseek_v3", kMla + R"(, "topk_method": "random")")),
             contains_text("'topk_method' is 'random'; supported are greedy"));
  CHECK_THAT(fault_of(sizes("deepseek_v3", kMla + R"(, "scoring_func": "tanh")")),
             contains_text("'scoring_func' is 'tanh'; supported are softmax and sigmoid"));
}

TEST_CASE("DeepSeek's layers, ranks and modules are read", "[unit]") {
  const ModelSpec model =
      imported(sizes("deepseek_v3", kMla + R"(, "num_nextn_predict_layers": 1)"));
  CHECK(model.attention.mla.q_lora_rank == 0);
  CHECK(model.attention.kv_heads == 8);
  CHECK(model.moe->first_dense_layers == 1);
  CHECK(model.moe->shared_expert_ffn_hidden == 0);
  CHECK(model.mtp_layers == 1);
  // Of the layers 0 to 3 only number 2.
  CHECK(imported(sizes("deepseek_v2", kMla + R"(, "moe_layer_freq": 2)")).moe->every == 2);
  CHECK_THAT(fault_of(sizes("deepseek_v3", kMla + R"(, "attention_bias": true)")),
             contains_text("'attention_bias' is true, but a model file has no form"));
}

TEST_CASE("Gemma's norms, windows and tied embeddings are those of its types", "[unit]") {
  const ModelSpec first = imported(sizes("gemma", kGqa));
  CHECK(first.tied_embeddings);
  CHECK(first.attention.qk_head_dim == 256);
  CHECK(first.norms_per_layer == 2);
  const ModelSpec second = imported(sizes("gemma2", kGqa));
  CHECK(second.norms_per_layer == 4);
  CHECK(second.attention.sliding_window == 4096);
  CHECK(second.attention.full_attention_every == 2);
  const std::string third = sizes("gemma3_text", kGqa + R"(, "sliding_window": 512)");
  CHECK(imported(third).attention.full_attention_every == 0);  // the sixth of four layers
  CHECK(imported(third).attention.qk_norm == QkNorm::kHead);
  CHECK(imported(sizes("gemma3_text", kGqa + R"(, "sliding_window_pattern": 2)"))
            .attention.full_attention_every == 2);
}

TEST_CASE("of a model with encoders the text model is read", "[unit]") {
  const std::string text = sizes("gemma3_text", kGqa);
  const ModelSpec model =
      imported(R"({"model_type": "gemma3", "vision_config": {}, "text_config": )" + text + "}");
  CHECK(model.family == "gemma3_text");
  CHECK(model.hidden == 256);
}

TEST_CASE("blocks of GPT-NeoX are parallel behind a norm each, or one after the other", "[unit]") {
  const ModelSpec model = imported(sizes("gpt_neox", R"(, "use_parallel_residual": false)"));
  CHECK_FALSE(model.mlp.gated);
  CHECK(model.norm == NormKind::kLayerNorm);
  CHECK(model.attention.qkv_bias);
  CHECK_FALSE(model.parallel_blocks);
  const ModelSpec parallel = imported(sizes("gpt_neox", R"(, "rotary_pct": 0.5)"));
  CHECK(parallel.parallel_blocks);
  CHECK(parallel.norms_per_layer == 2);
  CHECK(parallel.attention.rope_head_dim == 16);  // half of 32
  CHECK(imported(sizes("phi3", kGqa + R"(, "sliding_window": 2047)")).attention.sliding_window ==
        2047);
}

TEST_CASE("layers of linear attention are every n-th but one, or as they are listed", "[unit]") {
  const std::string kinds = kGqa + kMixers + R"(, "full_attention_interval": 2)";
  const ModelSpec every = imported(sizes("qwen3_next", kinds));
  CHECK(layer_kind(every, 0).mixer == Mixer::kLinearAttention);
  CHECK(layer_kind(every, 1).mixer == Mixer::kAttention);
  CHECK(every.attention.output_gate);
  CHECK(every.attention.rope_head_dim == 64);  // a quarter of 256
  const std::string all =
      R"(["full_attention", "full_attention", "full_attention", "full_attention"])";
  CHECK(imported(sizes("qwen3_next", kinds + R"(, "layer_types": )" + all)).mixers.pattern.empty());
  CHECK_THAT(fault_of(sizes("qwen3_next", kinds + R"(, "layer_types": ["conv"])")),
             contains_text("has 'conv', which is not supported"));
}

TEST_CASE("a layer that takes the choice of another has no form", "[unit]") {
  CHECK_THAT(fault_of(sizes("glm_moe_dsa", kMla + kMixers + R"(, "indexer_types": ["shared"])")),
             contains_text("layers that take the choice of another"));
}

TEST_CASE("a type that a model file cannot say is refused with what it lacks", "[unit]") {
  CHECK_THAT(fault_of(sizes("nemotron_h")),
             contains_text("'model_type' is 'nemotron_h', whose layers have state space models"));
  CHECK_THAT(fault_of(sizes("minimax")), contains_text("lightning attention"));
}

TEST_CASE("a file that is none of a language model says so, or is refused", "[unit]") {
  const ModelSpec ranked =
      imported(sizes("llama", kGqa + R"(, "architectures": ["LlamaForSequenceClassification"])"));
  CHECK_THAT(ranked.note, contains_text("LlamaForSequenceClassification"));
  CHECK_THAT(ranked.note, contains_text("with an output matrix"));
  const ModelSpec causal =
      imported(sizes("llama", kGqa + R"(, "architectures": ["LlamaForCausalLM"])"));
  CHECK(causal.note.find("output matrix") == std::string::npos);
  // Their names do not say it, but both have the matrix.
  for (const char* known : {"ChatGLMModel", "InternVLChatModel"}) {
    const ModelSpec named =
        imported(sizes("llama", kGqa + R"(, "architectures": [")" + known + R"("])"));
    CHECK(named.note.find("output matrix") == std::string::npos);
  }
  CHECK_THAT(fault_of(sizes("llama", kGqa + R"(, "is_encoder_decoder": true)")),
             contains_text("no form for an encoder beside the decoder"));
  CHECK_THAT(fault_of(R"({"model_type": "llava", "is_encoder_decoder": true, "text_config": )" +
                      sizes("llama", kGqa) + "}"),
             contains_text("no form for an encoder beside the decoder"));
}

TEST_CASE("an unsupported model_type names the nearest", "[unit]") {
  CHECK(fault_of(R"({"model_type": "qwen4"})") ==
        "a.json:1:2: error: 'model_type' is 'qwen4', a type that is not known here; did you mean "
        "'qwen'?");
  CHECK_THAT(fault_of(R"({"model_type": "a type of nobody"})"),
             contains_text("configs/hugging_face_types.yaml has those that are"));
  CHECK_THAT(fault_of("{}"), contains_text("needs the key 'model_type'"));
  CHECK_THAT(fault_of(R"({"model_type": null})"), contains_text("must be a text, not null"));
}

TEST_CASE("all problems of a config.json are reported at once", "[unit]") {
  CHECK(fault_of(R"({"model_type": "llama", "hiden_size": 256, "num_hidden_layers": "four",
                     "vocab_size": 1e3, "num_attention_heads": 99999999999999999999,
                     "num_key_value_heads": [2], "intermediate_size": 0, "mlp_bias": 1,
                     "vocab_size": -1})") ==
        "a.json:1:25: error: unknown key 'hiden_size'; did you mean 'hidden_size'?\n"
        "a.json:1:44: error: 'num_hidden_layers' must be a whole number from 1 to 10000, not the "
        "text 'four'\n"
        "a.json:2:22: error: 'vocab_size' must be a whole number from 1 to 67108864, not 1e3\n"
        "a.json:2:41: error: 'num_attention_heads' must be a whole number from 1 to 16777216, not "
        "99999999999999999999\n"
        "a.json:3:22: error: 'num_key_value_heads' must be a whole number from 1 to 16777216, not "
        "a list\n"
        "a.json:3:50: error: 'intermediate_size' must be a whole number from 1 to 16777216, not 0\n"
        "a.json:3:74: error: 'mlp_bias' must be true or false, not 1\n"
        "a.json:4:22: error: duplicate key 'vocab_size'; keep one of them");
}

TEST_CASE("heads must fit", "[unit]") {
  CHECK_THAT(fault_of(sizes("llama", R"(, "num_key_value_heads": 3)")),
             contains_text("'num_key_value_heads' (3) must divide 'num_attention_heads' (8)"));
  const std::string odd = R"({"model_type": "llama", "hidden_size": 100, "num_hidden_layers": 1,
      "vocab_size": 10, "num_attention_heads": 8, "intermediate_size": 8)";
  CHECK_THAT(fault_of(odd + "}"),
             contains_text("(100) is no multiple of 'num_attention_heads' (8)"));
  CHECK(imported(odd + R"(, "head_dim": 16})").attention.qk_head_dim == 16);
}

TEST_CASE("faults of syntax have line and column", "[unit]") {
  CHECK_THAT(fault_of("{\n  \"a\": 1,\n  \"b\" 2\n}"),
             contains_text("a.json:3:7: error: not JSON: "));
  CHECK_THAT(fault_of(""), contains_text("a.json:1:1: error: not JSON: "));
  CHECK_THAT(fault_of("{\"a\": "), contains_text("unexpected end of input"));
  CHECK_THAT(fault_of("{\"a\": 1e999}"), contains_text("a.json:1:"));
  CHECK_THAT(fault_of("{\"a\": \"\xff\"}"), contains_text("not JSON"));
  CHECK_THAT(fault_of("{} {}"), contains_text("a.json:1:4: error: not JSON"));
}

TEST_CASE("what is no object of a sensible size is refused", "[unit]") {
  CHECK_THAT(fault_of("[1, {\"model_type\": \"llama\"}]"),
             contains_text("must hold one JSON object"));
  CHECK_THAT(fault_of("3"), contains_text("must hold one JSON object"));
  const std::string deep(500'000, '[');
  CHECK_THAT(fault_of(deep), contains_text("nested more than 64 levels deep"));
  CHECK_THAT(fault_of("{\"a\": " + deep), contains_text("nested more than 64 levels deep"));
  CHECK_THAT(fault_of(std::string(17'000'000, ' ')),
             contains_text("17000000 bytes, more than 16777216"));
  CHECK_THAT(config_error([] { import_hf_config(sizes("llama"), "a.json", "", shipped_types()); }),
             contains_text("the model needs a name"));
}

TEST_CASE("numbers that Python writes and JSON has not are read, and are no sizes", "[unit]") {
  const std::string numbers = R"(, "time_step_limit": [0.0, Infinity], "a": -Infinity, "b": NaN)";
  CHECK(to_yaml(imported(sizes("llama", numbers))) == to_yaml(imported(sizes("llama"))));
  CHECK_THAT(fault_of(sizes("llama", R"(, "head_dim": Infinity)")),
             contains_text("must be a whole number from 1 to 16777216, not Infinity"));
  CHECK(imported(sizes("llama", R"(, "said": "Infinity and \"NaN\"")")).hidden == 256);
  CHECK_THAT(fault_of(sizes("llama", R"(, "a": Infinite)")), contains_text("not JSON"));
}

// As of models whose experts are quantised one by one: 3.5 MB.
TEST_CASE("a file with a list of every quantised layer is read", "[unit]") {
  std::string list;
  for (int layer = 0; layer < 100'000; ++layer) {
    list += (layer == 0 ? "\"" : ", \"") + std::string("model.layers.mlp.experts.") +
            std::to_string(layer) + "\"";
  }
  const std::string quantised = R"(, "quantization_config": {"ignore": [)" + list + "]}";
  CHECK(imported(sizes("llama", quantised)).hidden == 256);
}

TEST_CASE("keys without effect on shapes are not looked at", "[unit]") {
  const std::string extra = R"(, "rope_scaling": {"factor": [8, {"a": null}]}, "torch_dtype": 7,
      "quantization_config": {"hidden_size": "x", "vocab_size": 1}, "eos_token_id": [1, 2])";
  CHECK(to_yaml(imported(sizes("llama", extra))) == to_yaml(imported(sizes("llama"))));
}

// Every value of every key replaced by each of these, one at a time.
TEST_CASE("no value of a key makes the import fail but with a ConfigError", "[unit]") {
  const std::string value =
      GENERATE("null", "true", "-1", "0", "1", "10000", "16777216", "1e400", "18446744073709551615",
               "0.5", "\"x\"", "[]", "[0]", "[[]]", "{}", "[\"full_attention\"]");
  const std::string type =
      GENERATE("llama", "mixtral", "qwen2", "qwen2_moe", "qwen3_moe", "deepseek_v3", "gpt_oss",
               "lfm2_moe", "qwen3_next", "deepseek_v32", "deepseek_v4", "kimi_linear");
  const std::vector<std::string> keys = {"hidden_size",
                                         "num_hidden_layers",
                                         "num_attention_heads",
                                         "num_key_value_heads",
                                         "head_dim",
                                         "sliding_window",
                                         "max_window_layers",
                                         "layer_types",
                                         "num_experts",
                                         "n_group",
                                         "topk_group",
                                         "num_experts_per_tok",
                                         "decoder_sparse_step",
                                         "mlp_only_layers",
                                         "moe_layer_freq",
                                         "first_k_dense_replace",
                                         "n_shared_experts",
                                         "moe_intermediate_size",
                                         "q_lora_rank",
                                         "num_nextn_predict_layers",
                                         "shared_expert_intermediate_size",
                                         "topk_method",
                                         "full_attention_interval",
                                         "conv_L_cache",
                                         "linear_num_key_heads",
                                         "partial_rotary_factor",
                                         "rope_parameters",
                                         "linear_attn_config",
                                         "index_topk",
                                         "compress_ratios",
                                         "o_groups",
                                         "hc_mult",
                                         "attn_res_block_size",
                                         "routed_expert_hidden_size"};
  for (const std::string& key : keys) {
    // A repeated key would be an error of its own, so the old one gets another name.
    std::string changed =
        sizes(type, kMla + kMixers +
                        R"(, "shared_expert_intermediate_size": 8, "use_sliding_window": false)");
    const std::size_t at = changed.find("\"" + key + "\":");
    if (at != std::string::npos) {
      changed.insert(at + 1, "old_");
    }
    changed.insert(changed.size() - 1, ", \"" + key + "\": " + value);
    try {
      const std::string yaml = to_yaml(imported(changed));
      CHECK(to_yaml(test::model_from(yaml)) == yaml);
    } catch (const ConfigError& error) {
      CHECK_FALSE(error.diagnostics().empty());
    }
  }
}

// As configuration_openelm.py writes it, of two layers.
const std::string kOpenElm =
    R"({"model_type": "openelm", "model_dim": 1280, "num_transformer_layers": 2, "vocab_size": 32000,
        "head_dim": 64, "num_query_heads": [12, 16], "num_kv_heads": [3, 4], "num_gqa_groups": 4,
        "ffn_multipliers": [0.5, 4.0], "ffn_dim_divisor": 256, "ffn_with_glu": true,
        "normalize_qk_projections": true, "share_input_output_layers": true)";

// 0.5 * 1280 = 640 lies between 512 and 768, and is rounded up from the middle.
TEST_CASE("OpenELM's lists are the heads and widths of its layers", "[unit]") {
  const ModelSpec model = imported(kOpenElm + "}");
  CHECK(model.attention.heads.pattern() == std::vector<std::int64_t>{12, 16});
  CHECK(model.attention.kv_heads.pattern() == std::vector<std::int64_t>{3, 4});
  CHECK(model.mlp.ffn_hidden.pattern() == std::vector<std::int64_t>{768, 5120});
  CHECK(model.attention.qk_norm == QkNorm::kHead);
  CHECK(model.tied_embeddings);
  CHECK_THAT(fault_of(kOpenElm + R"(, "num_kv_heads": [3]})"), contains_text("num_kv_heads"));
}

std::string nemotron(const std::string& blocks) {
  return R"({"model_type": "nemotron-nas", "hidden_size": 8192, "num_hidden_layers": 2,
             "vocab_size": 128256, "num_attention_heads": 64, "num_key_value_heads": null,
             "intermediate_size": null, "block_configs": [)" +
         blocks + "]}";
}

// A multiple of 5.25 is 2 * 5.25 * 8192 / 3 = 28,672 wide; 1.0 is 5,461, rounded up to 5,632.
TEST_CASE("blocks of Llama-Nemotron give heads and widths or are left out", "[unit]") {
  const std::string whole =
      R"({"attention": {"n_heads_in_group": 8, "no_op": false}, "ffn": {"ffn_mult": 5.25}})";
  const std::string half =
      R"({"attention": {"no_op": true}, "ffn": {"ffn_mult": 1.0, "no_op": false}})";
  const ModelSpec model = imported(nemotron(whole + "," + half));
  CHECK(model.mixers.pattern == std::vector{Mixer::kAttention, Mixer::kNone});
  CHECK(model.attention.kv_heads == LayerCounts(8));
  CHECK(model.mlp.ffn_hidden.pattern() == std::vector<std::int64_t>{28'672, 5'632});
  CHECK_THAT(fault_of(nemotron(whole)), contains_text("one block for each of 2 layers"));
  const std::string linear =
      R"({"attention": {"replace_with_linear": true}, "ffn": {"ffn_mult": 1.0}})";
  CHECK_THAT(fault_of(nemotron(whole + "," + linear)),
             contains_text("no form for a linear layer in a block's place"));
}

}  // namespace
}  // namespace stepcast::hf_config_test
