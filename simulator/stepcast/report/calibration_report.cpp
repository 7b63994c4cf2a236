// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/calibration_report.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {
namespace {

std::string yaml_quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += c == '\n' ? "\\n" : std::string(1, c);
  }
  return result + "\"";
}

std::string scalar_text(const ConfigNode& node) {
  const bool plain = !node.text.empty() && !node.quoted && node.text.front() != '-' &&
                     node.text.front() != '?' &&
                     node.text.find_first_of(",:{}[]#&*!|>'\"%@`\\\n") == std::string::npos;
  return plain ? node.text : yaml_quoted(node.text);
}

bool is_fitted(const Calibration& calibration, const std::string& key) {
  return std::ranges::any_of(calibration.constants,
                             [&](const FittedConstant& constant) { return constant.key == key; });
}

// Whether a number that this fit leaves alone names `source`.
bool is_used(const ConfigNode& node, const std::string& prefix, const Calibration& calibration,
             const std::string& source) {
  const ConfigNode* own = node.find("source");
  if (own != nullptr && node.find("value") != nullptr) {
    return own->text == source && !is_fitted(calibration, prefix);
  }
  return std::ranges::any_of(node.entries, [&](const ConfigEntry& entry) {
    const std::string key = prefix.empty() ? entry.key : prefix + "." + entry.key;
    return is_used(entry.value, key, calibration, source);
  });
}

// FIT, or FIT2, FIT3 ... where numbers of an earlier fit stay.
std::string fit_source(const Calibration& calibration) {
  std::string source = "FIT";
  for (int i = 2; is_used(calibration.file, "", calibration, source); ++i) {
    source = "FIT" + std::to_string(i);
  }
  return source;
}

// {value: 3 us, source: KEY, note: ...} on one line.
std::string number_text(const ConfigNode& node, bool fitted, const std::string& source) {
  std::string text = "{";
  for (const ConfigEntry& entry : node.entries) {
    const bool provenance = entry.key == "source" || entry.key == "assumed" || entry.key == "kind";
    if (fitted && provenance) {
      continue;
    }
    text += (text.size() > 1 ? ", " : "") + entry.key + ": " + scalar_text(entry.value);
    if (fitted && entry.key == "value") {
      text += ", source: " + source + ", kind: fitted";
    }
  }
  return text + "}";
}

void add_mapping(const ConfigNode& node, const std::string& prefix, std::size_t depth,
                 const Calibration& calibration, const std::string& source, std::string& text) {
  for (const ConfigEntry& entry : node.entries) {
    if (depth == 0 && entry.key == "sources") {
      continue;
    }
    const std::string key = prefix.empty() ? entry.key : prefix + "." + entry.key;
    text += std::string(2 * depth, ' ') + entry.key + ":";
    if (entry.value.kind != ConfigNode::Kind::kMapping) {
      text += " " + scalar_text(entry.value) + "\n";
    } else if (entry.value.find("value") != nullptr) {
      text += " " + number_text(entry.value, is_fitted(calibration, key), source) + "\n";
    } else {
      text += "\n";
      add_mapping(entry.value, key, depth + 1, calibration, source, text);
    }
  }
}

std::string in_percent(double share) { return significant(100.0 * share, 3) + " %"; }

std::string group_table(const Calibration& calibration, const std::string& indent) {
  std::string text;
  for (const GroupError& group : calibration.groups) {
    text += indent + padded(group.group, 34) + "  before " +
            padded(in_percent(group.error_before), 8) + "  fitted " +
            padded(in_percent(group.fitted_error), 8) + " of " +
            padded(std::to_string(group.fitted), 5) + "  held back " +
            padded(in_percent(group.held_back_error), 8) + " of " +
            std::to_string(group.held_back) + "\n";
  }
  return text;
}

// What constants are of, in the order of ConstantsOf.
constexpr std::array<std::string_view, 5> kConstantsOf = {
    "models of kernels", "kernels of an architecture", "model of collectives",
    "models of exchanges of tokens", "kernels of libraries"};

}  // namespace

std::string constants_to_yaml(const Calibration& calibration, const CalibrationRecord& record) {
  std::string text =
      "# Constants of the " + std::string(entry(kConstantsOf, calibration.of)) +
      ", fitted by `stepcast calibrate` on " + record.date +
      ".\n# Mean absolute error by group; shapes held back were not seen by the fit.\n" +
      group_table(calibration, "#   ");
  for (const std::string& remark : record.remarks) {
    text += "# " + remark + ".\n";
  }
  for (const FittedConstant& constant : calibration.constants) {
    text += constant.at_bound
                ? "# " + constant.key + " ended at the bound of the search: not settled.\n"
                : "";
  }
  const std::string source = fit_source(calibration);
  text += "sources:\n";
  if (const ConfigNode* sources = calibration.file.find("sources")) {
    for (const ConfigEntry& entry : sources->entries) {
      const bool stays =
          !entry.key.starts_with("FIT") || is_used(calibration.file, "", calibration, entry.key);
      text += stays ? "  " + entry.key + ": " + scalar_text(entry.value) + "\n" : "";
    }
  }
  text += "  " + source + ": " +
          yaml_quoted("least squares on " + record.files + ", " + record.date) + "\n";
  add_mapping(calibration.file, "", 0, calibration, source, text);
  return text;
}

std::string calibration_to_text(const Calibration& calibration, const CalibrationRecord& record) {
  std::string text = "constants\n";
  for (const FittedConstant& constant : calibration.constants) {
    const std::string unit = constant.unit.empty() ? "" : " " + constant.unit;
    text += "  " + padded(constant.key, 36) + padded(significant(constant.before, 4) + unit, 14) +
            " -> " + significant(constant.after, 4) + unit +
            (constant.at_bound ? "  at the bound of the search, not settled" : "") + "\n";
  }
  for (const UnfittedConstant& constant : calibration.unfitted) {
    text += "  " + padded(constant.key, 36) + "not fitted: " + constant.reason + "\n";
  }
  text += "mean absolute error\n" + group_table(calibration, "  ");
  for (const std::string& remark : record.remarks) {
    text += "note: " + remark + "\n";
  }
  return text;
}

std::string why_worse(const Calibration& calibration) {
  return "the fit is worse on the shapes that it did not see, " +
         in_percent(calibration.held_back_error) + " for " +
         in_percent(calibration.held_back_before) +
         " before: no constants are written; give measurements of more shapes, or fit fewer "
         "constants with --constant";
}

}  // namespace stepcast
