// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/catalogue.hpp"

#include <algorithm>
#include <array>

#include "backends/builtin_backends.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/graph/collective_algorithm.hpp"
#include "stepcast/graph/model_flops.hpp"
#include "stepcast/graph/parameter_inventory.hpp"
#include "stepcast/hardware/placed_constants.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/operators/operator_line.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"
#include "stepcast/report/profile_text.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 12> kListingNames = {
    "gpus",        "models",      "clusters",  "software", "backends",
    "collectives", "dispatchers", "schedules", "hosts",    "attention_libraries",
    "operators",   "formats"};

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

std::vector<std::string> dispatcher_names() {
  const std::span<const std::string_view> names = names_of<Dispatcher>();
  return {names.begin(), names.end()};
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const std::string_view name : names_of<CollectiveOp>()) {
    names.emplace_back(name);
  }
  return names;
}

// The algorithms of a collective, or the collectives of an algorithm; empty if it is neither.
std::string describe_collective(const std::string& wanted) {
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

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  names.reserve(builtin_backends().size());
  for (const BackendInfo& backend : builtin_backends()) {
    names.push_back(choice_of(backend));
  }
  return names;
}

std::string describe_schedule(const ScheduleInfo& info) {
  return "schedule " + std::string(name(info.schedule)) + "\n" +
         table_line("bubble", std::string(info.bubble)) +
         table_line("memory in flight", std::string(info.memory)) +
         table_line("assumes", std::string(info.assumptions)) +
         table_line("source", std::string(info.source)) + "\n" + std::string(kScheduleSymbols) +
         "\n";
}

std::vector<std::string> schedule_names() {
  const std::span<const std::string_view> names = names_of<Schedule>();
  return {names.begin(), names.end()};
}

std::vector<std::string> attention_library_names() {
  const std::span<const std::string_view> names = names_of<AttentionLibraryName>();
  return {names.begin() + 1, names.end()};  // without that of no library
}

// "cudnn   sinks   from 2.8, cuDNN 9.13.1"
std::string attention_row(const AttentionRow& row) {
  const bool heads = row.d_qk > 0;
  const std::string size =
      std::to_string(row.d_qk) + (row.d_qk == row.d_v ? "" : "/" + std::to_string(row.d_v));
  const std::string_view feature =
      names_of<AttentionFeature>()[static_cast<std::size_t>(row.fuses)];
  std::string parts;
  for (const std::string& part : row.architectures) {
    parts += (parts.empty() ? "" : " ") + part;
  }
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
  const std::vector<std::string> names = attention_library_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
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

// Each gives the description of `name`, or nothing if it has nothing of that name.
using Describe = std::string (*)(const std::string& name, const DataRoot& data);

template <std::filesystem::path (DataRoot::*folder)() const,
          std::string (*describe)(const std::string&, const DataRoot&)>
std::string of_file(const std::string& name, const DataRoot& data) {
  const std::vector<std::string> names = names_in((data.*folder)());
  return std::find(names.begin(), names.end(), name) == names.end() ? "" : describe(name, data);
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

std::string of_collective(const std::string& name, const DataRoot&) {
  return describe_collective(name);
}

std::string of_schedule(const std::string& name, const DataRoot&) {
  for (const ScheduleInfo& info : schedule_infos()) {
    if (name == stepcast::name(info.schedule)) {
      return describe_schedule(info);
    }
  }
  return {};
}

// In the order in which a name is looked up.
constexpr std::array<Describe, 11> kDescribers = {of_file<&DataRoot::gpus, describe_gpu>,
                                                  of_file<&DataRoot::clusters, describe_cluster>,
                                                  of_file<&DataRoot::models, describe_model>,
                                                  of_file<&DataRoot::software, describe_software>,
                                                  of_backend,
                                                  of_dispatcher,
                                                  of_collective,
                                                  of_schedule,
                                                  of_file<&DataRoot::hosts, describe_host>,
                                                  of_attention_library,
                                                  of_operator};

// A file of the user's own is what its keys make it: only a model has a hidden size, and only a
// cluster names a GPU.
std::string of_own_file(const std::string& file, const DataRoot& data) {
  const ConfigNode root = load_config(file);
  if (root.find("hidden_size") != nullptr) {
    return model_text(load_model(file));
  }
  const SourceTable sources = load_shared_sources(data);
  return root.find("gpu") != nullptr ? cluster_text(load_cluster_profile(file, sources))
                                     : gpu_text(load_device(file, sources, data.profiles()));
}

[[noreturn]] void refuse(const std::string& name, const DataRoot& data, const Location& where) {
  std::vector<std::string> known;
  for (std::size_t kind = 0; kind < kDescribers.size(); ++kind) {
    const std::vector<std::string> names = listed_names(static_cast<Listing>(kind), data);
    known.insert(known.end(), names.begin(), names.end());
  }
  std::string remedy = did_you_mean(name, known);
  remedy = remedy.empty() ? "; 'stepcast list gpus' and the like show what there is" : remedy;
  throw ConfigError(where, "nothing is called '" + name + "'" + remedy);
}

}  // namespace

template <>
std::span<const std::string_view> names_of<Listing>() {
  return kListingNames;
}

std::vector<std::string> listed_names(Listing kind, const DataRoot& data) {
  switch (kind) {
    case Listing::kGpu:
      return names_in(data.gpus());
    case Listing::kModel:
      return names_in(data.models());
    case Listing::kCluster:
      return names_in(data.clusters());
    case Listing::kSoftware:
      return names_in(data.software());
    case Listing::kBackend:
      return backend_names();
    case Listing::kCollective:
      return collective_names();
    case Listing::kDispatcher:
      return dispatcher_names();
    case Listing::kSchedule:
      return schedule_names();
    case Listing::kHost:
      return names_in(data.hosts());
    case Listing::kOperator:
      return operator_names();
    case Listing::kAttentionLibrary:
      return attention_library_names();
    case Listing::kFormat:
      break;  // of importers, and described behind a word of its own
  }
  return {};
}

std::vector<ListedName> listed_with_lines(Listing kind, const DataRoot& data) {
  std::vector<ListedName> listed;
  for (const std::string& name : listed_names(kind, data)) {
    std::string line;
    if (kind == Listing::kSoftware) {
      line = load_named_software(name, data, kListed).title;
    } else if (kind == Listing::kOperator) {
      line = keys_of_operator(name);
    }
    listed.push_back({name, std::move(line)});
  }
  return listed;
}

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

std::string description_of(const std::string& name, const DataRoot& data, const Location& where) {
  if (is_own_file(name)) {
    return of_own_file(name, data);
  }
  for (const Describe describe : kDescribers) {
    if (std::string text = describe(name, data); !text.empty()) {
      return text;
    }
  }
  refuse(name, data, where);
}

}  // namespace stepcast
