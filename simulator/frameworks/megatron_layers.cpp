// SPDX-License-Identifier: Apache-2.0
// Layers that no field of Megatron-LM says (megatron_mixers.hpp).
#include "frameworks/megatron_mixers.hpp"

namespace stepcast {

namespace {

// The first key whose list is in the way.
std::string uneven_key(const ModelSpec& model) {
  const AttentionSpec& attention = model.attention;
  for (const auto& [key, counts] : {std::pair{"model.attention.heads", &attention.heads},
                                    {"model.attention.kv_heads", &attention.kv_heads},
                                    {"model.attention.head_dim", &attention.qk_head_dim},
                                    {"model.attention.v_head_dim", &attention.v_head_dim},
                                    {"model.attention.sliding_window", &attention.sliding_window},
                                    {"model.mlp.ffn_hidden", &model.mlp.ffn_hidden}}) {
    if (!counts->uniform()) {
      return key;
    }
  }
  return "model.mixers";
}

}  // namespace

std::vector<ExportRefusal> layers_without_fields(const ModelSpec& model) {
  std::vector<ExportRefusal> refusals;
  const auto& linear = model.mixers.linear_attention;
  const bool kimi = linear && linear->rule == DeltaRule::kKimiDelta;
  if (layers_differ(model)) {
    refusals.push_back(
        {uneven_key(model), "",
         "no field of it says that layers differ in heads or widths, or lack a block",
         "give all layers the same"});
  }
  if (model.mlp.soft_clamped != kimi) {
    refusals.push_back({"model.mlp.soft_clamped", kimi ? "false" : "true",
                        "its model_type kimi_k3 clamps softly, and no other does",
                        kimi ? "take true" : "take false"});
  }
  return refusals;
}

void refuse_uneven_layers(const FrameworkReader& settings, const MegatronSource& source,
                          ModelSpec& model) {
  if (!layers_differ(model)) {
    return;
  }
  settings.diagnostics().error(
      source.whole_file,
      "names " + model.name + ", whose layers differ, which no field of the framework says");
  model.attention = {};
  model.mlp = {};
  model.mixers = {};
}

}  // namespace stepcast
