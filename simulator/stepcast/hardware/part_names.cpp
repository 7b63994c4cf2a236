// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/part_names.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

using Words = std::vector<std::string>;

// What programs find of a part's memory: drivers and error correction keep up to 7 % of it.
constexpr double kLeastOfMemory = 0.92;
constexpr double kMostOfMemory = 1.01;

constexpr std::array<std::string_view, 9> kOfAnyPart = {
    "gpu",         "gpus",         "tensor",  "core", "instinct",
    "accelerator", "accelerators", "sramecc", "xnack"};  // the last two beside "gfx942" of LLVM

bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, ascii::is_digit);
}

bool has_digit(std::string_view word) { return std::ranges::any_of(word, ascii::is_digit); }

// Takes how many there are of what is counted out of a word: "8xh100" and "h100x8" are "h100". What
// is left of a part's name has digits, so that "48xlarge" stays. Of two numbers, "6000x8" behind
// other words, the first is of the name; "0x2331" is one number.
std::string without_count(const std::string& word, const Words& before) {
  const std::size_t first = std::min(word.find_first_not_of("0123456789"), word.size());
  if (first > 0 && word.substr(first).starts_with('x')) {
    std::string rest = word.substr(first + 1);
    if (has_digit(rest) && (before.empty() || !is_number(rest) || word.starts_with("0x"))) {
      return rest;
    }
  }
  const std::size_t last = word.find_last_not_of("0123456789");
  const bool counts = last != std::string::npos && last + 1 < word.size() && word[last] == 'x';
  return counts && has_digit(word.substr(0, last)) ? word.substr(0, last) : word;
}

// Whether a word and the last one before it say how many there are: "8 x" in front of a name, or
// "x 8" behind it.
bool counts_with_last(const std::string& word, const Words& before) {
  const bool in_front = word == "x" && before.size() == 1 && is_number(before.front());
  return in_front || (is_number(word) && before.size() > 1 && before.back() == "x");
}

// "80 GB" is one word, and so is "sm_90". "8 x H100" and "RTX PRO 6000 x 8" say how many.
Words words_of_name(std::string_view text) {
  Words words;
  std::string word;
  const auto end_word = [&] {
    if (word == "gb" && !words.empty() && ascii::is_digit(words.back().back())) {
      words.back() += word;
    } else if (counts_with_last(word, words)) {
      words.pop_back();
    } else if (!word.empty()) {
      words.push_back(without_count(word, words));
    }
    word.clear();
  };
  for (const char c : ascii::lower_case(text)) {
    if (ascii::is_alphanumeric(c)) {
      word += c;
    } else if (c != '_' || word != "sm") {
      end_word();
    }
  }
  end_word();
  return words;
}

bool has(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool has_all(const Words& words, const Words& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& word) { return has(words, word); });
}

// "8x" and "x8": how many there are.
bool is_count(std::string_view word) {
  if (word.starts_with('x')) {
    word.remove_prefix(1);
  } else if (word.ends_with('x')) {
    word.remove_suffix(1);
  } else {
    return false;
  }
  return !word.empty() && std::ranges::all_of(word, ascii::is_digit);
}

bool is_any_parts(std::string_view word) {
  return is_count(word) || std::ranges::find(kOfAnyPart, word) != kOfAnyPart.end();
}

bool is_word_of(const KnownPart& part, const std::string& word) {
  return has(part.called.names, word) || has(part.called.told_by, word) ||
         has(part.called.also, word) || word == part.vendor || word == part.architecture ||
         is_any_parts(word);
}

bool names_part(const Words& words, const KnownPart& part) {
  return std::ranges::any_of(part.called.names, [&](const auto& own) { return has(words, own); }) &&
         std::ranges::all_of(words, [&](const auto& word) { return is_word_of(part, word); });
}

// Whether a name says no more than an architecture, "AMD gfx942".
bool names_architecture(const Words& words, const KnownPart& part) {
  return has(words, part.architecture) && std::ranges::all_of(words, [&](const auto& word) {
           return word == part.architecture || word == part.vendor || is_any_parts(word);
         });
}

// "10de:2331" as "PCI 10DE:2331", "0x10de 0x2331" or, with the device in front, "0x233110DE".
bool has_id(const KnownPart& part, const std::string& text) {
  std::string digits;
  for (const std::string& word : words_of_name(text)) {
    digits += word == "pci" ? "" : word.substr(word.starts_with("0x") ? 2 : 0);
  }
  return std::ranges::any_of(part.called.pci, [&](const std::string& id) {
    const std::size_t colon = id.find(':');
    const std::string vendor = id.substr(0, colon);
    const std::string device = colon == std::string::npos ? "" : id.substr(colon + 1);
    return digits == vendor + device || digits == device + vendor;
  });
}

using Parts = std::vector<const KnownPart*>;

template <typename Keep>
Parts those(std::span<const KnownPart> parts, const Keep& keep) {
  Parts kept;
  for (const KnownPart& part : parts) {
    if (keep(part)) {
      kept.push_back(&part);
    }
  }
  return kept;
}

// That a text means: by the profile's own name, an id, words, or an architecture alone.
Parts parts_called(const std::string& text, std::span<const KnownPart> parts) {
  const Words words = words_of_name(text);
  Parts meant = those(parts, [&](const KnownPart& part) { return text == part.name; });
  const auto else_those = [&](const auto& means) {
    meant = meant.empty() ? those(parts, means) : std::move(meant);
  };
  else_those([&](const KnownPart& part) { return has_id(part, text); });
  else_those([&](const KnownPart& part) { return names_part(words, part); });
  else_those([&](const KnownPart& part) { return names_architecture(words, part); });
  return meant;
}

// Of parts that share a name those that it tells from the others, if there are such.
Parts told_apart(Parts parts, const std::string& text) {
  const Words words = words_of_name(text);
  std::size_t most = 0;
  Parts told;
  for (const KnownPart* part : parts) {
    const std::size_t by = part->called.told_by.size();
    if (!has_all(words, part->called.told_by) || by < most) {
      continue;
    }
    if (by > most) {
      told.clear();
    }
    most = by;
    told.push_back(part);
  }
  const bool of_architecture =
      !parts.empty() &&
      std::ranges::none_of(parts, [&](const KnownPart* part) { return names_part(words, *part); });
  return told.empty() || of_architecture ? parts : told;
}

bool states_its_size(const DeviceIdentity& device) {
  return device.memory.has_value() || device.compute_units.has_value();
}

bool has_size_of(const KnownPart& part, const DeviceIdentity& device) {
  const bool memory = !device.memory || (*device.memory >= kLeastOfMemory * part.memory &&
                                         *device.memory <= kMostOfMemory * part.memory);
  return memory && (!device.compute_units || *device.compute_units == part.compute_units);
}

// What stands before the first parenthesis.
std::string without_remark(const std::string& text) { return text.substr(0, text.find('(')); }

// Whether a text says that a device is `part`, and no other of its architecture.
bool settles(const KnownPart& part, const std::string& text) {
  const Words words = words_of_name(text);
  return text == part.name || has_id(part, text) ||
         (names_part(words, part) && has_all(words, part.called.told_by));
}

// Whether a device that may be `part` may be one of its kin too. Memory tells parts of one name
// apart, and units those of one architecture.
bool leaves_kin(const KnownPart& part, const DeviceIdentity& device) {
  const Words words = words_of_name(device.name);
  const bool sized = device.compute_units || (device.memory && names_part(words, part));
  return !sized && !settles(part, without_remark(device.name)) && !settles(part, device.name);
}

// The remark of a name, "gfx942 (MI300X)", counts only where the name before it leaves a question.
Parts parts_named(const std::string& text, bool tells_apart, std::span<const KnownPart> parts) {
  const auto meant_by = [&](const std::string& name) {
    Parts meant = parts_called(name, parts);
    return tells_apart ? told_apart(std::move(meant), name) : meant;
  };
  const std::string name = without_remark(text);
  Parts meant = meant_by(name);
  const bool settled =
      meant.size() == 1 && (meant.front()->called.kin.empty() || settles(*meant.front(), name));
  if (settled || name.size() == text.size()) {
    return meant;
  }
  Parts with_remark = meant_by(text);
  if (with_remark.empty() && meant.empty()) {
    with_remark = meant_by(text.substr(name.size()));
  }
  return with_remark.empty() ? meant : with_remark;
}

}  // namespace

PartNames read_part_names(MappingReader& profile, const SourceTable& sources) {
  PartNames names;
  if (std::optional<MappingReader> called = profile.optional_mapping("called")) {
    names.names = called->optional_texts("names");
    names.told_by = called->optional_texts("told_by");
    names.also = called->optional_texts("also");
    names.pci = called->optional_texts("pci");
    names.kin = called->optional_texts("kin");
    const std::string source = called->optional_text("source");
    if (!source.empty() && !sources.contains(source)) {
      called->error("source", "names '" + source + "', which is not in 'sources'; add it there");
    } else if (source.empty() && !names.pci.empty()) {
      called->error("pci", "has no source; write source: KEY beside it");
    }
    called->finish();
  }
  return names;
}

std::vector<std::string> parts_of_device(const DeviceIdentity& device,
                                         std::span<const KnownPart> parts) {
  const bool sized = states_its_size(device);
  Parts meant = device.name.empty() && sized ? those(parts, [](const KnownPart&) { return true; })
                                             : parts_named(device.name, !sized, parts);
  if (sized) {
    std::erase_if(meant, [&](const KnownPart* part) { return !has_size_of(*part, device); });
    meant = told_apart(std::move(meant), device.name);
  }
  std::vector<std::string> names;
  std::ranges::transform(meant, std::back_inserter(names), &KnownPart::name);
  for (const KnownPart* part : meant) {
    if (leaves_kin(*part, device)) {
      names.insert(names.end(), part->called.kin.begin(), part->called.kin.end());
    }
  }
  return names;
}

}  // namespace stepcast
