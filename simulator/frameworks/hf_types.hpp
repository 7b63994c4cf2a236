// SPDX-License-Identifier: Apache-2.0
// The types of Hugging Face (config.json's model_type) as rows of configs/hugging_face_types.yaml.
//
//   gpt2:
//     source: GPT2Config, 01ae98ae
//     keys: {hidden: n_embd, ffn_hidden: n_inner}
//     values: {hidden: 768, ffn_hidden: 4 * hidden, norm: layernorm, gated: false}
//
// A row says of each fact of a model under which keys a file gives it, and what it is where the
// file gives none: a value of the class in transformers, or what the type always has. `like` takes
// over what another row says. A fact that no row says is as a model file has it without its key.
//
// What no row says is code, which the fact `layers` names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

// Each fact is one row here: ROW(enumerator, name, kind, what null means; empty: null is refused).
// A value may be computed of facts that stand above its own.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage, bugprone-macro-parentheses)
#define STEPCAST_HF_FACTS(ROW)                                                                  \
  ROW(kHidden, "hidden", kNumber, "")                                                           \
  ROW(kLayerCount, "layers", kNumber, "")                                                       \
  ROW(kVocabulary, "vocabulary", kNumber, "")                                                   \
  ROW(kHeads, "heads", kNumber, "")                                                             \
  ROW(kKvHeads, "kv_heads", kNumber, "heads")                                                   \
  ROW(kHeadDim, "head_dim", kNumber, "hidden / heads")                                          \
  ROW(kFfnRatio, "ffn_ratio", kNumber, "")                                                      \
  ROW(kGateUpHidden, "gate_up_hidden", kNumber, "") /* of both inputs of a gated activation */  \
  ROW(kExpertFfnHidden, "expert_ffn_hidden", kNumber, "")                                       \
  ROW(kFfnHidden, "ffn_hidden", kNumber, "")                                                    \
  ROW(kMultiQuery, "multi_query", kFlag, "") /* one head of keys for all */                     \
  ROW(kQkvBias, "qkv_bias", kFlag, "")                                                          \
  ROW(kOutputBias, "output_bias", kFlag, "")                                                    \
  ROW(kOutputGate, "output_gate", kFlag, "")                                                    \
  ROW(kSinks, "sinks", kFlag, "")                                                               \
  ROW(kQkNorm, "qk_norm", kWord, "")                                                            \
  ROW(kQkNormUsed, "qk_norm_used", kFlag, "")                                                   \
  ROW(kRopeShare, "rope_share", kShare, "") /* of a head that positions turn */                 \
  ROW(kRopeHeadDim, "rope_head_dim", kNumber, "0")                                              \
  ROW(kAttention, "attention", kWord, "")                                                       \
  ROW(kQLoraRank, "q_lora_rank", kNumber, "0")                                                  \
  ROW(kKvLoraRank, "kv_lora_rank", kNumber, "")                                                 \
  ROW(kQkNopeHeadDim, "qk_nope_head_dim", kNumber, "")                                          \
  ROW(kQkRopeHeadDim, "qk_rope_head_dim", kNumber, "")                                          \
  ROW(kVHeadDim, "v_head_dim", kNumber, "")                                                     \
  ROW(kIndexHeads, "index_heads", kNumber, "")                                                  \
  ROW(kIndexHeadDim, "index_head_dim", kNumber, "")                                             \
  ROW(kIndexChosen, "index_chosen", kNumber, "")                                                \
  ROW(kWindow, "sliding_window", kNumber, "0")                                                  \
  ROW(kWindowUsed, "window_used", kFlag, "")                                                    \
  ROW(kWindowRule, "window_rule", kWord, "")                                                    \
  ROW(kFullEvery, "full_attention_every", kNumber, "")                                          \
  ROW(kWindowFrom, "window_from", kNumber, "") /* the first layer with one */                   \
  ROW(kGated, "gated", kFlag, "")                                                               \
  ROW(kMlpBias, "mlp_bias", kFlag, "")                                                          \
  ROW(kExperts, "experts", kNumber, "0")                                                        \
  ROW(kExpertsPerToken, "experts_per_token", kNumber, "")                                       \
  ROW(kExpertBias, "expert_bias", kFlag, "")                                                    \
  ROW(kClampedActivation, "clamped_activation", kFlag, "")                                      \
  ROW(kSharedExperts, "shared_experts", kNumber, "0")                                           \
  ROW(kSharedFfnHidden, "shared_expert_ffn_hidden", kNumber, "0")                               \
  ROW(kSharedGate, "shared_expert_gate", kFlag, "")                                             \
  ROW(kExpertsAt, "experts_at", kWord, "")                                                      \
  ROW(kExpertsFrom, "experts_from", kNumber, "")                                                \
  ROW(kExpertsTo, "experts_to", kWhole, "") /* the last layer with any; -1: of the model */     \
  ROW(kExpertsEvery, "experts_every", kNumber, "1")                                             \
  ROW(kDenseLayers, "dense_layers", kList, "")                                                  \
  ROW(kExpertLayers, "expert_layers", kList, "")                                                \
  ROW(kRouterScore, "router_score", kWord, "")                                                  \
  ROW(kRouterMethod, "router_method", kWord, "")                                                \
  ROW(kRouterGroups, "router_groups", kNumber, "1")                                             \
  ROW(kRouterTopkGroups, "router_topk_groups", kNumber, "1")                                    \
  ROW(kRouterExpertBias, "router_expert_bias", kFlag, "")                                       \
  ROW(kRouterLinearBias, "router_linear_bias", kFlag, "")                                       \
  ROW(kNorm, "norm", kWord, "")                                                                 \
  ROW(kNormWeight, "norm_weight", kFlag, "")                                                    \
  ROW(kNormBias, "norm_bias", kFlag, "")                                                        \
  ROW(kEmbeddingNorm, "embedding_norm", kFlag, "")                                              \
  ROW(kParallelBlocks, "parallel_blocks", kFlag, "")                                            \
  ROW(kParallelNorms, "parallel_norms", kNumber, "") /* of a layer whose blocks are parallel */ \
  ROW(kNormsPerLayer, "norms_per_layer", kNumber, "")                                           \
  ROW(kPositionKind, "positions", kWord, "")                                                    \
  ROW(kAlibi, "alibi", kFlag, "")                                                               \
  ROW(kMaxPositions, "max_positions", kNumber, "")                                              \
  ROW(kLearnedPositions, "learned_positions", kNumber, "") /* rows of the table */              \
  ROW(kTiedEmbeddings, "tied_embeddings", kFlag, "")                                            \
  ROW(kHeadBias, "head_bias", kFlag, "")                                                        \
  ROW(kMtpUsed, "mtp_used", kFlag, "")                                                          \
  ROW(kMtpLayers, "mtp_layers", kNumber, "0")                                                   \
  ROW(kReader, "layers_by", kWord, "") /* code that reads what no row says */

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_ENUMERATOR(enumerator, name, kind, null) enumerator,
enum class HfFact : std::uint8_t { STEPCAST_HF_FACTS(STEPCAST_ENUMERATOR) };
#undef STEPCAST_ENUMERATOR

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_NAME(enumerator, name, kind, null) std::string_view{name},
template <>
inline constexpr std::array kNamesOf<HfFact> = {STEPCAST_HF_FACTS(STEPCAST_NAME)};
#undef STEPCAST_NAME

// What the values of a fact are. A list has no value but that of its key.
enum class HfKind : std::uint8_t { kNumber, kWhole, kFlag, kShare, kWord, kList };
HfKind kind_of(HfFact fact);
// What a fact is whose key is null; nothing where that is refused.
std::string_view null_of(HfFact fact);

// Numbers and facts joined by + - * and /, computed from left to right: "4 * hidden".
struct HfTerm {
  char join = '*';  // with what stands before it
  std::variant<std::int64_t, HfFact> operand = std::int64_t{1};
};
using HfExpression = std::vector<HfTerm>;
// Nothing where the text is none, or names a fact that does not stand above `of`.
std::optional<HfExpression> parse_hf_expression(std::string_view text, HfFact of);

using HfValue = std::variant<HfExpression, bool, double, std::string>;

// A value of a key under which a type is something that a model file has no form for.
struct HfKeyRefusal {
  std::string key;
  bool unless = false;  // whether any other value is refused, and not this one
  std::string value;    // as JSON writes it, or the name of a fact
  std::string absent;   // the class's, of a file without the key; empty: one that is not refused
  std::string because;
};

struct HfType {
  std::string name;
  std::string source;  // the class, and the commit of transformers or the repository it was read of
  std::string note;    // what of the type a model file leaves out
  std::map<HfFact, std::vector<std::string>> keys;
  std::map<HfFact, HfValue> values;
  std::vector<HfKeyRefusal> refuses;
};

struct HfTypes {
  std::vector<HfType> types;
  std::map<std::string, std::string> architectures;  // architecture -> type, before model_type
  std::vector<std::string> language_models;          // whose names do not say their output matrix
  std::map<std::string, std::string> texts;          // type with encoders -> that of its text model
  std::vector<std::string> text_keys;                // where that stands: "text_config"
  std::map<std::string, std::string> refused;        // type -> what a model file has no form for

  // Null where there is none.
  [[nodiscard]] const HfType* find(std::string_view name) const;
};

// Throws ConfigError with all problems of the file.
HfTypes load_hf_types(const std::filesystem::path& file);

}  // namespace stepcast
