// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/mixer_spec.hpp"

#include <algorithm>
#include <string>

#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/settings.hpp"
#include "stepcast/model/model_ranges.hpp"

namespace stepcast {
namespace {

template <typename Settings>
void convolution_settings(Settings& convolution) {
  convolution.count("width", &ConvolutionSpec::width, kWidth);
  convolution.flag("bias", &ConvolutionSpec::bias);
}

template <typename Settings>
void linear_settings(Settings& linear) {
  linear.template choice<DeltaRule>("rule", &LinearAttentionSpec::rule, enum_names<DeltaRule>());
  linear.count("heads", &LinearAttentionSpec::heads, kWidth);
  linear.count("qk_heads", &LinearAttentionSpec::qk_heads, kWidth);
  linear.count("qk_head_dim", &LinearAttentionSpec::qk_head_dim, kWidth);
  linear.count("v_head_dim", &LinearAttentionSpec::v_head_dim, kWidth);
  linear.count("convolution_width", &LinearAttentionSpec::convolution_width, kWidth);
  linear.count("gate_rank", &LinearAttentionSpec::gate_rank, kWidthOrNone);
  linear.count("chunk", &LinearAttentionSpec::chunk, kWidth);
}

void need(const MappingReader& reader, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (!reader.has(key)) {
      reader.diagnostics().error(reader.location(),
                                 "'" + reader.path_of(key) + "' is missing; give it");
    }
  }
}

ConvolutionSpec read_convolution(MappingReader reader) {
  ConvolutionSpec convolution;
  need(reader, {"width"});
  SettingReader settings(reader, convolution);
  convolution_settings(settings);
  reader.finish();
  return convolution;
}

LinearAttentionSpec read_linear_attention(MappingReader reader) {
  LinearAttentionSpec linear;
  need(reader, {"heads", "qk_heads", "qk_head_dim", "v_head_dim", "convolution_width"});
  SettingReader settings(reader, linear);
  linear_settings(settings);
  if (reader.good({"heads", "qk_heads"}) && linear.qk_heads > 0 &&
      linear.heads % linear.qk_heads != 0) {
    reader.error("qk_heads", "must divide 'heads' (" + std::to_string(linear.heads) + ")");
  }
  reader.finish();
  return linear;
}

std::vector<Mixer> read_pattern(MappingReader& reader, std::int64_t layers) {
  std::vector<Mixer> pattern;
  const ConfigNode* list = reader.take("mixers");
  if (list != nullptr && list->kind != ConfigNode::Kind::kSequence) {
    reader.error("mixers", "must be a list of attention, convolution, linear_attention and none");
    return {};
  }
  for (const ConfigNode& item : list == nullptr ? std::vector<ConfigNode>{} : list->items) {
    const std::optional<Mixer> mixer = reader.choice<Mixer>("mixers", item, enum_names<Mixer>());
    if (!mixer) {
      return {};
    }
    pattern.push_back(*mixer);
  }
  if (std::ssize(pattern) > layers && reader.good({"layers"})) {
    reader.error("mixers", "has " + std::to_string(pattern.size()) + " items for " +
                               std::to_string(layers) + " layers; give one of each at most");
  }
  return pattern;
}

// Of what a layer has it must be said what it is, and of nothing else.
void check_described(const MappingReader& reader, const MixerSpec& mixers, Mixer mixer) {
  const std::string key(name(mixer));
  if (mixers.has(mixer) && !reader.has(key)) {
    reader.error("mixers", "has " + key + ", so '" + key + "' must be given");
  } else if (!mixers.has(mixer) && reader.has(key) && reader.good({"mixers"})) {
    reader.error(key, "describes what no layer of 'mixers' is; leave it out, or name its layers");
  }
}

}  // namespace

bool MixerSpec::has(Mixer mixer) const {
  return std::find(pattern.begin(), pattern.end(), mixer) != pattern.end();
}

MixerSpec read_mixers(MappingReader& reader, std::int64_t layers) {
  MixerSpec mixers;
  mixers.pattern = shortest_pattern(read_pattern(reader, layers), layers);
  if (auto mapping = reader.optional_mapping("convolution")) {
    mixers.convolution = read_convolution(std::move(*mapping));
  }
  if (auto mapping = reader.optional_mapping("linear_attention")) {
    mixers.linear_attention = read_linear_attention(std::move(*mapping));
  }
  check_described(reader, mixers, Mixer::kConvolution);
  check_described(reader, mixers, Mixer::kLinearAttention);
  return mixers;
}

void write_mixers(const MixerSpec& mixers, ConfigWriter& writer) {
  if (mixers.pattern.empty()) {
    return;
  }
  std::vector<std::string> names;
  for (const Mixer mixer : mixers.pattern) {
    names.emplace_back(name(mixer));
  }
  writer.field("mixers", list_node(names));
  if (mixers.convolution) {
    ConfigWriter mapping;
    const ConvolutionSpec base;
    SettingWriter settings(mapping, *mixers.convolution, base);
    convolution_settings(settings);
    writer.field("convolution", mapping.take());
  }
  if (mixers.linear_attention) {
    ConfigWriter mapping;
    const LinearAttentionSpec base;
    SettingWriter settings(mapping, *mixers.linear_attention, base);
    linear_settings(settings);
    writer.field("linear_attention", mapping.take());
  }
}

}  // namespace stepcast
