// SPDX-License-Identifier: Apache-2.0
#include "frameworks/nemo_references.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frameworks/words.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kOpen = "${";
// The launcher's configuration holds the file under this key.
constexpr std::string_view kOfLauncher = "training.";
// Of references in references: a file that refers to itself ends there.
constexpr int kMostSteps = 64;

enum class Arithmetic { kMultiply, kSum, kDivideCeil, kDivideFloor };
struct Resolver {
  std::string_view theirs;
  Arithmetic does;
};
constexpr auto kResolvers = std::to_array<Resolver>({
    {"multiply", Arithmetic::kMultiply},
    {"sum", Arithmetic::kSum},
    {"divide_ceil", Arithmetic::kDivideCeil},
    {"divide_floor", Arithmetic::kDivideFloor},
});

std::optional<std::int64_t> computed(Arithmetic does, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (does) {
    case Arithmetic::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Arithmetic::kSum:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Arithmetic::kDivideCeil:
      return a < 0 || b <= 0 ? std::nullopt : std::optional(a / b + (a % b > 0 ? 1 : 0));
    case Arithmetic::kDivideFloor:
      return a < 0 || b <= 0 ? std::nullopt : std::optional(a / b);
  }
  return std::nullopt;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos
             ? std::string_view{}
             : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// "multiply:4, 4096" once nothing in it is a reference.
std::optional<std::string> resolved(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::size_t comma = text.find(',');
  if (colon == std::string_view::npos || comma == std::string_view::npos || comma < colon) {
    return std::nullopt;
  }
  const Resolver* const resolver = row_with(kResolvers, &Resolver::theirs, text.substr(0, colon));
  const auto number = [](std::string_view part) {
    return parse_count(std::string(without_blanks(part)));
  };
  const auto a = number(text.substr(colon + 1, comma - colon - 1));
  const auto b = number(text.substr(comma + 1));
  if (resolver == nullptr || !a || !b) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> result = computed(resolver->does, *a, *b);
  return result ? std::optional(std::to_string(*result)) : std::nullopt;
}

// The full names that ".a", "..a" and "training.a" of the key `of` may mean.
std::vector<std::string> names_meant(std::string_view name, std::string_view of) {
  if (!name.starts_with('.')) {
    const bool launcher = name.starts_with(kOfLauncher);
    return {std::string(name), std::string(launcher ? name.substr(kOfLauncher.size()) : name)};
  }
  while (name.starts_with('.')) {
    const std::size_t dot = of.rfind('.');
    of = of.substr(0, dot == std::string_view::npos ? 0 : dot);
    name.remove_prefix(1);
  }
  return {of.empty() ? std::string(name) : std::string(of) + "." + std::string(name)};
}

// The scalar that a reference means; null if no key is called so.
const Setting* meant(const std::vector<Setting>& settings, std::string_view name,
                     std::string_view of) {
  for (const std::string& full : names_meant(name, of)) {
    const auto found = std::find_if(settings.rbegin(), settings.rend(), [&](const Setting& one) {
      return one.name == full && one.value.kind == ConfigNode::Kind::kScalar;
    });
    if (found != settings.rend()) {
      return &*found;
    }
  }
  return nullptr;
}

// Replaces the innermost reference of a text by what it means; whether there was one that has a
// meaning.
bool step(const std::vector<Setting>& settings, Setting& setting) {
  std::string& text = setting.value.text;
  const std::size_t begin = text.rfind(kOpen);
  const std::size_t end = text.find('}', begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos) {
    return false;
  }
  const std::string inner = text.substr(begin + kOpen.size(), end - begin - kOpen.size());
  const bool whole = begin == 0 && end + 1 == text.size();
  if (const Setting* const other = meant(settings, inner, setting.name)) {
    const ConfigNode value = other->value;
    text.replace(begin, end + 1 - begin, value.text);
    setting.value.quoted = whole ? value.quoted : setting.value.quoted;
    return true;
  }
  const std::optional<std::string> result = resolved(inner);
  if (result) {
    text.replace(begin, end + 1 - begin, *result);
    setting.value.quoted = false;
  }
  return result.has_value();
}

}  // namespace

void settle_references(std::vector<Setting>& settings) {
  constexpr std::size_t kLongest = 4096;
  for (Setting& setting : settings) {
    if (setting.value.kind != ConfigNode::Kind::kScalar) {
      continue;
    }
    for (int i = 0; i < kMostSteps && setting.value.text.size() < kLongest; ++i) {
      if (!step(settings, setting)) {
        break;
      }
    }
  }
}

}  // namespace stepcast
