// SPDX-License-Identifier: Apache-2.0
#include "frameworks/setting_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast {
namespace {

constexpr Range<std::int64_t> kAnyWhole{std::numeric_limits<std::int64_t>::min(),
                                        std::numeric_limits<std::int64_t>::max()};
constexpr Range<double> kAnyNumber{std::numeric_limits<double>::lowest(),
                                   std::numeric_limits<double>::max()};

// The words that stand for nothing in the files of frameworks.
bool is_nothing(const ConfigNode& value) {
  constexpr std::array<std::string_view, 4> kWords = {"None", "null", "~", ""};
  return value.kind == ConfigNode::Kind::kNull ||
         (value.kind == ConfigNode::Kind::kScalar &&
          std::find(kWords.begin(), kWords.end(), value.text) != kWords.end());
}

// "True" of Python, "1" of shells and "true" of YAML.
std::optional<bool> truth_of(const std::string& text) {
  if (text == "true" || text == "True" || text == "1") {
    return true;
  }
  if (text == "false" || text == "False" || text == "0") {
    return false;
  }
  return std::nullopt;
}

// A number whatever its quotes: shells and YAML of frameworks put them around anything.
ConfigNode unquoted(ConfigNode value) {
  value.quoted = false;
  return value;
}

template <typename T>
std::optional<T> good_number(const ScannedNumber<T>& scanned) {
  return scanned.fault == NumberFault::kNone ? std::optional(scanned.value) : std::nullopt;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> items(1);
  for (const char c : text) {
    const bool between = c == ',' || c == ' ' || c == '[' || c == ']' || c == '"' || c == '\'';
    if (!between) {
      items.back() += c;
    } else if (!items.back().empty()) {
      items.emplace_back();
    }
  }
  if (items.back().empty()) {
    items.pop_back();
  }
  return items;
}

std::string written(const ConfigNode& value) {
  return value.kind == ConfigNode::Kind::kScalar ? value.text : to_flow_yaml(value);
}

// "0.0" is 0, "True" is true.
bool says_same(const ConfigNode& value, const std::string& text) {
  ConfigNode other = value;
  other.text = text;
  const auto number = good_number(scan_number(unquoted(value), kAnyNumber));
  const auto wanted = good_number(scan_number(unquoted(other), kAnyNumber));
  const std::optional<bool> truth = truth_of(value.text);
  return value.text == text || (number && number == wanted) || (truth && truth == truth_of(text));
}

}  // namespace

std::size_t count_of(const std::vector<ImportRemark>& remarks, ImportOutcome outcome) {
  return static_cast<std::size_t>(
      std::count_if(remarks.begin(), remarks.end(),
                    [outcome](const ImportRemark& remark) { return remark.outcome == outcome; }));
}

FrameworkReader::FrameworkReader(std::vector<Setting> settings, Diagnostics& diagnostics)
    : diagnostics_(&diagnostics) {
  for (Setting& setting : settings) {
    if (const std::size_t same = place_of(setting.name); same < settings_.size()) {
      settings_[same].setting = std::move(setting);
    } else {
      settings_.push_back({std::move(setting)});
    }
  }
}

void FrameworkReader::add_defaults(std::vector<Setting> settings) {
  for (Setting& setting : settings) {
    if (place_of(setting.name) == settings_.size()) {
      settings_.push_back({std::move(setting), true});
    }
  }
}

std::size_t FrameworkReader::place_of(std::string_view name) const {
  const auto found = std::find_if(settings_.begin(), settings_.end(),
                                  [name](const Held& held) { return held.setting.name == name; });
  return static_cast<std::size_t>(found - settings_.begin());
}

bool FrameworkReader::has(std::string_view name) const {
  const std::size_t at = place_of(name);
  return at < settings_.size() && !is_nothing(settings_[at].setting.value);
}

Location FrameworkReader::location(std::string_view name) const {
  const std::size_t at = place_of(name);
  return at < settings_.size() ? settings_[at].setting.value.location() : Location{};
}

void FrameworkReader::error(std::string_view name, std::string message) const {
  const bool absent = place_of(name) == settings_.size();
  diagnostics_->error(absent ? Location{file_, 0, 0} : location(name),
                      "'" + std::string(name) + "' " + std::move(message));
}

void FrameworkReader::add(ImportOutcome outcome, const Setting& setting, std::string_view ours,
                          std::string_view note) {
  remarks_.push_back({outcome, setting.name, written(setting.value), std::string(ours),
                      std::string(note), setting.value.location()});
}

const Setting* FrameworkReader::take(std::string_view name, std::string_view ours) {
  asked_.emplace_back(name);
  const std::size_t at = place_of(name);
  if (at == settings_.size()) {
    return nullptr;
  }
  const Setting& setting = settings_[at].setting;
  if (!std::exchange(settings_[at].asked, true)) {
    add(ImportOutcome::kCarried, setting, ours, {});
  }
  return is_nothing(setting.value) ? nullptr : &setting;
}

void FrameworkReader::refuse(const Setting& setting, const std::string& expected) const {
  const std::string remedy =
      file_.empty() ? std::string{} : "; give " + setting.name + "=VALUE behind the file";
  diagnostics_->error(setting.value.location(), "'" + setting.name + "' must be " + expected +
                                                    ", not '" + written(setting.value) + "'" +
                                                    remedy);
}

template <typename Read>
auto FrameworkReader::value_as(std::string_view name, std::string_view ours, const char* expected,
                               Read read) -> decltype(read(ConfigNode{})) {
  const Setting* const setting = take(name, ours);
  if (setting == nullptr) {
    return std::nullopt;
  }
  auto value = read(setting->value);
  if (!value) {
    refuse(*setting, expected);
  }
  return value;
}

std::string FrameworkReader::peek(std::string_view name) const {
  const std::size_t at = place_of(name);
  return at < settings_.size() ? settings_[at].setting.value.text : std::string{};
}

std::optional<std::int64_t> FrameworkReader::count(std::string_view name, std::string_view ours) {
  return value_as(name, ours, "a whole number", [](const ConfigNode& value) {
    return good_number(scan_whole(unquoted(value), kAnyWhole));
  });
}

std::optional<double> FrameworkReader::number(std::string_view name, std::string_view ours) {
  return value_as(name, ours, "a number", [](const ConfigNode& value) {
    return good_number(scan_number(unquoted(value), kAnyNumber));
  });
}

std::optional<double> FrameworkReader::share(std::string_view name, std::string_view ours) {
  const std::optional<double> value = number(name, ours);
  if (value && (*value < 0.0 || *value > 1.0)) {
    error(name, "is " + shortest_text(*value) + "; give a share from 0 to 1");
    return std::nullopt;
  }
  return value;
}

std::optional<bool> FrameworkReader::flag(std::string_view name, std::string_view ours) {
  if (const std::size_t at = place_of(name); at < settings_.size()) {
    settings_[at].is_switch = true;
  }
  return value_as(name, ours, "true or false", [](const ConfigNode& value) {
    return value.kind == ConfigNode::Kind::kScalar ? truth_of(value.text) : std::nullopt;
  });
}

std::optional<std::string> FrameworkReader::text(std::string_view name, std::string_view ours) {
  return value_as(name, ours, "a text", [](const ConfigNode& value) {
    return value.kind == ConfigNode::Kind::kScalar ? std::optional(value.text) : std::nullopt;
  });
}

std::optional<std::string> FrameworkReader::as_written(std::string_view name,
                                                       std::string_view ours) {
  const Setting* setting = take(name, ours);
  return setting == nullptr ? std::nullopt : std::optional(written(setting->value));
}

std::optional<std::vector<std::string>> FrameworkReader::texts(std::string_view name,
                                                               std::string_view ours) {
  const Setting* setting = take(name, ours);
  if (setting == nullptr) {
    return std::nullopt;
  }
  if (setting->value.kind == ConfigNode::Kind::kScalar) {
    return split(setting->value.text);
  }
  std::vector<std::string> items;
  for (const ConfigNode& item : setting->value.items) {
    items.push_back(written(item));
  }
  return items;
}

void FrameworkReader::take_default(std::string_view name, std::string_view ours,
                                   std::string fallback) {
  if (!has(name)) {
    asked_.emplace_back(name);
    remarks_.push_back({ImportOutcome::kDefaulted,
                        std::string(name),
                        std::move(fallback),
                        std::string(ours),
                        {},
                        {}});
  }
}

std::int64_t FrameworkReader::count_or(std::string_view name, std::string_view ours,
                                       std::int64_t fallback) {
  take_default(name, ours, std::to_string(fallback));
  return count(name, ours).value_or(fallback);
}

std::string FrameworkReader::text_or(std::string_view name, std::string_view ours,
                                     std::string_view fallback) {
  take_default(name, ours, std::string(fallback));
  return text(name, ours).value_or(std::string(fallback));
}

bool FrameworkReader::is_on(std::string_view name, std::string_view ours) {
  return flag(name, ours).value_or(false);
}

bool FrameworkReader::is_off(std::string_view name, std::string_view ours) {
  const std::size_t at = place_of(name);
  const bool off = at < settings_.size() && truth_of(settings_[at].setting.value.text) == false;
  return off && !flag(name, ours).value_or(true);
}

void FrameworkReader::without_effect(std::string_view names) {
  const std::vector<std::string_view> all = names_in(names);
  without_effect([&all](std::string_view given) {
    return std::any_of(all.begin(), all.end(),
                       [given](std::string_view listed) { return stands_for(listed, given); });
  });
}

void FrameworkReader::without_effect(const SettingNames& are_meant) {
  for (Held& held : settings_) {
    const Setting& setting = held.setting;
    if (!held.asked && are_meant(setting.name)) {
      held.asked = true;
      add(ImportOutcome::kWithoutEffect, setting, {}, {});
    }
  }
}

bool FrameworkReader::refuse_rest(const SettingNames& are_meant, std::string_view usual,
                                  const std::string& why) {
  bool refuses = false;
  for (Held& held : settings_) {
    const Setting& setting = held.setting;
    if (held.asked || !are_meant(setting.name)) {
      continue;
    }
    held.asked = true;
    if (is_nothing(setting.value) || says_same(setting.value, std::string(usual))) {
      add(ImportOutcome::kWithoutEffect, setting, {}, {});
      continue;
    }
    if (!std::exchange(refuses, true) && !why.empty()) {
      error(setting.name, why);
    }
  }
  return refuses;
}

void FrameworkReader::also_known(std::string_view names) {
  for (const std::string_view name : names_in(names)) {
    if (!name.ends_with('*')) {
      asked_.emplace_back(name);
    }
  }
}

void FrameworkReader::leave_out_map(std::string_view name, std::string_view meaning) {
  const std::string prefix = std::string(name) + ".";
  bool told = false;
  for (Held& held : settings_) {
    if (!held.asked && held.setting.name.starts_with(prefix)) {
      held.asked = true;
      const bool first = !std::exchange(told, true);
      add(first ? ImportOutcome::kNotCarried : ImportOutcome::kWithoutEffect, held.setting, {},
          first ? meaning : std::string_view{});
    }
  }
}

void FrameworkReader::not_carried(std::string_view name, std::string_view meaning,
                                  std::string_view neutral, std::optional<MemoryPart> saves) {
  leave_out_map(name, meaning);
  const std::size_t before = remarks_.size();
  const Setting* setting = take(name, {});
  if (setting == nullptr || remarks_.size() == before) {
    return;
  }
  ImportRemark& remark = remarks_.back();
  const bool is_neutral = says_same(setting->value, std::string(neutral));
  remark.outcome = is_neutral ? ImportOutcome::kWithoutEffect : ImportOutcome::kNotCarried;
  remark.note = is_neutral ? std::string{} : std::string(meaning);
  remark.saves = is_neutral ? std::nullopt : saves;
}

void FrameworkReader::not_carried(std::span<const UnpricedKey> keys) {
  for (const UnpricedKey& key : keys) {
    not_carried(key.name, key.meaning, key.neutral, key.saves);
  }
}

void FrameworkReader::leave_out(std::string_view name, std::string value, std::string note) {
  remarks_.push_back({ImportOutcome::kNotCarried,
                      std::string(name),
                      std::move(value),
                      {},
                      std::move(note),
                      location(name)});
}

void FrameworkReader::assume(std::string ours, std::string value, std::string note) {
  remarks_.push_back(
      {ImportOutcome::kAssumed, {}, std::move(value), std::move(ours), std::move(note), {}});
}

FrameworkReader::DoubtWeight FrameworkReader::weight_of(const SettingDoubt& doubt) const {
  if (doubt.name.empty()) {
    return doubt.usually_nothing ? DoubtWeight::kRemark : DoubtWeight::kError;
  }
  const auto remark = std::find_if(remarks_.begin(), remarks_.end(),
                                   [&](const ImportRemark& one) { return one.name == doubt.name; });
  const bool is_read = std::find(asked_.begin(), asked_.end(), doubt.name) != asked_.end();
  const bool has_effect =
      remark == remarks_.end() ? is_read : remark->outcome != ImportOutcome::kWithoutEffect;
  const std::size_t at = place_of(doubt.name);
  const bool is_switch = at < settings_.size() && settings_[at].is_switch;
  return !has_effect                          ? DoubtWeight::kNone
         : doubt.of == DoubtOf::kAssumed      ? DoubtWeight::kRemark
         : is_switch && doubt.usually_nothing ? DoubtWeight::kRemark
                                              : DoubtWeight::kError;
}

// One problem or remark of each cause, with all keys that hang on it.
std::vector<FrameworkReader::Told> FrameworkReader::told_doubts() const {
  std::vector<Told> all;
  for (const SettingDoubt& doubt : doubts_) {
    const DoubtWeight weight = weight_of(doubt);
    if (weight == DoubtWeight::kNone) {
      continue;
    }
    auto told = std::find_if(all.begin(), all.end(), [&](const Told& one) {
      return one.doubt.cause == doubt.cause && one.doubt.where.line == doubt.where.line;
    });
    told = told == all.end() ? all.insert(told, Told{doubt, {}, weight}) : told;
    told->weight = std::max(told->weight, weight);
    const bool is_new =
        std::find(told->names.begin(), told->names.end(), doubt.name) == told->names.end();
    if (is_new && !doubt.name.empty()) {
      told->names.push_back(doubt.name);
    }
  }
  return all;
}

void FrameworkReader::settle_doubts(UnknownSettings unknown) {
  Diagnostics refused;
  for (const Told& told : told_doubts()) {
    const std::string names =
        told.names.empty() ? "more arguments" : text_list(told.names, ", ").substr(0, 200);
    if (told.weight == DoubtWeight::kError && unknown == UnknownSettings::kRefused) {
      refused.error(told.doubt.where, told.doubt.cause + ", and decides " + names + "; " +
                                          told.doubt.remedy +
                                          "; with --lenient it is taken for nothing");
    } else {
      remarks_.push_back({ImportOutcome::kAssumed,
                          {},
                          "as if nobody said anything",
                          names,
                          told.doubt.cause + " (line " + std::to_string(told.doubt.where.line) +
                              "); " + told.doubt.remedy,
                          told.doubt.where});
    }
  }
  refused.throw_if_any();
}

void FrameworkReader::finish(UnknownSettings unknown) {
  settle_doubts(unknown);
  for (Held& held : settings_) {
    if (held.asked) {
      continue;
    }
    held.asked = true;
    const Setting& setting = held.setting;
    const std::string near = did_you_mean(setting.name, asked_);
    if (unknown == UnknownSettings::kRefused) {
      diagnostics_->error(setting.value.location(),
                          "'" + setting.name + "' is not known here" + near +
                              (near.empty() ? "; with --lenient it is listed and left out" : ""));
      continue;
    }
    add(ImportOutcome::kNotCarried, setting, {},
        "not known here; what it changes is not predicted");
  }
}

std::vector<ImportRemark> FrameworkReader::take_remarks() {
  std::stable_sort(
      remarks_.begin(), remarks_.end(), [](const ImportRemark& a, const ImportRemark& b) {
        const auto place = [](const ImportRemark& remark) {
          return remark.where.line == 0 ? std::numeric_limits<int>::max() : remark.where.line;
        };
        return place(a) < place(b);
      });
  return std::exchange(remarks_, {});
}

}  // namespace stepcast
