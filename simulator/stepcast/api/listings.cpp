// SPDX-License-Identifier: Apache-2.0
// Calls of the public header about what there is: lists, descriptions, and the words of options.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "backends/builtin_backends.hpp"
#include "importers/measurement_formats.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/glossary.hpp"
#include "stepcast/api/report_forms.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/framework_keys.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/hardware/placed_constants.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/model/collective_algorithm.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/model/parameter_inventory.hpp"
#include "stepcast/operator_lines/operator_line.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"
#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/profile_text.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// Names are looked up in the listings first, so that no file is missing.
const Location kListed{"listing", 0, 0};

std::string describe_gpu(const std::string& name, const DataRoot& data) {
  return gpu_text(load_gpu(name, data, kListed));
}

std::string describe_cluster(const std::string& name, const DataRoot& data) {
  return cluster_text(
      load_cluster_profile(data.clusters() / (name + ".yaml"), load_shared_sources(data)));
}

std::string describe_host(const std::string& name, const DataRoot& data) {
  return host_text(load_named_host(name, data, kListed));
}

std::string describe_model(const std::string& name, const DataRoot& data) {
  return model_text(load_named_model(name, data, kListed));
}

std::string describe_software(const std::string& name, const DataRoot& data) {
  return read_file(data.software() / (name + ".yaml"));
}

// "gemm=tile"
std::string choice_of(const BackendInfo& backend) {
  return std::string(stepcast::name(backend.role)) + "=" + std::string(backend.name);
}

std::string describe_backend(const BackendInfo& backend) {
  const std::string choice = choice_of(backend);
  return std::string(stepcast::name(backend.role)) + " backend " + std::string(backend.name) +
         "\n" +
         (backend.takes_file()
              ? table_line("takes", "a file of measured kernels: " + choice + ":FILE")
              : "") +
         table_line("equation", std::string(backend.equation)) +
         table_line("assumes", std::string(backend.assumptions)) +
         table_line("source", std::string(backend.source));
}

std::string describe_dispatcher(Dispatcher dispatcher) {
  const DispatcherModel& model = model_of(dispatcher);
  return "dispatcher " + std::string(name(dispatcher)) + "\n" +
         table_line("equation", std::string(model.equation)) +
         table_line("assumes", std::string(model.assumptions)) +
         table_line("source", std::string(model.source));
}

// Files of the data folder are sorted; other names are in the order of their table.
template <std::filesystem::path (DataRoot::*folder)() const>
std::vector<std::string> files_of(const DataRoot& data) {
  return names_in((data.*folder)());
}

template <typename E>
std::vector<std::string> values_of(const DataRoot&) {
  const std::span<const std::string_view> names = names_of<E>();
  return {names.begin(), names.end()};
}

std::vector<std::string> backend_names(const DataRoot&) {
  return each_of(builtin_backends(), choice_of);
}

std::vector<std::string> attention_library_names(const DataRoot&) {
  const std::span<const std::string_view> names = names_of<AttentionLibraryName>();
  return {names.begin() + 1, names.end()};  // without that of no library
}

std::vector<std::string> kinds_of_operators(const DataRoot&) { return operator_names(); }

std::vector<std::string> format_names(const DataRoot&) {
  return each_of(measurement_formats(),
                 [](const MeasurementFormat& format) { return std::string(format.name); });
}

std::string describe_schedule(const ScheduleInfo& info) {
  return "schedule " + std::string(name(info.schedule)) + "\n" +
         table_line("bubble", std::string(info.bubble)) +
         table_line("memory in flight", std::string(info.memory)) +
         table_line("assumes", std::string(info.assumptions)) +
         table_line("source", std::string(info.source)) + "\n" + std::string(kScheduleSymbols) +
         "\n";
}

// "cudnn   sinks   from 2.8, cuDNN 9.13.1"
std::string attention_row(const AttentionRow& row) {
  const bool heads = row.d_qk > 0;
  const std::string size =
      std::to_string(row.d_qk) + (row.d_qk == row.d_v ? "" : "/" + std::to_string(row.d_v));
  const std::string_view feature =
      names_of<AttentionFeature>()[static_cast<std::size_t>(row.fuses)];
  const std::string parts = text_list(row.architectures, " ");
  std::string releases = row.version == Release{} ? "" : "from " + text_of(row.version);
  if (row.cudnn != Release{}) {
    releases += (releases.empty() ? "from cuDNN " : ", cuDNN ") + text_of(row.cudnn);
  }
  return "  " + wide(name(row.kernel), 8) +
         wide(std::string(feature) + (heads ? " up to " + size : ""), 32) +
         wide(parts.empty() ? "all" : parts, 24) + wide(releases, 28) + row.source +
         (row.note.empty() ? "" : "; " + row.note) + "\n";
}

std::string of_attention_library(const std::string& name, const DataRoot& data) {
  const std::vector<std::string> names = attention_library_names(data);
  if (std::ranges::find(names, name) == names.end()) {
    return {};
  }
  std::string text = "attention library " + name + ": what its kernels fuse in training\n";
  SourceTable sources;
  for (const AttentionRow& row : load_attention_support(data.attention_libraries())) {
    if (names_of<AttentionLibraryName>()[static_cast<std::size_t>(row.library)] == name) {
      text += attention_row(row);
      sources[row.source] = row.cited;
    }
  }
  text += "  otherwise unfused: products around a softmax in HBM\n\nsources\n";
  for (const auto& [key, what] : sources) {
    text += "  " + wide(key, 14) + what + "\n";
  }
  return text;
}

// The algorithms of a collective, or the collectives of an algorithm; empty if it is neither.
std::string of_collective(const std::string& wanted, const DataRoot&) {
  std::string text;
  for (const AlgorithmInfo& info : algorithm_table()) {
    if (wanted == name(info.op) || wanted == name(info.algorithm)) {
      text += std::string(name(info.op)) + " by " + std::string(name(info.algorithm)) + "\n" +
              table_line("equation", std::string(info.equation)) +
              table_line("source", std::string(info.source));
    }
  }
  return text.empty() ? text : text + "\n" + std::string(kAlgorithmSymbols) + "\n";
}

template <std::filesystem::path (DataRoot::*folder)() const,
          std::string (*describe)(const std::string&, const DataRoot&)>
std::string of_file(const std::string& name, const DataRoot& data) {
  const std::vector<std::string> names = names_in((data.*folder)());
  return std::ranges::find(names, name) == names.end() ? "" : describe(name, data);
}

std::string of_backend(const std::string& name, const DataRoot&) {
  for (const BackendInfo& backend : builtin_backends()) {
    if (name == backend.name || name == choice_of(backend)) {
      return describe_backend(backend);
    }
  }
  return {};
}

std::string of_dispatcher(const std::string& name, const DataRoot&) {
  for (const NamedValue<Dispatcher>& dispatcher : enum_names<Dispatcher>()) {
    if (name == dispatcher.name) {
      return describe_dispatcher(dispatcher.value);
    }
  }
  return {};
}

// "gemm   m, n, k, pass, batch"
std::string of_operator(const std::string& name, const DataRoot&) {
  const std::string keys = keys_of_operator(name);
  return keys.empty() ? keys : "operator " + name + "\n" + table_line("keys", keys);
}

std::string of_schedule(const std::string& name, const DataRoot&) {
  for (const ScheduleInfo& info : schedule_infos()) {
    if (name == stepcast::name(info.schedule)) {
      return describe_schedule(info);
    }
  }
  return {};
}

// "JSON lines with m, n, k, kind, s"
std::string needs(const MeasurementFormat& format) {
  const std::string text =
      format.syntax == Syntax::kCsv ? "CSV with the columns " : "JSON lines with ";
  std::vector<std::string_view> names(format.names.begin(), format.names.end());
  std::erase(names, "");
  return text + text_list(names);
}

std::vector<std::string> words_of_glossary(const DataRoot& data) {
  return each_of(load_glossary(data), &Word::word);
}

// What `list` and `describe` say of the names of a kind.
struct ListedKind {
  std::string_view name;
  std::vector<std::string> (*names)(const DataRoot& data);
  // The description of `name`, empty where the kind has nothing of that name; null where names of
  // the kind are described behind a word of its own.
  std::string (*describe)(const std::string& name, const DataRoot& data);
};

// In the order of Listing.
constexpr std::array kKinds = {
    ListedKind{"gpus", files_of<&DataRoot::gpus>, of_file<&DataRoot::gpus, describe_gpu>},
    ListedKind{"models", files_of<&DataRoot::models>, of_file<&DataRoot::models, describe_model>},
    ListedKind{"clusters", files_of<&DataRoot::clusters>,
               of_file<&DataRoot::clusters, describe_cluster>},
    ListedKind{"software", files_of<&DataRoot::software>,
               of_file<&DataRoot::software, describe_software>},
    ListedKind{"backends", backend_names, of_backend},
    ListedKind{"collectives", values_of<CollectiveOp>, of_collective},
    ListedKind{"dispatchers", values_of<Dispatcher>, of_dispatcher},
    ListedKind{"schedules", values_of<Schedule>, of_schedule},
    ListedKind{"hosts", files_of<&DataRoot::hosts>, of_file<&DataRoot::hosts, describe_host>},
    ListedKind{"attention_libraries", attention_library_names, of_attention_library},
    ListedKind{"operators", kinds_of_operators, of_operator},
    ListedKind{"formats", format_names, nullptr},
    ListedKind{"words", words_of_glossary, meaning_of_word},
};

// A name of several kinds stands for that of the first of these.
constexpr std::array kLookedUp = {
    Listing::kGpu,     Listing::kCluster,          Listing::kModel,      Listing::kSoftware,
    Listing::kBackend, Listing::kDispatcher,       Listing::kCollective, Listing::kSchedule,
    Listing::kHost,    Listing::kAttentionLibrary, Listing::kOperator,   Listing::kWord};

const ListedKind& row_of(Listing kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

Listing kind_of(const std::string& name) {
  const auto* const found = std::ranges::find(kKinds, name, &ListedKind::name);
  if (found == kKinds.end()) {
    throw ConfigError({"kind", 0, 0}, "there is no list of '" + name + "'");
  }
  return static_cast<Listing>(found - kKinds.begin());
}

// With a line that says what a name stands for, where the names alone do not.
struct ListedName {
  std::string name;
  std::string line;
};

// "NVIDIA H100 SXM 80 GB: 80 GiB, 989.4 TFLOP/s dense bf16, 700 W, 8 joined by NVLink 4"; the line
// of a part that is not sold yet ends in "an estimate from announced figures".
std::string line_of_gpu(const std::string& name, const DataRoot& data) {
  const DeviceSpec gpu = load_gpu(name, data, kListed);
  const Dtype format = gpu.base_format();
  std::string line =
      gpu.title + ": " + significant(gpu.hbm.capacity.value() / kGibibyte, 4) + " GiB, " +
      significant(gpu.matrix_peak(format, gpu.clock.rated)->value() / 1e12, 4) + " TFLOP/s dense " +
      std::string(stepcast::name(format)) + ", " + significant(gpu.power.limit.value(), 4) +
      " W, " + std::to_string(gpu.scale_up.domain_size) + " joined by " + gpu.scale_up.technology;
  if (gpu.standing == PartStanding::kAnnounced) {
    line += "; " + std::string(kAnnouncedEstimate);
  }
  return line;
}

// "Qwen3 30B A3B: 30.5 B parameters, 3.35 B active"
std::string line_of_model(const std::string& name, const DataRoot& data) {
  const ModelSpec model = load_named_model(name, data, kListed);
  const ParameterCounts counts = count_parameters(model);
  const auto billions = [](std::int64_t count) {
    return significant(static_cast<double>(count) / 1e9, 3) + " B";
  };
  return model.title + ": " + billions(counts.total) + " parameters" +
         (counts.active < counts.total ? ", " + billions(counts.active) + " active" : "");
}

// The first sentence of what a word means.
std::string line_of_word(const std::string& name, const DataRoot& data) {
  for (const Word& word : load_glossary(data)) {
    if (word.word == name) {
      return word.means.substr(0, word.means.find(". ") + 1);
    }
  }
  return "";
}

std::string line_of(Listing kind, const std::string& name, const DataRoot& data) {
  switch (kind) {
    case Listing::kGpu:
      return line_of_gpu(name, data);
    case Listing::kModel:
      return line_of_model(name, data);
    case Listing::kSoftware:
      return load_named_software(name, data, kListed).title;
    case Listing::kOperator:
      return keys_of_operator(name);
    case Listing::kWord:
      return line_of_word(name, data);
    default:
      return "";
  }
}

std::vector<ListedName> listed(Listing kind, const DataRoot& data) {
  if (kind == Listing::kFormat) {
    return each_of(measurement_formats(), [](const MeasurementFormat& format) {
      return ListedName{std::string(format.name), needs(format)};
    });
  }
  return each_of(row_of(kind).names(data), [&](const std::string& name) {
    return ListedName{name, line_of(kind, name, data)};
  });
}

std::vector<ListedName> listed_kinds(const DataRoot& data) {
  return each_of(kKinds, [&](const ListedKind& kind) {
    return ListedName{std::string(kind.name), std::to_string(kind.names(data).size())};
  });
}

// Whether a file changes a software set, or is one.
bool is_software(const ConfigNode& root, const DataRoot& data) {
  const ConfigNode* base = root.find("base");
  return root.find("fused_qkv") != nullptr ||
         (base != nullptr && file_named(data.software(), base->text).has_value());
}

// A file of the user's own is what its keys make it: only a model has a hidden size, and only a
// cluster names a GPU.
std::string of_own_file(const std::string& file, const DataRoot& data) {
  const ConfigNode root = load_config(file);
  if (is_software(root, data)) {
    load_named_software(file, data, kListed);  // says what is wrong with it
    return read_file(file);
  }
  if (root.find("hidden_size") != nullptr) {
    return model_text(load_model(file));
  }
  const SourceTable sources = load_shared_sources(data);
  return root.find("gpu") != nullptr ? cluster_text(load_cluster_profile(file, sources))
                                     : gpu_text(load_device(file, sources, data.profiles()));
}

[[noreturn]] void refuse(const std::string& name, const DataRoot& data) {
  std::vector<std::string> known;
  for (const ListedKind& kind : kKinds) {
    if (kind.describe != nullptr) {
      const std::vector<std::string> names = kind.names(data);
      known.insert(known.end(), names.begin(), names.end());
    }
  }
  std::string remedy = did_you_mean(name, known);
  remedy = remedy.empty() ? "; 'stepcast list gpus' and the like show what there is" : remedy;
  throw ConfigError({"name", 0, 0}, "nothing is called '" + name + "'" + remedy);
}

// Of a name of any listing, or of a file of a model, a GPU or a cluster (its path, ending .yaml).
std::string description_of(const std::string& name, const DataRoot& data) {
  if (is_own_file(name)) {
    return of_own_file(name, data);
  }
  for (const Listing kind : kLookedUp) {
    if (std::string text = row_of(kind).describe(name, data); !text.empty()) {
      return text;
    }
  }
  refuse(name, data);
}

// The file that a name of any listing, or a file's own path, stands for; empty if it is no file's.
std::string file_of(const std::string& name, const DataRoot& data) {
  if (is_own_file(name)) {
    return name;
  }
  for (const std::filesystem::path& folder :
       {data.gpus(), data.clusters(), data.models(), data.software(), data.hosts()}) {
    std::error_code error;
    const std::filesystem::path file = folder / (name + ".yaml");
    if (std::filesystem::is_regular_file(file, error)) {
      return file.string();
    }
  }
  return {};
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
                                     : description_of(name, data);
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

std::vector<std::string> Simulator::list(Listing kind) const { return row_of(kind).names({data_}); }

Report Simulator::list_report(const std::string& kind, const ReportForm& form) const {
  return answer_of([&] {
    const std::vector<ListedName> names =
        kind.empty() ? listed_kinds({data_}) : listed(kind_of(kind), {data_});
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

std::string Simulator::template_of(const std::string& kind) const {
  return answer_of([&] {
    const DataRoot data{data_};
    const std::optional<std::filesystem::path> file = file_named(data.templates(), kind);
    if (!file) {
      const std::vector<std::string> known = names_in(data.templates());
      const std::string near = did_you_mean(kind, known);
      throw ConfigError({"template", 0, 0},
                        "there is no template of '" + kind + "'" +
                            (near.empty() ? "; give one of: " + text_list(known) : near));
    }
    return read_file(*file);
  });
}

bool Simulator::is_model(const std::string& name) const {
  const DataRoot data{data_};
  return file_named(data.models(), model_named_elsewhere(name, data)).has_value();
}

std::string Simulator::gpu_of_cluster(const std::string& cluster) const {
  return answer_of([&]() -> std::string {
    const DataRoot data{data_};
    const std::optional<std::filesystem::path> file =
        is_own_file(cluster) ? std::optional(std::filesystem::path(cluster))
                             : file_named(data.clusters(), cluster);
    if (!file || !std::filesystem::exists(*file)) {
      return "";
    }
    const ConfigNode profile = load_config(*file);
    const ConfigNode* gpu = profile.find("gpu");
    return gpu == nullptr ? "" : gpu->text;
  });
}

std::vector<std::string> Simulator::kinds() {
  return each_of(kKinds, [](const ListedKind& kind) { return std::string(kind.name); });
}

std::vector<KeyOption> Simulator::key_options() {
  std::vector<KeyOption> options;
  add_options_of("plan", plan_keys(), options);
  add_options_of("training", training_keys(), options);
  return options;
}

std::string Simulator::key_called(const std::string& word) { return std::string(our_key_of(word)); }

}  // namespace stepcast
