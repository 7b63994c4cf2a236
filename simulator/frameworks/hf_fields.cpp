// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_fields.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "stepcast/base/text_list.hpp"
#include "stepcast/config/value_message.hpp"

namespace stepcast {
namespace {

// What transformers writes of every model. It leaves them out of a model within another where they
// are the class's, as of the text model of one that sees.
constexpr std::array kSizes = {
    HfFact::kHidden,          HfFact::kLayerCount,     HfFact::kVocabulary, HfFact::kHeads,
    HfFact::kKvHeads,         HfFact::kHeadDim,        HfFact::kFfnHidden,  HfFact::kExperts,
    HfFact::kExpertsPerToken, HfFact::kExpertFfnHidden};

bool is_null(const ConfigNode& node) { return node.kind == ConfigNode::Kind::kNull; }

// Whether a count is computed of others.
bool is_derived(const HfValue& value) {
  return std::ranges::any_of(std::get<HfExpression>(value), [](const HfTerm& term) {
    return std::holds_alternative<HfFact>(term.operand);
  });
}

// Far beyond any size, and safe to multiply by another.
constexpr std::int64_t kMostComputed = std::int64_t{1} << 31;

std::int64_t joined(char join, std::int64_t left, std::int64_t right) {
  switch (join) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    default:
      return left * right;
  }
}

}  // namespace

HfFields::Place HfFields::place_of(const std::string& key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) {
    return {&file_, key, file_.node().find(key)};
  }
  const std::string outer = key.substr(0, dot);
  if (!mappings_.contains(outer)) {
    mappings_.emplace(outer, file_.optional_mapping(outer));
  }
  std::optional<MappingReader>& mapping = mappings_.find(outer)->second;
  if (!mapping) {
    return {&file_, outer, nullptr};
  }
  const std::string inner = key.substr(dot + 1);
  return {&*mapping, inner, mapping->node().find(inner)};
}

const std::vector<std::string>& HfFields::keys_of(HfFact fact) const {
  static const std::vector<std::string> kNone;
  const auto at = type_.keys.find(fact);
  return at == type_.keys.end() ? kNone : at->second;
}

const HfValue* HfFields::value_of(HfFact fact) const {
  const auto at = type_.values.find(fact);
  return at == type_.values.end() ? nullptr : &at->second;
}

std::vector<HfFields::Place> HfFields::given_places(HfFact fact) {
  std::vector<Place> places;
  for (const std::string& key : keys_of(fact)) {
    if (Place place = place_of(key); place.node != nullptr) {
      places.push_back(std::move(place));
    }
  }
  return places;
}

bool HfFields::given(HfFact fact) { return !given_places(fact).empty(); }

bool HfFields::says(HfFact fact) const {
  return value_of(fact) != nullptr || !keys_of(fact).empty();
}

std::string HfFields::key(HfFact fact) {
  const std::vector<std::string>& keys = keys_of(fact);
  const auto at = std::ranges::find_if(
      keys, [&](const std::string& key) { return place_of(key).node != nullptr; });
  if (at != keys.end()) {
    return *at;
  }
  return keys.empty() ? std::string(name(fact)) : keys.front();
}

void HfFields::error(HfFact fact, const std::string& message) {
  const Place place = place_of(key(fact));
  place.reader->error(place.key, message);
}

bool HfFields::good(std::initializer_list<HfFact> facts) {
  return std::ranges::all_of(facts, [&](HfFact fact) {
    return std::ranges::all_of(keys_of(fact), [&](const std::string& key) {
      const Place place = place_of(key);
      return place.reader->good({place.key});
    });
  });
}

std::int64_t HfFields::count(HfFact fact, Range<std::int64_t> range,
                             std::optional<std::int64_t> otherwise) {
  const auto known = counts_.find(fact);
  if (known != counts_.end()) {
    return known->second;
  }
  const std::int64_t value = read_count(fact, range, otherwise);
  counts_.emplace(fact, value);
  return value;
}

std::int64_t HfFields::read_count(HfFact fact, Range<std::int64_t> range,
                                  std::optional<std::int64_t> otherwise) {
  const std::vector<Place> places = given_places(fact);
  if (places.empty()) {
    const HfValue* value = value_of(fact);
    const std::string usual = key(fact);
    const bool size = std::ranges::find(kSizes, fact) != kSizes.end();
    if (value == nullptr && otherwise) {
      return *otherwise;
    }
    if (value == nullptr) {
      return missing_count(fact, range);
    }
    if (!keys_of(fact).empty()) {
      const Place absent = place_of(usual);
      absent.reader->take(absent.key);  // a key that is spelt nearly so may be meant
    }
    const std::int64_t number = computed(std::get<HfExpression>(*value), fact, range);
    if (size && number > 0 && !keys_of(fact).empty() && !is_derived(*value)) {
      of_class_.push_back(usual + " " + std::to_string(number));
    }
    return number;
  }
  const std::int64_t first = count_at(places.front(), fact, range);
  for (std::size_t i = 1; i < places.size(); ++i) {
    const std::int64_t next = count_at(places[i], fact, range);
    if (next != first && places[i].reader->good({places[i].key}) &&
        places[0].reader->good({places[0].key})) {
      places[i].reader->error(places[i].key, "is " + std::to_string(next) + ", but '" +
                                                 places[0].key + "' is " + std::to_string(first) +
                                                 "; they mean the same, so keep one of them");
    }
  }
  return first;
}

std::int64_t HfFields::count_at(const Place& place, HfFact fact, Range<std::int64_t> range) {
  if (is_null(*place.node)) {
    if (const std::optional<std::int64_t> none = null_count(fact, range)) {
      place.reader->take(place.key);
      return *none;
    }
  }
  if (place.node->kind == ConfigNode::Kind::kSequence && place.node->items.size() > 1) {
    const std::vector<std::int64_t> all = place.reader->optional_counts(place.key, range);
    if (std::ranges::any_of(all, [&](std::int64_t item) { return item != all.front(); })) {
      place.reader->error(place.key, "differs by layer, for which a model file has no form");
    }
    return all.empty() ? range.lowest : all.front();
  }
  return place.reader->required_count(place.key, range);
}

std::optional<std::int64_t> HfFields::null_count(HfFact fact, Range<std::int64_t> range) {
  if (const HfValue* value = value_of(fact); value != nullptr && is_derived(*value)) {
    return computed(std::get<HfExpression>(*value), fact, range);
  }
  const std::optional<HfExpression> null = parse_hf_expression(null_of(fact), fact);
  return null ? std::optional(computed(*null, fact, {0, range.highest})) : std::nullopt;
}

std::int64_t HfFields::missing_count(HfFact fact, Range<std::int64_t> range) {
  const Place place = place_of(key(fact));
  return place.reader->required_count(place.key, range);
}

std::int64_t HfFields::operand(const HfTerm& term) {
  if (const auto* number = std::get_if<std::int64_t>(&term.operand)) {
    return *number;
  }
  return count(std::get<HfFact>(term.operand), kWidthOrNone);
}

std::int64_t HfFields::quotient(const HfExpression& expression, std::int64_t value,
                                std::int64_t divisor, HfFact fact) {
  divisor = std::max<std::int64_t>(1, divisor);
  const auto* of = std::get_if<HfFact>(&expression.front().operand);
  const auto* by = std::get_if<HfFact>(&expression.back().operand);
  if (value % divisor != 0 && of != nullptr && good({*of}) && (by == nullptr || good({*by}))) {
    const std::string multiple = by == nullptr
                                     ? std::to_string(divisor)
                                     : "'" + key(*by) + "' (" + std::to_string(divisor) + ")";
    const bool has_key = !keys_of(fact).empty();
    error(*of, "(" + std::to_string(value) + ") is no multiple of " + multiple +
                   (has_key ? "; give '" + key(fact) + "' as well" : ""));
  }
  return value / divisor;
}

std::int64_t HfFields::computed(const HfExpression& expression, HfFact fact,
                                Range<std::int64_t> range) {
  std::int64_t value = 1;
  for (const HfTerm& term : expression) {
    const std::int64_t next = operand(term);
    value =
        term.join == '/' ? quotient(expression, value, next, fact) : joined(term.join, value, next);
    value = std::clamp(value, -kMostComputed, kMostComputed);
  }
  if (value < range.lowest || value > range.highest) {
    if (file_.diagnostics().entries().empty()) {
      error(fact, "is then " + std::to_string(value) + ", and must lie within " +
                      std::to_string(range.lowest) + " and " + std::to_string(range.highest));
    }
    return std::clamp(value, range.lowest, range.highest);
  }
  return value;
}

std::optional<bool> HfFields::flag(HfFact fact) {
  const HfValue* value = value_of(fact);
  std::optional<bool> flag =
      value == nullptr ? std::nullopt : std::optional(std::get<bool>(*value));
  for (const Place& place : given_places(fact)) {
    const std::optional<bool> given = place.reader->optional_flag(place.key);
    flag = given ? given : flag;
  }
  return flag;
}

double HfFields::share(HfFact fact, double otherwise) {
  constexpr Range<double> kShare{1e-3, 1.0};
  const HfValue* value = value_of(fact);
  double share = value == nullptr ? otherwise : std::get<double>(*value);
  for (const Place& place : given_places(fact)) {
    share = place.reader->optional_number(place.key, share, kShare);
  }
  return share;
}

std::string HfFields::word(HfFact fact) {
  const HfValue* value = value_of(fact);
  std::string word = value == nullptr ? std::string{} : std::get<std::string>(*value);
  for (const Place& place : given_places(fact)) {
    word = place.reader->optional_text(place.key, word);
  }
  return word;
}

void HfFields::refuse_word(HfFact fact, const std::string& word,
                           const std::vector<std::string>& names) {
  error(fact, "is '" + shown(word) + "'; supported are " + text_list(names, " and "));
}

std::vector<std::int64_t> HfFields::list(HfFact fact, Range<std::int64_t> range) {
  std::vector<std::int64_t> list;
  for (const Place& place : given_places(fact)) {
    list = place.reader->optional_counts(place.key, range);
  }
  return list;
}

bool HfFields::refuses(const HfKeyRefusal& refusal, const std::string& value) {
  const auto* const fact = std::ranges::find(kNamesOf<HfFact>, refusal.value);
  const bool same =
      fact == kNamesOf<HfFact>.end()
          ? value == refusal.value
          : value ==
                std::to_string(count(static_cast<HfFact>(fact - kNamesOf<HfFact>.begin()), kWidth));
  return same != refusal.unless;
}

void HfFields::refuse_values() {
  for (const HfKeyRefusal& refusal : type_.refuses) {
    const Place place = place_of(refusal.key);
    const bool absent = place.node == nullptr;
    if (absent ? refusal.absent.empty() : is_null(*place.node)) {
      continue;
    }
    place.reader->take(place.key);
    if (absent && refuses(refusal, refusal.absent)) {
      place.reader->error(
          place.key, "is not there, which means " + refusal.absent + ", but " + refusal.because);
    } else if (!absent && refuses(refusal, place.node->text)) {
      place.reader->error(place.key, "is " + shown(*place.node) + ", but " + refusal.because);
    }
  }
}

}  // namespace stepcast
