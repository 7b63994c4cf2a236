// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>

#include "frameworks/known_model.hpp"
#include "frameworks/maxtext.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/model/model_ranges.hpp"

namespace stepcast {
namespace {

// "default" of base.yml, a small Llama 2.
ModelSpec base_model() {
  ModelSpec model;
  model.name = "maxtext_default";
  model.title = "model of a MaxText configuration";
  model.family = "llama2";
  model.source = "AI-Hypercomputer/maxtext src/maxtext/configs/base.yml";
  model.hidden = 2048;
  model.layers = 16;
  model.vocabulary = 32'000;
  model.attention.heads = 16;
  model.attention.kv_heads = 16;
  model.attention.qk_head_dim = 128;
  model.attention.v_head_dim = 128;
  model.mlp.ffn_hidden = 7168;
  return model;
}

class Widths {
 public:
  // `named`: MaxText has a file of its own for the model.
  Widths(FrameworkReader& settings, ModelSpec& model, bool named,
         std::span<const std::string> of_file)
      : settings_(settings),
        model_(model),
        named_(named),
        overrides_(settings.is_on("override_model_config", "model")),
        of_file_(of_file) {}

  void read() {
    put("base_emb_dim", "model.hidden_size", model_.hidden);
    put("base_num_decoder_layers", "model.layers", model_.layers);
    put("vocab_size", "model.vocabulary", model_.vocabulary);
    put("base_mlp_dim", "model.mlp.ffn_hidden", model_.mlp.ffn_hidden);
    put("base_num_query_heads", "model.attention.heads", model_.attention.heads);
    put("base_num_kv_heads", "model.attention.kv_heads", model_.attention.kv_heads);
    if (model_.attention.kind == AttentionKind::kGqa &&
        put("head_dim", "model.attention.head_dim", model_.attention.qk_head_dim)) {
      model_.attention.v_head_dim = model_.attention.qk_head_dim;
    }
    read_ties();
    read_gate();
    read_experts();
    scale();
    check_heads();
    if (changed_) {
      model_.note = {};
      model_.published = {};
    }
  }

 private:
  // One width of all layers; what layers have of their own stays where the file says nothing.
  bool put(std::string_view name, std::string_view ours, LayerCounts& widths) {
    std::int64_t width = widths.uniform() ? widths.same() : 0;
    if (!put(name, ours, width)) {
      return false;
    }
    widths = width;
    return true;
  }
  bool put(std::string_view name, std::string_view ours, std::int64_t& width) {
    const auto given = settings_.count(name, ours);
    if (!given || !counts(name, ours, std::to_string(width), std::to_string(*given))) {
      return false;
    }
    if (*given < kWidth.lowest || *given > kWidth.highest) {
      settings_.error(name, "must be from " + std::to_string(kWidth.lowest) + " to " +
                                std::to_string(kWidth.highest));
      return false;
    }
    changed_ = changed_ || width != *given;
    width = *given;
    return true;
  }

  // One of what a model may have none of.
  bool put_up_to(std::int64_t most, std::string_view name, std::string_view ours,
                 std::int64_t& number) {
    const auto given = settings_.count(name, ours);
    if (!given || !counts(name, ours, std::to_string(number), std::to_string(*given))) {
      return false;
    }
    const std::int64_t within = std::clamp<std::int64_t>(*given, 0, most);
    changed_ = changed_ || number != within;
    number = within;
    return true;
  }

  // Whether what is written counts, of a key that a named model's own file says as well.
  bool counts(std::string_view name, std::string_view ours, const std::string& own,
              const std::string& given) {
    if (!named_ || own == given) {
      return true;
    }
    const bool of_file = std::ranges::find(of_file_, name) != of_file_.end();
    if (of_file) {
      settings_.assume(std::string(ours), own,
                       "MaxText's file of the model says it, which counts before the file's " +
                           std::string(name) + ": " + given + "; " + std::string(name) + "=" +
                           given + " override_model_config=true behind the file takes that");
    } else if (!overrides_) {
      settings_.error(name, "is " + given + ", and MaxText's file of the model says " + own +
                                "; add override_model_config=true, without which MaxText refuses "
                                "two values");
    }
    return !of_file && overrides_;
  }

  void read_ties() {
    constexpr std::string_view kKey = "logits_via_embedding";
    constexpr std::string_view kTies = "model.tied_embeddings";
    const auto word = [](bool on) { return on ? "true" : "false"; };
    const std::optional<bool> given = settings_.flag(kKey, kTies);
    if (given && counts(kKey, kTies, word(model_.tied_embeddings), word(*given))) {
      changed_ = changed_ || model_.tied_embeddings != *given;
      model_.tied_embeddings = *given;
    }
  }

  // ["silu", "linear"] is a gate and what it gates.
  void read_gate() {
    const std::optional<std::string> given =
        settings_.as_written("mlp_activations", "model.mlp.gated");
    if (!given || named_) {
      return;
    }
    const bool gated = given->find("linear") != std::string::npos;
    changed_ = changed_ || model_.mlp.gated != gated;
    model_.mlp.gated = gated;
  }

  void read_experts() {
    std::int64_t experts = model_.moe ? model_.moe->experts : 1;
    put("num_experts", "model.moe.experts", experts);
    if (experts == 1) {
      model_.moe.reset();
      return;
    }
    MoeSpec usual;
    usual.experts_per_token = 1;
    usual.expert_ffn_hidden = model_.mlp.ffn_hidden.most();
    MoeSpec moe = model_.moe.value_or(usual);
    moe.experts = experts;
    put("num_experts_per_tok", "model.moe.experts_per_token", moe.experts_per_token);
    put("base_moe_mlp_dim", "model.moe.expert_ffn_hidden", moe.expert_ffn_hidden);
    std::int64_t shared = moe.shared_expert_ffn_hidden / moe.expert_ffn_hidden;
    if (put_up_to(64, "shared_experts", "model.moe.shared_expert_ffn_hidden", shared)) {
      moe.shared_expert_ffn_hidden = shared * moe.expert_ffn_hidden;
    }
    put_up_to(model_.layers, "first_num_dense_layers", "model.moe.first_dense_layers",
              moe.first_dense_layers);
    moe.experts_per_token = std::min(moe.experts_per_token, moe.experts);
    model_.moe = moe;
  }

  // A power of two that makes the model about so many times as large: a third of its exponent goes
  // to the layers, and what is left to the feed-forward and the heads first, then to the width
  // (src/maxtext/configs/types.py, get_individual_scales).
  void scale() {
    constexpr std::string_view kKey = "global_parameter_scale";
    constexpr std::int64_t kMost = 4096;
    const std::int64_t factor = settings_.count(kKey, "model").value_or(1);
    if (factor == 1) {
      return;
    }
    if (factor < 1 || factor > kMost || !std::has_single_bit(static_cast<std::uint64_t>(factor))) {
      settings_.error(kKey, "must be a power of two from 1 to " + std::to_string(kMost) + ", not " +
                                std::to_string(factor));
      return;
    }
    if (!model_.mlp.ffn_hidden.uniform() || !model_.attention.heads.uniform() ||
        !model_.attention.kv_heads.uniform()) {
      settings_.error(kKey, "scales layers of one width; this model's differ");
      return;
    }
    const int exponent = std::countr_zero(static_cast<std::uint64_t>(factor));
    const std::int64_t layers = std::int64_t{1} << (exponent / 3);
    const std::int64_t wider = exponent % 3 > 0 ? 2 * layers : layers;
    const std::int64_t width = exponent % 3 > 1 ? 2 * layers : layers;
    model_.layers *= layers;
    model_.hidden *= width;
    model_.mlp.ffn_hidden = model_.mlp.ffn_hidden.same() * wider;
    model_.attention.heads = model_.attention.heads.same() * wider;
    model_.attention.kv_heads = model_.attention.kv_heads.same() * wider;
    if (model_.moe) {
      model_.moe->expert_ffn_hidden *= wider;
      model_.moe->shared_expert_ffn_hidden *= wider;
    }
    changed_ = true;
  }

  void check_heads() {
    const std::vector<AttentionHeads> all = attention_heads(model_);
    if (std::any_of(all.begin(), all.end(),
                    [](const AttentionHeads& heads) { return heads.query % heads.kv != 0; })) {
      settings_.error(
          settings_.has("base_num_kv_heads") ? "base_num_kv_heads" : "base_num_query_heads",
          "does not fit: key and value heads must divide the query heads");
    }
  }

  FrameworkReader& settings_;
  ModelSpec& model_;
  bool named_;
  bool overrides_;
  std::span<const std::string> of_file_;
  bool changed_ = false;
};

void refuse_name(FrameworkReader& settings, const FrameworkWords& words, const std::string& name) {
  const std::vector<std::string> names = flavor_names(words.models(), "");
  settings.error("model_name", "is '" + name.substr(0, 60) +
                                   "', which is not known here; write its widths, base_emb_dim and "
                                   "so on, beside model_name: default" +
                                   did_you_mean(name, names));
}

// As one of DeepSeek-V3's modules is trained beside the model where the key says so.
void read_mtp(FrameworkReader& settings, const ModelFlavor* known, const DataRoot& data,
              ModelSpec& model) {
  const auto mtp = settings.count("mtp_num_layers", "model.mtp_layers");
  if (!mtp || *mtp < 1 || *mtp > 64) {
    return;
  }
  if (known != nullptr && known->without_mtp) {
    model = load_model(data.models() / (known->ours + ".yaml"));
  }
  model.mtp_layers = *mtp;
}

}  // namespace

std::optional<KeptModel> read_maxtext_model(FrameworkReader& settings, const FrameworkWords& words,
                                            const ImportInput& input,
                                            std::span<const std::string> of_file) {
  const std::string name = settings.text_or("model_name", "model", "default");
  const ModelFlavor* known = find_flavor(words.models(), "", name);
  KeptModel read;
  if (known != nullptr) {
    read.model = model_of(*known, input.data);
  } else if (std::optional<KeptModel> kept = kept_model(input)) {
    return kept;
  } else if (name == "default") {
    read.model = base_model();
  } else {
    refuse_name(settings, words, name);
    return std::nullopt;
  }
  Widths(settings, read.model, known != nullptr, of_file).read();
  read_mtp(settings, known, input.data, read.model);
  return read;
}

FrameworkWords maxtext_words(const DataRoot& data) { return load_framework_words(data, "maxtext"); }

}  // namespace stepcast
