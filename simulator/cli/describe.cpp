// SPDX-License-Identifier: Apache-2.0
// `stepcast list KIND` and `stepcast describe NAME`: what there is, its equation, its source.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/page_output.hpp"
#include "importers/measurement_formats.hpp"
#include "stepcast/api/catalogue.hpp"
#include "stepcast/report/config_json.hpp"

namespace stepcast::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DescribeOptions {
  std::string name;
  std::vector<std::string> words;  // behind the first; NAME of `describe format NAME` has several
  OutputOptions output;
};

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

std::vector<ListedName> listed(const std::string& kind, const DataRoot& data) {
  if (kind == kFormats) {
    std::vector<ListedName> formats;
    for (const MeasurementFormat& format : measurement_formats()) {
      formats.push_back({std::string(format.name), needs(format)});
    }
    return formats;
  }
  const std::span<const std::string_view> known = names_of<Listing>();
  const auto index = std::find(known.begin(), known.end(), kind) - known.begin();
  return listed_with_lines(static_cast<Listing>(index), data);
}

std::vector<std::string> kinds() {
  const std::span<const std::string_view> names = names_of<Listing>();
  std::vector<std::string> all(names.begin(), names.end());
  all.emplace_back(kFormats);
  return all;
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

std::string list_json(const std::string& kind, const std::vector<ListedName>& names) {
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
  return json_text(json);
}

int run_list(const DescribeOptions& options, const GlobalOptions& global) {
  const std::vector<ListedName> names = listed(options.name, data_root(global));
  write_report(options.output,
               options.output.format == "json" ? list_json(options.name, names) : list_text(names));
  return kDone;
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
  throw ConfigError({"command line", 0, 0},
                    "there is no format '" + wanted + "'; 'stepcast list formats' shows them");
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

int run_describe(const DescribeOptions& options, const GlobalOptions& global) {
  const bool is_format = options.name == "format";
  if (!is_format && !options.words.empty()) {
    throw ConfigError({"command line", 0, 0}, "give one name, or: format NAME");
  }
  const DataRoot data = data_root(global);
  const Location where{"command line", 0, 0};
  const std::string format = joined(options.words);
  const std::string text =
      is_format ? format_text(format) : description_of(options.name, data, where);
  if (options.output.format == "json") {
    Json json;
    json["schema_version"] = 1;
    json["name"] = is_format ? format : options.name;
    if (!is_format) {
      if (const std::string file = file_of(options.name, data); !file.empty()) {
        json["values"] = json_of(load_config(file));
      }
    }
    json["text"] = text;
    write_report(options.output, json_text(json));
    return kDone;
  }
  write_report(options.output, text);
  return kDone;
}

}  // namespace

void add_list(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand("list", "the names of what there is");
  auto options = std::make_shared<DescribeOptions>();
  command->add_option("kind", options->name, "what to list")
      ->required()
      ->check(CLI::IsMember(kinds()));
  add_output_options(*command, options->output, {"text", "json"});
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_list(*options, global); };
  });
}

void add_describe(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "describe",
      "a GPU, cluster, model, software set, backend, collective, dispatcher, schedule or format, "
      "with its sources; a model, GPU or cluster file of your own");
  auto options = std::make_shared<DescribeOptions>();
  command->add_option("name", options->name, "its name, or a file, or: format")->required();
  command->add_option("of", options->words, "of a format of measurements: its name");
  add_output_options(*command, options->output, {"text", "json"});
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_describe(*options, global); };
  });
}

}  // namespace stepcast::cli
