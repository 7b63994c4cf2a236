// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/software_span.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <limits>

#include "stepcast/base/ascii.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/config/told_name.hpp"
#include "stepcast/hardware/attention_support.hpp"

namespace stepcast {
namespace {

// "2026-01-27"
bool is_day(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-dd";
  return text.size() == kShape.size() &&
         std::equal(text.begin(), text.end(), kShape.begin(), [](char c, char shape) {
           return shape == 'd' ? ascii::is_digit(c) : c == '-';
         });
}

bool is_commit(std::string_view text) {
  return text.size() >= 7 && text.size() <= 40 && std::ranges::all_of(text, [](char c) {
           return ascii::is_digit(c) || (c >= 'a' && c <= 'f');
         });
}

std::string read_day(MappingReader& reader, std::string_view key) {
  std::string day = reader.optional_text(key);
  if (!day.empty() && !is_day(day)) {
    reader.error(key, "must be a day such as 2026-01-27, not '" + day.substr(0, 60) + "'");
  }
  return day;
}

int number_at(std::string_view day, std::size_t at, std::size_t digits) {
  int value = 0;
  for (const char c : day.substr(at, digits)) {
    value = value * 10 + (c - '0');
  }
  return value;
}

using Day = std::chrono::sys_days;

// Of a text that is one.
Day day_of(std::string_view text) {
  return std::chrono::year_month_day{
      std::chrono::year{number_at(text, 0, 4)},
      std::chrono::month{static_cast<unsigned>(number_at(text, 5, 2))},
      std::chrono::day{static_cast<unsigned>(number_at(text, 8, 2))}};
}

std::string text_of(std::chrono::year_month_day day) {
  const std::string month = std::to_string(static_cast<unsigned>(day.month()));
  const std::string of_month = std::to_string(static_cast<unsigned>(day.day()));
  return std::to_string(static_cast<int>(day.year())) + (month.size() < 2 ? "-0" : "-") + month +
         (of_month.size() < 2 ? "-0" : "-") + of_month;
}

// Days since 1970; of an end that is open, behind all others.
std::int64_t count_of(const std::string& day) {
  return is_day(day) ? day_of(day).time_since_epoch().count()
                     : std::numeric_limits<std::int32_t>::max();
}

// Days between a span and others that it does not meet.
std::int64_t gap(const SoftwareSpan& span, const DayRange& days) {
  const std::int64_t before = count_of(days.since) - count_of(span.until);
  const std::int64_t behind = count_of(span.since) - count_of(days.until);
  return std::max(before, behind);
}

// "memory.keeps_logits" in a set's file.
const ConfigNode* found_in(const ConfigNode& set, std::string_view path) {
  const ConfigNode* node = &set;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = node->find(std::string(path.substr(0, dot)));
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  return node;
}

SwitchEvidence read_one(MappingReader reader, const ConfigNode& set) {
  SwitchEvidence evidence;
  evidence.key = reader.required_text("switch");
  evidence.since = read_day(reader, "since");
  evidence.commit = reader.optional_text("commit");
  evidence.pytorch = reader.optional_text("pytorch");
  evidence.says = reader.required_text("says");
  if (!evidence.key.empty() && found_in(set, evidence.key) == nullptr) {
    reader.error("switch",
                 "names '" + evidence.key.substr(0, 60) + "', which the set does not say");
  }
  if (evidence.commit.empty() == evidence.pytorch.empty()) {
    reader.error("commit", "or pytorch has to say what the switch follows from, and not both");
  }
  if (!evidence.commit.empty() && (!is_commit(evidence.commit) || evidence.since.empty())) {
    reader.error("commit", "must be 7 to 40 hexadecimal digits, with its day as 'since'");
  }
  if (!evidence.pytorch.empty() && !parse_release(evidence.pytorch)) {
    reader.error("pytorch", "must be a release such as 2.9");
  }
  reader.finish();
  return evidence;
}

}  // namespace

SoftwareSpan read_span(MappingReader& reader) {
  SoftwareSpan span;
  span.family = reader.optional_text("family");
  span.since = read_day(reader, "since");
  span.until = read_day(reader, "until");
  if (span.family.empty() != span.since.empty()) {
    reader.error("family",
                 "and since belong together: a set of a family says from when on it holds");
  }
  if (!span.until.empty() && span.until <= span.since) {
    reader.error("until", "must be a day behind since");
  }
  return span;
}

std::vector<SwitchEvidence> read_evidence(MappingReader& reader, const ConfigNode& set) {
  std::vector<SwitchEvidence> list;
  const ConfigNode* written = reader.take("evidence");
  if (written == nullptr) {
    return list;
  }
  if (written->kind != ConfigNode::Kind::kSequence) {
    reader.error("evidence",
                 "must be a list of mappings: {switch, since, commit or pytorch, says}");
    return list;
  }
  list.reserve(written->items.size());
  for (const ConfigNode& item : written->items) {
    list.push_back(read_one(MappingReader(item, "evidence", reader.diagnostics()), set));
  }
  return list;
}

std::vector<SoftwareRelease> releases_of(std::string_view family, const DataRoot& data) {
  std::vector<SoftwareRelease> releases;
  for (const std::string& name : names_in(data.software())) {
    const std::filesystem::path file = data.software() / (name + ".yaml");
    const std::string written = read_file(file);
    if (written.find(family) == std::string::npos) {
      continue;  // of another family; parsing every set takes longer than the rest of an import
    }
    const ConfigNode root = parse_config(written, told_name(file));
    const ConfigNode* own = root.find("family");
    if (own == nullptr || own->text != family) {
      continue;
    }
    const auto text = [&root](const char* key) {
      const ConfigNode* node = root.find(key);
      return node == nullptr ? std::string{} : node->text;
    };
    releases.push_back({name, text("date"), {own->text, text("since"), text("until")}});
  }
  std::ranges::sort(releases, {}, [](const SoftwareRelease& set) { return set.span.since; });
  return releases;
}

std::optional<DayRange> days_named(std::string_view text) {
  const bool month = is_day(std::string(text) + "-01");
  if (!month && !is_day(text)) {
    return std::nullopt;
  }
  const std::string first = std::string(text) + (month ? "-01" : "");
  const std::chrono::year_month_day day{day_of(first)};
  if (text_of(day) != first) {
    return std::nullopt;  // the 31st of a short month
  }
  const std::chrono::year_month_day next{
      month ? Day{(day.year() / day.month() / 1) + std::chrono::months{1}}
            : day_of(first) + std::chrono::days{1}};
  return DayRange{first, text_of(next)};
}

bool holds_within(const SoftwareSpan& span, const DayRange& days) {
  const bool begins = days.until.empty() || span.since < days.until;
  return begins && (span.until.empty() || days.since < span.until);
}

const SoftwareRelease& release_for(const std::vector<SoftwareRelease>& releases,
                                   const DayRange& days) {
  const auto latest = std::find_if(
      releases.rbegin(), releases.rend(),
      [&](const SoftwareRelease& release) { return holds_within(release.span, days); });
  if (latest != releases.rend()) {
    return *latest;
  }
  return *std::ranges::min_element(
      releases, {}, [&](const SoftwareRelease& release) { return gap(release.span, days); });
}

}  // namespace stepcast
