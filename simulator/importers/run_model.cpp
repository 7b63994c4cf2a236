// SPDX-License-Identifier: Apache-2.0
#include "importers/published_run.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "importers/published_names.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {
namespace {

// Widths of latent attention under either of their two spellings.
std::optional<std::int64_t> mla_width(StatedObject& mla, const char* key, const char* brief) {
  const std::optional<std::int64_t> whole = mla.count(key);
  const std::optional<std::int64_t> spelt = mla.count(brief);
  return whole ? whole : spelt;
}

std::int64_t required_width(StatedObject& mla, const char* key, const char* brief) {
  const std::optional<std::int64_t> width = mla_width(mla, key, brief);
  if (!width || *width <= 0) {
    throw RefusedRow{"input missing: " + mla.path_of(key)};
  }
  return *width;
}

Record latent_attention(StatedObject& figures, std::int64_t heads) {
  StatedObject& mla = figures.object("mla");
  Record attention = {{"kind", "mla"}, {"heads", heads}};
  attention["q_lora_rank"] = mla_width(mla, "q_lora_rank", "q_lora").value_or(0);
  attention["kv_lora_rank"] = required_width(mla, "kv_lora_rank", "kv_lora");
  attention["qk_nope_head_dim"] = required_width(mla, "qk_nope_head_dim", "qk_nope");
  attention["qk_rope_head_dim"] = required_width(mla, "qk_rope_head_dim", "qk_rope");
  attention["v_head_dim"] = required_width(mla, "v_head_dim", "v_dim");
  figures.ignore("kv_heads");
  figures.ignore("head_dim");
  return attention;
}

// "128 on alternating layers"
void add_window(StatedObject& figures, Record& attention) {
  constexpr std::string_view kAlternating = " on alternating layers";
  const std::string text = figures.text("sliding_window");
  if (text.empty()) {
    return;
  }
  if (!text.ends_with(kAlternating)) {
    throw RefusedRow{"feature unsupported: the sliding window '" + text + "'"};
  }
  attention["sliding_window"] = std::strtoll(text.c_str(), nullptr, 10);
  attention["full_attention_every"] = 2;
}

Record attention_from(StatedObject& figures, std::int64_t hidden) {
  const std::int64_t heads = figures.required_count("heads");
  Record attention;
  if (figures.states("mla")) {
    attention = latent_attention(figures, heads);
  } else {
    attention = {{"heads", heads},
                 {"kv_heads", figures.count("kv_heads").value_or(heads)},
                 {"head_dim", figures.count("head_dim").value_or(hidden / heads)}};
  }
  if (figures.flag("qk_norm").value_or(false)) {
    attention["qk_norm"] = "head";
  }
  add_window(figures, attention);
  return attention;
}

// Figures that say nothing about the work: counts that follow from the others, and how a source
// words what `gated_mlp` says; an adapter's rank is read with what the run trains.
void pass_over_derived(StatedObject& figures) {
  for (const char* key : {"n_params", "mlp_ratio", "activation", "position", "lora_rank"}) {
    figures.ignore(key);
  }
}

Record moe_from(StatedObject& figures, std::optional<std::int64_t> ffn) {
  const std::optional<std::int64_t> own = figures.count("moe_ffn");
  const std::int64_t width = own ? *own : ffn.value_or(0);
  if (width <= 0) {
    throw RefusedRow{"input missing: model.moe_ffn"};
  }
  return {{"experts", figures.required_count("experts")},
          {"experts_per_token", figures.required_count("topk")},
          {"expert_ffn_hidden", width},
          {"shared_expert_ffn_hidden", figures.count("shared_experts").value_or(0) * width},
          {"first_dense_layers", figures.count("dense_layers").value_or(0)}};
}

// A model that we do not ship.
RunModel from_figures(StatedObject& figures, const std::string& name) {
  RunModel model;
  const std::int64_t hidden = figures.required_count("hidden");
  model.layers = figures.required_count("num_layers");
  model.record = {{"name", name.empty() ? "model" : name},
                  {"hidden_size", hidden},
                  {"layers", model.layers},
                  {"vocabulary", figures.required_count("vocab")},
                  {"attention", attention_from(figures, hidden)}};
  const std::optional<std::int64_t> ffn = figures.count("ffn");
  const std::optional<std::int64_t> expert_ffn = figures.count("moe_ffn");
  const std::int64_t width = ffn ? *ffn : expert_ffn.value_or(0);
  if (width <= 0) {
    throw RefusedRow{"input missing: model.ffn"};
  }
  model.record["mlp"] = {{"ffn_hidden", width},
                         {"gated", figures.flag("gated_mlp").value_or(true)}};
  if (figures.flag("tied_embeddings").value_or(false)) {
    model.record["tied_embeddings"] = true;
  }
  const std::int64_t experts = figures.count("experts").value_or(0);
  if (experts > 1) {
    model.record["moe"] = moe_from(figures, ffn);
    model.experts = true;
  }
  for (const char* key : {"topk", "shared_experts", "dense_layers"}) {
    figures.ignore(key);  // of a dense model
  }
  if (const auto mtp = figures.count("mtp_layers")) {
    model.record["mtp_layers"] = *mtp;
  }
  return model;
}

// Writes what a row states where the model has something else.
template <typename Value>
void write_other(const std::optional<Value>& stated, Value own, Record& record, const char* key) {
  if (stated && *stated != own) {
    record[key] = *stated;
  }
}

// One number says nothing of layers that differ.
void differs(StatedObject& figures, const char* key, const LayerCounts& own, Record& record,
             const char* ours) {
  if (own.uniform()) {
    write_other(figures.count(key), own.same(), record, ours);
  } else {
    figures.ignore(key);
  }
}

void attention_differences(StatedObject& figures, const AttentionSpec& own, Record& record) {
  Record attention = Record::object();
  differs(figures, "heads", own.heads, attention, "heads");
  if (own.kind == AttentionKind::kMla) {
    StatedObject& mla = figures.object("mla");
    const auto width = [&](const char* key, const char* brief, std::int64_t has) {
      write_other(mla_width(mla, key, brief), has, attention, key);
    };
    width("q_lora_rank", "q_lora", own.mla.q_lora_rank);
    width("kv_lora_rank", "kv_lora", own.mla.kv_lora_rank);
    width("qk_nope_head_dim", "qk_nope", own.mla.qk_nope_head_dim);
    width("qk_rope_head_dim", "qk_rope", own.mla.qk_rope_head_dim);
    width("v_head_dim", "v_dim", own.v_head_dim);
    figures.ignore("kv_heads");
    figures.ignore("head_dim");
  } else {
    differs(figures, "kv_heads", own.kv_heads, attention, "kv_heads");
    differs(figures, "head_dim", own.qk_head_dim, attention, "head_dim");
  }
  if (figures.flag("qk_norm").value_or(false) && own.qk_norm == QkNorm::kNone) {
    attention["qk_norm"] = "head";
  }
  if (!attention.empty()) {
    record["attention"] = attention;
  }
}

void moe_differences(StatedObject& figures, const MoeSpec& own, Record& record) {
  Record moe = Record::object();
  write_other(figures.count("experts"), own.experts, moe, "experts");
  write_other(figures.count("topk"), own.experts_per_token, moe, "experts_per_token");
  write_other(figures.count("moe_ffn"), own.expert_ffn_hidden, moe, "expert_ffn_hidden");
  write_other(figures.count("dense_layers"), own.first_dense_layers, moe, "first_dense_layers");
  const std::int64_t width = figures.count("moe_ffn").value_or(own.expert_ffn_hidden);
  if (const auto shared = figures.count("shared_experts")) {
    write_other(std::optional(*shared * width), own.shared_expert_ffn_hidden, moe,
                "shared_expert_ffn_hidden");
  }
  if (!moe.empty()) {
    record["moe"] = moe;
  }
}

RunModel from_shipped(StatedObject& figures, const std::string& name, const ModelSpec& own,
                      std::int64_t sequence_length) {
  RunModel model;
  Record changes = Record::object();
  model.layers = figures.count("num_layers").value_or(own.layers);
  model.experts = own.moe.has_value();
  write_other(figures.count("num_layers"), own.layers, changes, "layers");
  write_other(figures.count("hidden"), own.hidden, changes, "hidden_size");
  write_other(figures.count("vocab"), own.vocabulary, changes, "vocabulary");
  // A list that names each layer's compression holds those of multi-token prediction too.
  const std::int64_t unsaid = own.attention.compression.ratios.empty() ? 0 : own.mtp_layers;
  write_other(std::optional(figures.count("mtp_layers").value_or(unsaid)), own.mtp_layers, changes,
              "mtp_layers");
  if (own.max_positions > 0 && sequence_length > own.max_positions) {
    changes["max_positions"] = sequence_length;
  }
  write_other(figures.flag("tied_embeddings"), own.tied_embeddings, changes, "tied_embeddings");
  attention_differences(figures, own.attention, changes);
  Record mlp = Record::object();
  differs(figures, "ffn", own.mlp.ffn_hidden, mlp, "ffn_hidden");
  write_other(figures.flag("gated_mlp"), own.mlp.gated, mlp, "gated");
  if (!mlp.empty()) {
    changes["mlp"] = mlp;
  }
  if (own.moe) {
    moe_differences(figures, *own.moe, changes);
  }
  figures.ignore("sliding_window");  // in the model's own terms
  model.record = name;
  if (!changes.empty()) {
    model.record = {{"base", name}};
    model.record.update(changes);
  }
  return model;
}

}  // namespace

namespace {

// Whether a row has the figures that a model is made of.
bool states_its_shape(const StatedObject& figures) {
  return std::ranges::all_of(std::array{"hidden", "num_layers", "heads", "vocab"},
                             [&](const char* key) { return figures.states(key); });
}

// The shipped model whose name has the same letters and digits, "Qwen3-14B" of qwen3_14b; empty
// without one.
std::string model_by_letters(const std::string& published, const ProfileCache& profiles) {
  const auto letters = [](std::string_view name) {
    std::string kept = ascii::lower_case(name);
    std::erase_if(kept, [](char c) { return !ascii::is_alphanumeric(c) && c != '.'; });
    return kept;
  };
  for (const std::string& name : names_in(profiles.data().models())) {
    if (letters(name) == letters(published)) {
      return name;
    }
  }
  return {};
}

}  // namespace

RunModel run_model(StatedObject& figures, std::int64_t sequence_length, ProfileCache& profiles) {
  const std::string published = figures.text("name");
  pass_over_derived(figures);
  std::string name = model_for(published);
  if (name.empty() && !states_its_shape(figures)) {
    name = model_by_letters(published, profiles);
  }
  return name.empty() ? from_figures(figures, published)
                      : from_shipped(figures, name, profiles.model(name), sequence_length);
}

}  // namespace stepcast
