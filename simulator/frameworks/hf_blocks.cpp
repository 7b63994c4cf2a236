// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_blocks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/config/value_message.hpp"
#include "stepcast/model/model_ranges.hpp"

namespace stepcast {
namespace {

// Which layers have the window if 'layer_types' does not say.
enum class WindowRule {
  kAll,
  kFromLayer,  // those from number window_from on
  kNthFull,    // all but every full_attention_every-th
  kFirstFull,  // all but the first of each full_attention_every
  kUnsettled   // versions of transformers differ
};
constexpr std::array<NamedValue<WindowRule>, 5> kWindowRules = {
    {{"all", WindowRule::kAll},
     {"from_layer", WindowRule::kFromLayer},
     {"nth_full", WindowRule::kNthFull},
     {"first_full", WindowRule::kFirstFull},
     {"unsettled", WindowRule::kUnsettled}}};

// Which layers have experts if 'mlp_layer_types' does not say.
enum class ExpertRule {
  kAll,
  kIfSeveral,     // all, unless there is but one expert
  kNth,           // every experts_every-th, but for dense_layers
  kFromMultiple,  // from experts_from on those whose number experts_every divides
  kBetween,       // from experts_from to experts_to every experts_every-th of all
  kListed,        // expert_layers, or every experts_every-th
};
constexpr std::array<NamedValue<ExpertRule>, 6> kExpertRules = {
    {{"all", ExpertRule::kAll},
     {"if_several", ExpertRule::kIfSeveral},
     {"nth", ExpertRule::kNth},
     {"from_multiple", ExpertRule::kFromMultiple},
     {"between", ExpertRule::kBetween},
     {"listed", ExpertRule::kListed}}};

constexpr std::array<NamedValue<RouterScore>, 2> kRouterScores = {
    {{"softmax", RouterScore::kSoftmax}, {"sigmoid", RouterScore::kSigmoid}}};
enum class RouterMethod { kGreedy, kGroups, kGroupsWithBias };
constexpr std::array<NamedValue<RouterMethod>, 3> kRouterMethods = {
    {{"greedy", RouterMethod::kGreedy},
     {"group_limited_greedy", RouterMethod::kGroups},
     {"noaux_tc", RouterMethod::kGroupsWithBias}}};

using LayerFlags = std::vector<bool>;

LayerFlags layers_where(std::int64_t layers, auto&& rule) {
  LayerFlags flags;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    flags.push_back(rule(layer));
  }
  return flags;
}

// Which layers have the first of two words in a list of one word a layer.
std::optional<LayerFlags> listed_layers(HfFields& fields, std::string_view key,
                                        std::string_view first, std::string_view second,
                                        const ModelSpec& model) {
  MappingReader& file = fields.file();
  const std::vector<std::string> words = file.optional_texts(key);
  if (!file.good({key}) || !fields.good({HfFact::kLayerCount})) {
    return std::nullopt;
  }
  if (std::ssize(words) != model.layers) {
    file.error(key, "has " + std::to_string(words.size()) + " items, but '" +
                        fields.key(HfFact::kLayerCount) + "' is " + std::to_string(model.layers) +
                        "; give one for each layer");
    return std::nullopt;
  }
  for (const std::string& word : words) {
    if (word != first && word != second) {
      file.error(key, "has '" + shown(word) + "', which is not supported; supported are " +
                          std::string(first) + " and " + std::string(second));
      return std::nullopt;
    }
  }
  return layers_where(model.layers, [&](std::int64_t layer) {
    return words[static_cast<std::size_t>(layer)] == first;
  });
}

// "LLLG": letters that begin again, of which G is full attention, as is the last layer.
std::optional<LayerFlags> lettered_layers(HfFields& fields, const ModelSpec& model) {
  const std::string letters = fields.file().optional_text(fields.key(HfFact::kFullEvery));
  if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos) {
    fields.error(HfFact::kFullEvery,
                 "is '" + shown(letters) + "'; supported are a number and the letters L and G");
    return std::nullopt;
  }
  return layers_where(model.layers, [&](std::int64_t layer) {
    return layer + 1 == model.layers ||
           letters[static_cast<std::size_t>(layer) % letters.size()] == 'G';
  });
}

std::optional<LayerFlags> full_layers(HfFields& fields, const ModelSpec& model) {
  MappingReader& file = fields.file();
  if (file.has("layer_types")) {
    return listed_layers(fields, "layer_types", "full_attention", "sliding_attention", model);
  }
  const auto rule = fields.choice<WindowRule>(HfFact::kWindowRule, kWindowRules, WindowRule::kAll);
  switch (rule) {
    case WindowRule::kAll:
      break;
    case WindowRule::kFromLayer: {
      const std::int64_t first = fields.count(HfFact::kWindowFrom, kLayerOrNone);
      return layers_where(model.layers, [&](std::int64_t layer) { return layer < first; });
    }
    case WindowRule::kNthFull:
    case WindowRule::kFirstFull: {
      const ConfigNode* given = file.node().find(fields.key(HfFact::kFullEvery));
      if (given != nullptr && given->quoted) {
        return lettered_layers(fields, model);
      }
      const std::int64_t every = fields.count(HfFact::kFullEvery, kLayers);
      const std::int64_t full = rule == WindowRule::kNthFull ? every - 1 : 0;
      return layers_where(model.layers, [&](std::int64_t layer) { return layer % every == full; });
    }
    case WindowRule::kUnsettled:
      fields.error(HfFact::kWindowUsed,
                   "is true, but versions of transformers differ in the layers that it means; add "
                   "'layer_types'");
      return std::nullopt;
  }
  return LayerFlags(static_cast<std::size_t>(model.layers), false);
}

void read_window(HfFields& fields, ModelSpec& model) {
  const std::int64_t window = fields.count(HfFact::kWindow, kWidthOrNone, 0);
  if (window == 0 || !fields.flag(HfFact::kWindowUsed).value_or(true)) {
    return;
  }
  const auto full = full_layers(fields, model);
  if (!full) {
    return;
  }
  const auto first = std::find(full->begin(), full->end(), true) - full->begin();
  const std::int64_t every = first + 1;
  if (every > model.layers) {
    model.attention.sliding_window = window;
    return;
  }
  bool regular = true;
  std::vector<std::int64_t> windows;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const bool is_full = (*full)[static_cast<std::size_t>(i)];
    regular = regular && is_full == ((i + 1) % every == 0);
    windows.push_back(is_full ? 0 : window);
  }
  if (!regular) {
    model.attention.sliding_window = LayerCounts(windows, model.layers);
  } else if (every > 1) {
    model.attention.sliding_window = window;
    model.attention.full_attention_every = every;
  }
}

void read_gqa(HfFields& fields, ModelSpec& model) {
  AttentionSpec& attention = model.attention;
  const std::int64_t heads = attention.heads;
  attention.kv_heads =
      fields.flag(HfFact::kMultiQuery).value_or(false) ? 1 : fields.count(HfFact::kKvHeads, kWidth);
  if (heads % attention.kv_heads != 0 && fields.good({HfFact::kHeads, HfFact::kKvHeads})) {
    fields.error(HfFact::kKvHeads, "(" + std::to_string(attention.kv_heads) + ") must divide '" +
                                       fields.key(HfFact::kHeads) + "' (" + std::to_string(heads) +
                                       ")");
  }
  attention.qk_head_dim = fields.count(HfFact::kHeadDim, kWidth);
  attention.v_head_dim = attention.qk_head_dim;
}

void read_mla(HfFields& fields, ModelSpec& model) {
  AttentionSpec& attention = model.attention;
  attention.kind = AttentionKind::kMla;
  attention.kv_heads = attention.heads;
  attention.mla.q_lora_rank = fields.count(HfFact::kQLoraRank, kWidthOrNone);
  attention.mla.kv_lora_rank = fields.count(HfFact::kKvLoraRank, kWidth);
  attention.mla.qk_nope_head_dim = fields.count(HfFact::kQkNopeHeadDim, kWidth);
  attention.mla.qk_rope_head_dim = fields.count(HfFact::kQkRopeHeadDim, kWidth);
  attention.qk_head_dim = attention.mla.qk_nope_head_dim + attention.mla.qk_rope_head_dim;
  attention.v_head_dim = fields.count(HfFact::kVHeadDim, kWidth);
}

void read_groups(HfFields& fields, MoeSpec& moe) {
  RouterSpec& router = moe.router;
  router.groups = fields.count(HfFact::kRouterGroups, kWidth, 1);
  router.topk_groups = fields.count(HfFact::kRouterTopkGroups, kWidth, 1);
  if (!fields.good({HfFact::kRouterGroups, HfFact::kRouterTopkGroups, HfFact::kExperts})) {
    return;
  }
  if (moe.experts % router.groups != 0) {
    fields.error(HfFact::kRouterGroups, "(" + std::to_string(router.groups) +
                                            ") must divide the number of experts (" +
                                            std::to_string(moe.experts) + ")");
  }
  if (router.topk_groups > router.groups) {
    fields.error(HfFact::kRouterTopkGroups, "(" + std::to_string(router.topk_groups) +
                                                ") must not exceed '" +
                                                fields.key(HfFact::kRouterGroups) + "' (" +
                                                std::to_string(router.groups) + ")");
  }
}

void read_router(HfFields& fields, MoeSpec& moe) {
  RouterSpec& router = moe.router;
  router.score =
      fields.choice<RouterScore>(HfFact::kRouterScore, kRouterScores, RouterScore::kSoftmax);
  router.linear_bias = fields.flag(HfFact::kRouterLinearBias).value_or(false);
  router.expert_bias = fields.flag(HfFact::kRouterExpertBias).value_or(false);
  if (!fields.says(HfFact::kRouterMethod)) {
    return read_groups(fields, moe);
  }
  const auto method =
      fields.choice<RouterMethod>(HfFact::kRouterMethod, kRouterMethods, RouterMethod::kGreedy);
  router.expert_bias = method == RouterMethod::kGroupsWithBias;
  if (method != RouterMethod::kGreedy) {
    read_groups(fields, moe);
  }
}

void read_shared_experts(HfFields& fields, MoeSpec& moe) {
  if (fields.says(HfFact::kSharedExperts)) {
    const std::int64_t shared = fields.count(HfFact::kSharedExperts, kWidthOrNone);
    moe.shared_expert_ffn_hidden = shared * moe.expert_ffn_hidden;
    if (moe.shared_expert_ffn_hidden > kWidth.highest) {
      fields.error(HfFact::kSharedExperts, "times '" + fields.key(HfFact::kExpertFfnHidden) +
                                               "' must not exceed " +
                                               std::to_string(kWidth.highest));
    }
  }
  if (fields.says(HfFact::kSharedFfnHidden)) {
    moe.shared_expert_ffn_hidden = fields.count(HfFact::kSharedFfnHidden, kWidthOrNone);
  }
  moe.shared_expert_gate =
      moe.shared_expert_ffn_hidden > 0 && fields.flag(HfFact::kSharedGate).value_or(false);
}

// The layers of a rule. Nothing where the file has a problem with it.
std::optional<LayerFlags> expert_layers(HfFields& fields, ExpertRule rule, const ModelSpec& model) {
  const std::int64_t every = fields.count(HfFact::kExpertsEvery, kLayers, 1);
  const std::int64_t first = fields.count(HfFact::kExpertsFrom, kLayerOrNone, 0);
  if (rule == ExpertRule::kListed && fields.given(HfFact::kExpertLayers)) {
    LayerFlags flags(static_cast<std::size_t>(model.layers), false);
    for (const std::int64_t layer : fields.list(HfFact::kExpertLayers, kLayerOrNone)) {
      flags[static_cast<std::size_t>(std::min(layer, model.layers - 1))] = true;
    }
    return flags;
  }
  if (rule == ExpertRule::kFromMultiple) {
    return layers_where(model.layers,
                        [&](std::int64_t layer) { return layer >= first && layer % every == 0; });
  }
  const std::int64_t last = fields.count(HfFact::kExpertsTo, {-1, kLayers.highest}, -1);
  LayerFlags flags = layers_where(model.layers, [&](std::int64_t layer) {
    return layer >= first && (last < 0 || layer <= last) && (layer + 1) % every == 0;
  });
  for (const std::int64_t layer : fields.list(HfFact::kDenseLayers, kLayerOrNone)) {
    if (layer < model.layers) {
      flags[static_cast<std::size_t>(layer)] = false;
    } else if (fields.good({HfFact::kLayerCount, HfFact::kDenseLayers})) {
      fields.error(HfFact::kDenseLayers, "names layer " + std::to_string(layer) +
                                             ", but the last of the model is " +
                                             std::to_string(model.layers - 1));
      return std::nullopt;
    }
  }
  return flags;
}

// What a problem with the layers of experts is told of.
HfFact fact_of_layers(HfFields& fields) {
  for (const HfFact fact : {HfFact::kDenseLayers, HfFact::kExpertLayers, HfFact::kExpertsEvery}) {
    if (fields.given(fact)) {
      return fact;
    }
  }
  return HfFact::kExpertsFrom;
}

// The first of them is layer F + n - 1, the second n further.
void place_experts(HfFields& fields, const LayerFlags& with_experts, MoeSpec moe,
                   ModelSpec& model) {
  const auto begin = with_experts.begin();
  const auto end = with_experts.end();
  const auto first = std::find(begin, end, true);
  if (first == end) {
    return;  // a dense model
  }
  const auto second = std::find(first + 1, end, true);
  moe.every = second - first;  // without a second one: up to the end
  moe.first_dense_layers = (first - begin) - moe.every + 1;
  bool expressible = moe.first_dense_layers >= 0;
  model.moe = moe;
  for (std::int64_t i = 0; expressible && i < model.layers; ++i) {
    expressible = layer_kind(model, i).moe == with_experts[static_cast<std::size_t>(i)];
  }
  if (!expressible) {
    fields.error(fact_of_layers(fields),
                 "leaves experts in layers other than every n-th after a first few, and a model "
                 "file has no other pattern; give the nearest such one");
  }
}

MoeSpec experts_of(HfFields& fields) {
  MoeSpec moe;
  moe.experts = fields.count(HfFact::kExperts, kWidthOrNone);
  if (moe.experts == 0) {
    return moe;
  }
  moe.experts_per_token = fields.count(HfFact::kExpertsPerToken, kWidth);
  moe.expert_ffn_hidden = fields.count(HfFact::kExpertFfnHidden, kWidth);
  if (moe.experts_per_token > moe.experts &&
      fields.good({HfFact::kExperts, HfFact::kExpertsPerToken})) {
    fields.error(HfFact::kExpertsPerToken, "(" + std::to_string(moe.experts_per_token) +
                                               ") must not exceed the number of experts (" +
                                               std::to_string(moe.experts) + ")");
  }
  moe.expert_bias = fields.flag(HfFact::kExpertBias).value_or(false);
  moe.clamped_activation = fields.flag(HfFact::kClampedActivation).value_or(false);
  read_shared_experts(fields, moe);
  read_router(fields, moe);
  return moe;
}

}  // namespace

std::int64_t count_of(MappingReader& file, std::string_view key, CountFallback fallback,
                      Range<std::int64_t> range) {
  const bool absent = file.node().find(key) == nullptr;
  return file.optional_count(key, absent ? fallback.absent : fallback.null, range);
}

void read_sizes(HfFields& fields, ModelSpec& model) {
  model.hidden = fields.count(HfFact::kHidden, kWidth);
  model.layers = fields.count(HfFact::kLayerCount, kLayers);
  model.vocabulary = fields.count(HfFact::kVocabulary, kVocabularySize);
  model.tied_embeddings = fields.flag(HfFact::kTiedEmbeddings).value_or(false);
  model.head_bias = fields.flag(HfFact::kHeadBias).value_or(false);
  model.attention.heads = fields.count(HfFact::kHeads, kWidth);
  model.mlp.ffn_hidden = fields.count(HfFact::kFfnHidden, kWidth);
  model.mlp.gated = fields.flag(HfFact::kGated).value_or(true);
  model.mlp.bias = fields.flag(HfFact::kMlpBias).value_or(false);
}

void read_norms(HfFields& fields, ModelSpec& model) {
  constexpr Range<std::int64_t> kNormsOfLayer{1, 4};
  model.norm = fields.choice<NormKind>(HfFact::kNorm, kNorms, NormKind::kRmsNorm);
  model.norm_weight = fields.flag(HfFact::kNormWeight).value_or(true);
  model.norm_bias = fields.flag(HfFact::kNormBias)
                        .value_or(model.norm == NormKind::kLayerNorm && model.norm_weight);
  model.embedding_norm = fields.flag(HfFact::kEmbeddingNorm).value_or(false);
  model.parallel_blocks = fields.flag(HfFact::kParallelBlocks).value_or(false);
  model.norms_per_layer = model.parallel_blocks
                              ? fields.count(HfFact::kParallelNorms, kNormsOfLayer, 1)
                              : fields.count(HfFact::kNormsPerLayer, kNormsOfLayer, 2);
}

void read_positions(HfFields& fields, ModelSpec& model) {
  model.positions = fields.choice<Positions>(HfFact::kPositionKind, kPositions, Positions::kRope);
  if (fields.flag(HfFact::kAlibi).value_or(false)) {
    model.positions = Positions::kAlibi;
  }
  if (model.positions == Positions::kLearned) {
    const bool table = fields.says(HfFact::kLearnedPositions);
    model.max_positions =
        fields.count(table ? HfFact::kLearnedPositions : HfFact::kMaxPositions, kVocabularySize);
  }
  if (model.positions != Positions::kRope || model.attention.kind != AttentionKind::kGqa) {
    return;
  }
  const std::int64_t head = model.attention.qk_head_dim.most();
  std::int64_t& turned = model.attention.rope_head_dim;
  turned = fields.count(HfFact::kRopeHeadDim, kWidthOrNone, 0);
  if (const double share = fields.share(HfFact::kRopeShare, 1.0); share < 1.0) {
    turned =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(head)));
  }
  if (turned > head && fields.good({HfFact::kRopeHeadDim, HfFact::kHeadDim})) {
    fields.error(HfFact::kRopeHeadDim, "(" + std::to_string(turned) +
                                           ") must not exceed the width of a head (" +
                                           std::to_string(head) + ")");
  }
}

void read_attention(HfFields& fields, ModelSpec& model) {
  AttentionSpec& attention = model.attention;
  const auto kind =
      fields.choice<AttentionKind>(HfFact::kAttention, kAttentionKinds, AttentionKind::kGqa);
  if (kind == AttentionKind::kSharedKv) {
    return;
  }
  if (kind == AttentionKind::kMla) {
    read_mla(fields, model);
  } else {
    read_gqa(fields, model);
  }
  attention.qkv_bias = fields.flag(HfFact::kQkvBias).value_or(false);
  attention.output_bias = fields.flag(HfFact::kOutputBias).value_or(false);
  attention.output_gate = fields.flag(HfFact::kOutputGate).value_or(false);
  attention.sinks = fields.flag(HfFact::kSinks).value_or(false);
  if (fields.flag(HfFact::kQkNormUsed).value_or(true)) {
    attention.qk_norm = fields.choice<QkNorm>(HfFact::kQkNorm, kQkNorms, QkNorm::kNone);
  }
  if (fields.says(HfFact::kIndexHeads)) {
    read_hf_indexer(fields, model);
  }
  read_window(fields, model);
}

void read_hf_indexer(HfFields& fields, ModelSpec& model) {
  IndexerSpec indexer;
  indexer.heads = fields.count(HfFact::kIndexHeads, kWidth);
  indexer.head_dim = fields.count(HfFact::kIndexHeadDim, kWidth);
  indexer.chosen = fields.count(HfFact::kIndexChosen, kWidth);
  for (const std::string& type : fields.file().optional_texts("indexer_types")) {
    if (type != "full") {
      fields.file().error("indexer_types",
                          "has '" + shown(type) +
                              "': layers that take the choice of another have no form in a model "
                              "file; supported is full");
      break;
    }
  }
  model.attention.indexer = indexer;
}

void read_experts(HfFields& fields, ModelSpec& model) {
  if (fields.flag(HfFact::kMtpUsed).value_or(true)) {
    model.mtp_layers = fields.count(HfFact::kMtpLayers, kMtpLayers, 0);
  }
  if (!fields.says(HfFact::kExperts)) {
    return;
  }
  const MoeSpec moe = experts_of(fields);
  const auto rule = fields.choice<ExpertRule>(HfFact::kExpertsAt, kExpertRules, ExpertRule::kAll);
  if (moe.experts == 0 || (moe.experts == 1 && rule == ExpertRule::kIfSeveral)) {
    return;
  }
  const std::optional<LayerFlags> layers =
      fields.file().has("mlp_layer_types")
          ? listed_layers(fields, "mlp_layer_types", "sparse", "dense", model)
          : expert_layers(fields, rule, model);
  if (layers && fields.good({HfFact::kLayerCount, HfFact::kExpertsFrom, HfFact::kExpertsTo,
                             HfFact::kExpertsEvery, HfFact::kDenseLayers, HfFact::kExpertLayers})) {
    place_experts(fields, *layers, moe, model);
  }
}

void read_blocks(HfFields& fields, ModelSpec& model) {
  read_sizes(fields, model);
  read_attention(fields, model);
  read_norms(fields, model);
  read_positions(fields, model);
  read_experts(fields, model);
  fields.refuse_values();
}

}  // namespace stepcast
