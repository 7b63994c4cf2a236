// SPDX-License-Identifier: Apache-2.0
// Models that nobody has trained, drawn at random: dense and with experts, attention of every kind
// with windows, chosen and compressed keys, convolutions and linear attention, layers that differ
// in heads and widths or lack a block, in widths that are round and in some that are not.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "property/random_choice.hpp"

namespace stepcast::test {

class RandomModel {
 public:
  explicit RandomModel(RandomChoice& draw) : draw_(draw) {}

  // The value of `model` in an experiment: a mapping in one line. A few are refused.
  std::string text() {
    layers_ = draw_.any_of({1, 2, 3, 4, 5, 8, 12, 24, 32, 61, 96});
    text_ = "{name: drawn";
    add("hidden_size", draw_.any_of({96, 256, 512, 1000, 1024, 2048, 4096, 5120, 7168, 16384}));
    add("layers", layers_);
    add("vocabulary", draw_.any_of({1000, 32000, 50257, 128256, 151936, 262144}));
    add_blocks();
    add_attention();
    add_mixers();
    const std::string widths = draw_.one_in(6) ? per_layer({"2048", "0", "512", "500"}) : width();
    add("mlp",
        joined({"{ffn_hidden: ", widths, flag("gated"), flag("soft_clamped"), flag("bias"), "}"}));
    has_experts_ = !draw_.one_in(3);
    if (has_experts_) {
      add_experts();
    }
    return text_ + "}";
  }
  // Of the model that text() drew last.
  [[nodiscard]] bool has_experts() const { return has_experts_; }

 private:
  void add(const std::string& key, const std::string& value) { text_ += ", " + key + ": " + value; }
  void add(const std::string& key, std::int64_t value) { add(key, std::to_string(value)); }
  void sometimes(std::size_t one_in, const std::string& key, const std::string& value) {
    if (draw_.one_in(one_in)) {
      add(key, value);
    }
  }

  // The elements of a list in braces are drawn from left to right, as the operands of + need not
  // be: every compiler draws the same models.
  static std::string joined(std::initializer_list<std::string> parts) {
    std::string text;
    for (const std::string& part : parts) {
      text += part;
    }
    return text;
  }

  std::string width() {
    return draw_.any({"64", "500", "512", "1408", "2048", "4096", "14336", "53248"});
  }
  std::string head_width() { return draw_.any({"64", "32", "80", "96", "128", "192", "256"}); }
  // What follows other keys of a mapping: nothing most times, a switch else.
  std::string flag(const std::string& key) {
    return draw_.one_in(4) ? ", " + key + ": " + draw_.any({"true", "false"}) : "";
  }
  std::string count(std::size_t one_in, const std::string& key,
                    const std::vector<std::string>& values) {
    return draw_.one_in(one_in) ? ", " + key + ": " + draw_.any(values) : "";
  }
  // A value for each layer, "[128, 4, ...]".
  std::string per_layer(const std::vector<std::string>& values) {
    std::string list;
    for (std::int64_t layer = 0; layer < layers_; ++layer) {
      list += (layer == 0 ? "[" : ", ") + draw_.any(values);
    }
    return list + "]";
  }

  void add_blocks() {
    if (draw_.one_in(6)) {
      add("positions", draw_.any({"rope", "learned", "alibi", "none"}));
      add("max_positions", draw_.any({"2048", "131072"}));
    }
    sometimes(4, "norm", draw_.any({"rmsnorm", "layernorm"}));
    sometimes(4, "tied_embeddings", "true");
    sometimes(8, "head_bias", "true");
    sometimes(8, "norm_weight", "false");
    sometimes(8, "embedding_norm", "true");
    // Streams and blocks of residuals need one norm before each of two blocks.
    if (draw_.one_in(4)) {
      const std::string key = draw_.any({"residual_streams", "residual_block"});
      add(key, draw_.any({"2", "4", "12"}));
    } else {
      const bool parallel = draw_.one_in(8);
      sometimes(6, "norms_per_layer",
                parallel ? draw_.any({"1", "2", "4"}) : draw_.any({"2", "4"}));
      if (parallel) {
        add("parallel_blocks", "true");
      }
    }
    sometimes(4, "mtp_layers", draw_.any({"1", "2"}));
  }

  // One of `values` that divides `whole`, which the first of them does.
  std::string divisor(std::int64_t whole, const std::vector<std::int64_t>& values) {
    const std::int64_t drawn = draw_.any_of(values);
    return std::to_string(whole % drawn == 0 ? drawn : values.front());
  }

  void add_attention() {
    const std::int64_t heads = draw_.any_of({16, 32, 1, 4, 8, 12, 40, 64, 128});
    const std::string kind = draw_.any({"gqa", "gqa", "mla", "shared_kv"});
    const bool apart = kind == "gqa" && draw_.one_in(4);
    std::string attention = "{kind: " + kind + ", heads: " +
                            (apart ? per_layer({"16", "8", "32", "64"}) : std::to_string(heads));
    const bool shared = kind == "shared_kv";
    if (kind == "gqa") {
      attention += joined(
          {", kv_heads: ", apart ? per_layer({"4", "1", "8"}) : divisor(heads, {heads, 1, 2, 4, 8}),
           ", head_dim: ", apart ? per_layer({"128", "64", "256"}) : head_width(),
           count(8, "v_head_dim", {"64", "128"}), count(8, "rope_head_dim", {"32", "64"})});
    } else if (kind == "mla") {
      attention += joined(
          {count(2, "q_lora_rank", {"768", "1536"}), ", kv_lora_rank: ", draw_.any({"512", "256"}),
           ", qk_nope_head_dim: ", head_width(), ", qk_rope_head_dim: ", draw_.any({"64", "32"}),
           ", v_head_dim: ", head_width()});
    } else {
      attention += joined({", head_dim: ", draw_.any({"512", "128"}),
                           ", q_lora_rank: ", draw_.any({"1024", "1536"}),
                           ", qk_rope_head_dim: 64, output_groups: ", divisor(heads, {1, 2, 4, 8}),
                           ", output_lora_rank: 1024"});
    }
    attention += joined({flag("output_gate"), flag("qkv_bias"), flag("output_bias"), flag("sinks"),
                         count(4, "qk_norm", {"head", "full"}),
                         apart ? ", sliding_window: " + per_layer({"0", "128", "1024"})
                               : count(shared ? 1 : 4, "sliding_window", {"128", "1024", "4096"}),
                         count(shared || apart ? 64 : 6, "full_attention_every", {"2", "4", "6"}),
                         chosen_keys(kind)});
    add("attention", attention + "}");
  }

  std::string chosen_keys(const std::string& kind) {
    if (kind == "gqa" || draw_.one_in(2)) {
      return "";
    }
    const std::string indexer = joined(
        {", indexer: {heads: ", draw_.any({"64", "4", "1"}),
         ", head_dim: 128, chosen: ", draw_.any({"2048", "512", "64"}), flag("trained"), "}"});
    if (kind == "mla") {
      return indexer;
    }
    return indexer + ", compression: {ratios: " + per_layer({"0", "4", "128"}) +
           ", indexed_ratio: 4}";
  }

  void add_mixers() {
    if (!draw_.one_in(3)) {
      sometimes(8, "mixers", draw_.any({"[attention, none]", "[none, attention, attention]"}));
      return;
    }
    const std::string other = draw_.any({"linear_attention", "convolution"});
    const std::vector<std::string> patterns = {"", ", attention", ", " + other + ", attention"};
    add("mixers", "[" + other + patterns[draw_.below(layers_ < 3 ? 1 : patterns.size())] + "]");
    if (other == "convolution") {
      add("convolution", joined({"{width: ", draw_.any({"3", "4"}), flag("bias"), "}"}));
      return;
    }
    add("linear_attention",
        joined({"{rule: ", draw_.any({"gated_delta", "kimi_delta"}), ", heads: ",
                draw_.any({"32", "8", "96"}), ", qk_heads: ", draw_.any({"8", "2", "1"}),
                ", qk_head_dim: ", head_width(), ", v_head_dim: ", head_width(),
                ", convolution_width: 4", count(3, "chunk", {"16", "64", "256"}),
                count(4, "gate_rank", {"64", "128"}), "}"}));
  }

  void add_experts() {
    const std::vector<std::string> dense = {"0", "1", "3", "4"};
    const std::string groups = draw_.any({"1", "4", "8"});
    const std::string router =
        joined({", router: {score: ", draw_.any({"softmax", "sigmoid", "sqrt_softplus"}),
                ", groups: ", groups, ", topk_groups: ", draw_.any({"1", groups}),
                flag("expert_bias"), flag("linear_bias"), "}"});
    const std::string moe = joined(
        {"{experts: ", draw_.any({"8", "16", "64", "128", "160", "256", "384"}),
         ", experts_per_token: ", draw_.any({"1", "2", "4", "6", "8"}),
         ", expert_ffn_hidden: ", width(), count(3, "shared_expert_ffn_hidden", {"512", "2048"}),
         flag("shared_expert_gate"), flag("expert_bias"), flag("clamped_activation"),
         count(6, "latent_hidden", {"256", "1024"}),
         ", first_dense_layers: ", dense[draw_.below(layers_ < 8 ? 1 : dense.size())],
         count(4, "every", {"2", "3"}), draw_.one_in(4) ? router : ""});
    add("moe", moe + "}");
  }

  RandomChoice& draw_;
  std::int64_t layers_ = 1;
  bool has_experts_ = false;
  std::string text_;
};

}  // namespace stepcast::test
