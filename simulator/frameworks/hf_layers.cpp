// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_layers.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "frameworks/hf_attention.hpp"
#include "frameworks/hf_fields.hpp"
#include "stepcast/graph/model_ranges.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kWidthStep = 256;  // DeciLM rounds widths up to it, OpenELM by its own key
constexpr Range<double> kMultiplier{0.0, 64.0};

std::vector<std::int64_t> counts_of(MappingReader& fields, std::string_view key,
                                    const ModelSpec& model) {
  std::vector<std::int64_t> counts = fields.optional_counts(key, kWidth);
  if (std::ssize(counts) != model.layers && fields.good({key, "num_transformer_layers"})) {
    fields.error(key, "has " + std::to_string(counts.size()) + " items for " +
                          std::to_string(model.layers) + " layers; give one for each layer");
  }
  return counts;
}

std::vector<double> multipliers_of(MappingReader& fields, std::string_view key,
                                   const ModelSpec& model) {
  std::vector<double> multipliers;
  const ConfigNode* list = fields.take_required(key);
  if (list == nullptr || list->kind != ConfigNode::Kind::kSequence ||
      std::ssize(list->items) != model.layers) {
    if (list != nullptr && fields.good({"num_transformer_layers"})) {
      fields.error(key, "must be a list of one number for each of " + std::to_string(model.layers) +
                            " layers");
    }
    return {};
  }
  for (const ConfigNode& item : list->items) {
    multipliers.push_back(fields.number(key, item, kMultiplier).value_or(1.0));
  }
  return multipliers;
}

// configuration_openelm.py, make_divisible: to the nearest multiple, but not down by over a tenth.
std::int64_t nearest_multiple(double value, std::int64_t step) {
  constexpr double kLeast = 0.9;
  const std::int64_t near =
      static_cast<std::int64_t>(value + static_cast<double>(step) / 2.0) / step * step;
  const std::int64_t multiple = std::max(step, near);
  return static_cast<double>(multiple) < kLeast * value ? multiple + step : multiple;
}

// What a layer of DeciLM is, as far as it differs.
struct DeciBlock {
  Mixer mixer = Mixer::kAttention;
  std::int64_t kv_heads = 0;
  std::int64_t ffn_hidden = 0;
};

class DeciReader {
 public:
  DeciReader(MappingReader& fields, const ModelSpec& model) : fields_(fields), model_(model) {}

  std::vector<DeciBlock> blocks() {
    const ConfigNode* list = fields_.take_required("block_configs");
    if (list == nullptr || list->kind != ConfigNode::Kind::kSequence ||
        std::ssize(list->items) != model_.layers) {
      if (list != nullptr && fields_.good({"num_hidden_layers"})) {
        fields_.error("block_configs", "must be a list of one block for each of " +
                                           std::to_string(model_.layers) + " layers");
      }
      return {};
    }
    std::vector<DeciBlock> blocks;
    for (const ConfigNode& item : list->items) {
      MappingReader block(item, RecordWording{"block"}, fields_.diagnostics());
      blocks.push_back(read(block));
    }
    return blocks;
  }

 private:
  DeciBlock read(MappingReader& block) {
    DeciBlock read;
    MappingReader attention = block.required_mapping("attention");
    if (left_out(attention)) {
      read.mixer = Mixer::kNone;
    } else {
      const std::int64_t group = attention.required_count("n_heads_in_group", kWidth);
      if (group > 0 && model_.attention.heads % group != 0) {
        attention.error("n_heads_in_group", "must divide the query heads (" +
                                                std::to_string(model_.attention.heads) + ")");
      }
      read.kv_heads =
          std::max<std::int64_t>(1, model_.attention.heads / std::max<std::int64_t>(1, group));
    }
    MappingReader mlp = block.required_mapping("ffn");
    if (!left_out(mlp)) {
      // modeling_decilm.py: two thirds of twice the multiple of the hidden size, rounded up.
      const double share = mlp.required_number("ffn_mult", kMultiplier);
      const auto width =
          static_cast<std::int64_t>(2.0 * share * static_cast<double>(model_.hidden) / 3.0);
      read.ffn_hidden = (width + kWidthStep - 1) / kWidthStep * kWidthStep;
    }
    return read;
  }

  // A linear layer in a block's place is another block.
  static bool left_out(MappingReader& block) {
    if (block.optional_flag("replace_with_linear").value_or(false)) {
      block.error("replace_with_linear",
                  "is true, but a model file has no form for a linear layer in a block's place");
    }
    return block.optional_flag("no_op").value_or(false);
  }

  MappingReader& fields_;
  const ModelSpec& model_;
};

}  // namespace

void import_openelm(MappingReader& fields, const ClassDefaults& /*defaults*/, ModelSpec& model) {
  AttentionSpec& attention = model.attention;
  model.hidden = fields.required_count("model_dim", kWidth);
  model.layers = fields.required_count("num_transformer_layers", kLayers);
  model.vocabulary = fields.required_count("vocab_size", kVocabularySize);
  model.tied_embeddings = fields.optional_flag("share_input_output_layers").value_or(true);
  model.mlp.gated = fields.optional_flag("ffn_with_glu").value_or(true);
  const bool normed = fields.optional_flag("normalize_qk_projections").value_or(false);
  attention.qk_norm = normed ? QkNorm::kHead : QkNorm::kNone;
  attention.qk_head_dim = fields.required_count("head_dim", kWidth);
  attention.v_head_dim = attention.qk_head_dim;
  const std::vector<std::int64_t> heads = counts_of(fields, "num_query_heads", model);
  const std::vector<std::int64_t> kv_heads = counts_of(fields, "num_kv_heads", model);
  const std::int64_t step = fields.required_count("ffn_dim_divisor", kWidth);
  std::vector<std::int64_t> widths;
  for (const double share : multipliers_of(fields, "ffn_multipliers", model)) {
    widths.push_back(nearest_multiple(share * static_cast<double>(model.hidden),
                                      std::max<std::int64_t>(1, step)));
  }
  if (heads.size() != kv_heads.size() || heads.empty() || widths.empty()) {
    return;
  }
  for (std::size_t layer = 0; layer < heads.size(); ++layer) {
    if (heads[layer] % kv_heads[layer] != 0) {
      return fields.error("num_kv_heads", "must divide 'num_query_heads', which in layer " +
                                              std::to_string(layer) + " it does not");
    }
  }
  attention.heads = LayerCounts(heads, model.layers);
  attention.kv_heads = LayerCounts(kv_heads, model.layers);
  model.mlp.ffn_hidden = LayerCounts(widths, model.layers);
}

void import_nemotron_nas(MappingReader& fields, const ClassDefaults& /*defaults*/,
                         ModelSpec& model) {
  model.hidden = fields.required_count("hidden_size", kWidth);
  model.layers = fields.required_count("num_hidden_layers", kLayers);
  model.vocabulary = fields.required_count("vocab_size", kVocabularySize);
  model.tied_embeddings = fields.optional_flag("tie_word_embeddings").value_or(false);
  model.attention.heads = fields.required_count("num_attention_heads", kWidth);
  read_attention_bias(fields, model);
  model.mlp.bias = fields.optional_flag("mlp_bias").value_or(false);
  const std::int64_t usual = model.hidden / std::max<std::int64_t>(1, model.attention.heads.same());
  model.attention.qk_head_dim = count_of(fields, "head_dim", {usual, usual}, kWidth);
  model.attention.v_head_dim = model.attention.qk_head_dim;
  std::vector<Mixer> mixers;
  std::vector<std::int64_t> kv_heads;
  std::vector<std::int64_t> widths;
  const std::vector<DeciBlock> blocks = DeciReader(fields, model).blocks();
  const auto first = std::find_if(blocks.begin(), blocks.end(), [](const DeciBlock& block) {
    return block.mixer == Mixer::kAttention;
  });
  // A layer without attention says no heads: those of a layer before it are as good.
  std::int64_t heads = first == blocks.end() ? model.attention.heads.same() : first->kv_heads;
  for (const DeciBlock& block : blocks) {
    heads = block.mixer == Mixer::kAttention ? block.kv_heads : heads;
    mixers.push_back(block.mixer);
    kv_heads.push_back(heads);
    widths.push_back(block.ffn_hidden);
  }
  if (mixers.empty()) {
    return;
  }
  model.mixers.pattern = shortest_pattern(mixers, model.layers);
  if (model.mixers.pattern == std::vector{Mixer::kAttention}) {
    model.mixers.pattern.clear();
  }
  model.attention.kv_heads = LayerCounts(kv_heads, model.layers);
  model.mlp.ffn_hidden = LayerCounts(widths, model.layers);
}

}  // namespace stepcast
