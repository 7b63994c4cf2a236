// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_types.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "frameworks/setting.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/config/value_message.hpp"

namespace stepcast {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_KIND(enumerator, name, kind, null) HfKind::kind,
constexpr std::array kKinds = {STEPCAST_HF_FACTS(STEPCAST_KIND)};
#undef STEPCAST_KIND
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_NULL(enumerator, name, kind, null) std::string_view{null},
constexpr std::array kNulls = {STEPCAST_HF_FACTS(STEPCAST_NULL)};
#undef STEPCAST_NULL

std::optional<HfFact> fact_named(std::string_view name) {
  const auto* const at = std::ranges::find(kNamesOf<HfFact>, name);
  return at == kNamesOf<HfFact>.end()
             ? std::nullopt
             : std::optional(static_cast<HfFact>(at - kNamesOf<HfFact>.begin()));
}

std::optional<std::variant<std::int64_t, HfFact>> operand_of(std::string_view word, HfFact of) {
  std::int64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [after, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc{} && after == end) {
    return number;
  }
  const std::optional<HfFact> fact = fact_named(word);
  const bool above = fact && *fact < of && kind_of(*fact) == HfKind::kNumber;
  return above ? std::optional<std::variant<std::int64_t, HfFact>>(*fact) : std::nullopt;
}

std::optional<HfValue> value_of(const ConfigNode& node, HfFact fact) {
  switch (kind_of(fact)) {
    case HfKind::kNumber:
    case HfKind::kWhole:
      if (const auto expression = parse_hf_expression(node.text, fact)) {
        return HfValue(*expression);
      }
      return std::nullopt;
    case HfKind::kFlag: {
      const std::optional<bool> flag = flag_of(node);
      return flag ? std::optional(HfValue(*flag)) : std::nullopt;
    }
    case HfKind::kShare: {
      const ScannedNumber<double> share = scan_number(node, kFraction);
      return share.fault == NumberFault::kNone ? std::optional(HfValue(share.value)) : std::nullopt;
    }
    case HfKind::kWord:
      return HfValue(node.text);
    case HfKind::kList:
      return std::nullopt;
  }
  return std::nullopt;
}

class TypesReader {
 public:
  explicit TypesReader(const ConfigNode& root) : root_(root) {}

  HfTypes read() {
    MappingReader reader(root_, "", diagnostics_);
    types_.text_keys = reader.optional_texts("text_keys");
    types_.architectures = texts_of(reader, "architectures");
    types_.language_models = reader.optional_texts("language_models");
    types_.texts = texts_of(reader, "texts");
    types_.refused = texts_of(reader, "refused");
    if (const ConfigNode* usual = mapping_of(reader, "usual")) {
      MappingReader row(*usual, "usual", diagnostics_);
      read_facts(row, usual_);
      row.finish();
    }
    if (const ConfigNode* rows = mapping_of(reader, "types")) {
      for (const ConfigEntry& entry : rows->entries) {
        read_row(entry);
      }
    }
    reader.finish();
    for (const auto& [name, type] : types_.texts) {
      if (types_.find(type) == nullptr && !types_.refused.contains(type)) {
        reader.error("texts", "has '" + name + "' of the type '" + type + "', which has no row");
      }
    }
    diagnostics_.throw_if_any();
    return std::move(types_);
  }

 private:
  std::map<std::string, std::string> texts_of(MappingReader& reader, std::string_view key) {
    std::map<std::string, std::string> texts;
    if (const ConfigNode* mapping = mapping_of(reader, key)) {
      for (const ConfigEntry& entry : mapping->entries) {
        texts[entry.key] = entry.value.text;
      }
    }
    return texts;
  }

  const ConfigNode* mapping_of(MappingReader& reader, std::string_view key) {
    const ConfigNode* node = reader.take_required(key);
    if (node != nullptr && node->kind != ConfigNode::Kind::kMapping) {
      reader.error(key, "must be a mapping");
      return nullptr;
    }
    return node;
  }

  void read_row(const ConfigEntry& entry) {
    MappingReader row(entry.value, entry.key, diagnostics_);
    HfType type;
    type = usual_;
    if (const std::string like = row.optional_text("like"); !like.empty()) {
      if (const HfType* other = types_.find(like)) {
        type = *other;
      } else {
        row.error("like", "is '" + shown(like) + "', of which no row stands above");
      }
    }
    type.name = entry.key;
    type.source = row.optional_text("source", type.source);
    if (type.source.empty()) {
      row.error("source", "is needed: the class that was read, and its commit");
    }
    type.note = row.optional_text("note", type.note);
    read_facts(row, type);
    read_refusals(row, type);
    row.finish();
    types_.types.push_back(std::move(type));
  }

  void read_facts(MappingReader& row, HfType& type) {
    if (const ConfigNode* keys = row.take("keys")) {
      read_keys(*keys, type.keys);
    }
    if (const ConfigNode* values = row.take("values")) {
      read_values(*values, type.values);
    }
  }

  std::optional<HfFact> fact_of(const ConfigEntry& entry) {
    const std::optional<HfFact> fact = fact_named(entry.key);
    if (!fact) {
      std::vector<std::string> known(kNamesOf<HfFact>.begin(), kNamesOf<HfFact>.end());
      diagnostics_.error(entry.location(), "'" + shown(entry.key) + "' is no fact of a model" +
                                               did_you_mean(entry.key, known));
    }
    return fact;
  }

  static bool is_none(const ConfigNode& node) {
    return node.kind == ConfigNode::Kind::kScalar && node.text == "none";
  }

  // One key, or several that mean the same; or none.
  void read_keys(const ConfigNode& mapping, std::map<HfFact, std::vector<std::string>>& keys) {
    for (const ConfigEntry& entry : mapping.entries) {
      const std::optional<HfFact> fact = fact_of(entry);
      if (!fact) {
        continue;
      }
      std::vector<std::string>& list = keys[*fact];
      list.clear();
      if (entry.value.kind == ConfigNode::Kind::kScalar && !is_none(entry.value)) {
        list.push_back(entry.value.text);
      }
      for (const ConfigNode& item : entry.value.items) {
        list.push_back(item.text);
      }
    }
  }

  void read_values(const ConfigNode& mapping, std::map<HfFact, HfValue>& values) {
    for (const ConfigEntry& entry : mapping.entries) {
      const std::optional<HfFact> fact = fact_of(entry);
      if (!fact) {
        continue;
      }
      values.erase(*fact);
      if (is_none(entry.value)) {
        continue;
      }
      if (std::optional<HfValue> value = value_of(entry.value, *fact)) {
        values.emplace(*fact, std::move(*value));
      } else {
        diagnostics_.error(entry.location(), "'" + entry.key + "' cannot be '" +
                                                 shown(entry.value.text) +
                                                 "'; facts that it is computed of must stand "
                                                 "above it in the list of facts");
      }
    }
  }

  void read_refusals(MappingReader& row, HfType& type) {
    const ConfigNode* list = row.take("refuses");
    if (list == nullptr) {
      return;
    }
    type.refuses.clear();
    for (const ConfigNode& item : list->items) {
      MappingReader reader(item, type.name + ".refuses", diagnostics_);
      HfKeyRefusal refusal;
      refusal.key = reader.required_text("key");
      refusal.unless = reader.has("unless");
      refusal.value = scalar(reader, refusal.unless ? "unless" : "if");
      if (const ConfigNode* absent = reader.take("default")) {
        refusal.absent = absent->text;
      }
      refusal.because = reader.required_text("because");
      reader.finish();
      type.refuses.push_back(std::move(refusal));
    }
  }

  static std::string scalar(MappingReader& reader, std::string_view key) {
    const ConfigNode* value = reader.take_required(key);
    return value == nullptr ? std::string{} : value->text;
  }

  const ConfigNode& root_;
  Diagnostics diagnostics_;
  HfTypes types_;
  HfType usual_;  // what every row begins with
};

}  // namespace

HfKind kind_of(HfFact fact) { return kKinds.at(static_cast<std::size_t>(fact)); }

std::string_view null_of(HfFact fact) { return kNulls.at(static_cast<std::size_t>(fact)); }

std::optional<HfExpression> parse_hf_expression(std::string_view text, HfFact of) {
  HfExpression terms;
  bool operand = true;
  char join = '*';
  for (const std::string_view word : names_in(text)) {
    if (operand) {
      const auto value = operand_of(word, of);
      if (!value) {
        return std::nullopt;
      }
      terms.push_back({join, *value});
    } else if (word.size() == 1 &&
               std::string_view("+-*/").find(word[0]) != std::string_view::npos) {
      join = word[0];
    } else {
      return std::nullopt;
    }
    operand = !operand;
  }
  return operand ? std::nullopt : std::optional(terms);
}

const HfType* HfTypes::find(std::string_view name) const {
  const auto at = std::ranges::find(types, name, &HfType::name);
  return at == types.end() ? nullptr : &*at;
}

HfTypes load_hf_types(const std::filesystem::path& file) {
  const ConfigNode root = load_config(file);
  return TypesReader(root).read();
}

}  // namespace stepcast
