// SPDX-License-Identifier: Apache-2.0
// Calls of the public header about what there is: lists, descriptions, and the words of options.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "importers/measurement_formats.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/catalogue.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/config/framework_keys.hpp"
#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// "JSON lines with m, n, k, kind, s"
std::string needs(const MeasurementFormat& format) {
  std::string text = format.syntax == Syntax::kCsv ? "CSV with the columns " : "JSON lines with ";
  std::string between;
  for (const std::string_view name : format.names) {
    if (!name.empty()) {
      text += between + std::string(name);
      between = ", ";
    }
  }
  return text;
}

std::vector<ListedName> listed(Listing kind, const DataRoot& data) {
  if (kind != Listing::kFormat) {
    return listed_with_lines(kind, data);
  }
  std::vector<ListedName> formats;
  for (const MeasurementFormat& format : measurement_formats()) {
    formats.push_back({std::string(format.name), needs(format)});
  }
  return formats;
}

Listing kind_of(const std::string& name) {
  const std::span<const std::string_view> known = names_of<Listing>();
  const auto found = std::find(known.begin(), known.end(), name);
  if (found == known.end()) {
    throw ConfigError({"kind", 0, 0}, "there is no list of '" + name + "'");
  }
  return static_cast<Listing>(found - known.begin());
}

std::string list_text(const std::vector<ListedName>& names) {
  std::size_t width = 0;
  for (const ListedName& name : names) {
    width = std::max(width, name.name.size());
  }
  std::string text;
  for (const ListedName& name : names) {
    const std::string gap(width + 2 - name.name.size(), ' ');
    text += name.name + (name.line.empty() ? "" : gap + name.line) + "\n";
  }
  return text;
}

Json list_json(const std::string& kind, const std::vector<ListedName>& names) {
  Json json;
  json["schema_version"] = 1;
  json["kind"] = kind;
  json["names"] = Json::array();
  for (const ListedName& name : names) {
    Json entry;
    entry["name"] = name.name;
    if (!name.line.empty()) {
      entry["line"] = name.line;
    }
    json["names"].push_back(entry);
  }
  return json;
}

// "    {"op": ...}", every line of a text.
std::string indented(std::string_view text) {
  std::string lines = "    ";
  for (const char c : text) {
    lines += c;
    lines += c == '\n' ? "    " : "";
  }
  return lines + "\n";
}

// What the format needs and a row of it; two where it has two sets of keys.
std::string format_text(const std::string& wanted) {
  std::string text;
  for (const MeasurementFormat& format : measurement_formats()) {
    if (format.name == wanted && !format.example.empty()) {
      text += "  " + needs(format) + ", as\n" + indented(format.example);
    }
  }
  if (!text.empty()) {
    return "format " + wanted + "\n" + text +
           "  tests/validation/README.md says what its other keys mean\n";
  }
  throw ConfigError({"name", 0, 0},
                    "there is no format '" + wanted + "'; 'stepcast list formats' shows them");
}

constexpr std::string_view kOfFormat = "format ";

std::string text_on(const std::string& name, const DataRoot& data) {
  return name.starts_with(kOfFormat) ? format_text(name.substr(kOfFormat.size()))
                                     : description_of(name, data, {"name", 0, 0});
}

Json description_json(const std::string& name, const std::string& text, const DataRoot& data) {
  const bool is_format = name.starts_with(kOfFormat);
  Json json;
  json["schema_version"] = 1;
  json["name"] = is_format ? name.substr(kOfFormat.size()) : name;
  if (const std::string file = is_format ? "" : file_of(name, data); !file.empty()) {
    json["values"] = json_of(load_config(file));
  }
  json["text"] = text;
  return json;
}

// The options of keys that have one, with the values that they may have: "none, selective or full".
template <typename Keys>
void add_options_of(const std::string& section, const Keys& keys, std::vector<KeyOption>& options) {
  for (const auto& key : keys) {
    if (key.option.empty()) {
      continue;
    }
    std::string help(key.meaning);
    if (key.values != nullptr) {
      const auto values = key.values();
      for (std::size_t i = 0; i < values.size(); ++i) {
        help += i == 0 ? ": " : i + 1 < values.size() ? ", " : " or ";
        help += values[i];
      }
    }
    options.push_back(
        {section + "." + std::string(key.name), std::string(key.option), std::move(help)});
  }
}

}  // namespace

std::vector<std::string> Simulator::list(Listing kind) const {
  std::vector<std::string> names;
  for (ListedName& name : listed(kind, {data_})) {
    names.push_back(std::move(name.name));
  }
  return names;
}

Report Simulator::list_report(const std::string& kind, const ReportForm& form) const {
  return answer_of([&] {
    const std::vector<ListedName> names = listed(kind_of(kind), {data_});
    return report_of(
        form, {true, [&] { return list_text(names); }, [&] { return list_json(kind, names); }});
  });
}

std::string Simulator::describe(const std::string& name) const {
  return answer_of([&] { return text_on(name, {data_}); });
}

Report Simulator::describe_report(const std::string& name, const ReportForm& form) const {
  return answer_of([&] {
    std::string text = text_on(name, {data_});
    return report_of(
        form, {true, [&] { return text; }, [&] { return description_json(name, text, {data_}); }});
  });
}

std::string Simulator::gpu_of_cluster(const std::string& cluster) const {
  return answer_of([&]() -> std::string {
    const DataRoot data{data_};
    const std::vector<std::string> known = names_in(data.clusters());
    if (std::find(known.begin(), known.end(), cluster) == known.end()) {
      return "";
    }
    const ConfigNode profile = load_config(data.clusters() / (cluster + ".yaml"));
    const ConfigNode* gpu = profile.find("gpu");
    return gpu == nullptr ? "" : gpu->text;
  });
}

std::vector<std::string> Simulator::kinds() {
  const std::span<const std::string_view> names = names_of<Listing>();
  return {names.begin(), names.end()};
}

std::vector<KeyOption> Simulator::key_options() {
  std::vector<KeyOption> options;
  add_options_of("plan", plan_keys(), options);
  add_options_of("training", training_keys(), options);
  return options;
}

std::string Simulator::key_called(const std::string& word) { return std::string(our_key_of(word)); }

}  // namespace stepcast
