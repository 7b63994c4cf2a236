// SPDX-License-Identifier: Apache-2.0
// `stepcast list KIND` and `stepcast describe NAME`: what there is, its equation, its source.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "backends/builtin_backends.hpp"
#include "cli/commands.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/graph/collective_algorithm.hpp"
#include "stepcast/graph/model_flops.hpp"
#include "stepcast/graph/parameter_inventory.hpp"
#include "stepcast/parallel/dispatcher_model.hpp"
#include "stepcast/parallel/schedules/schedule_info.hpp"

namespace stepcast::cli {
namespace {

struct DescribeOptions {
  std::string name;
  OutputOptions output;
};

std::string wide(std::string_view text, std::size_t width) {
  std::string result(text);
  result.resize(std::max(width, result.size() + 2), ' ');
  return result;
}

std::string table_line(std::string_view key, const std::string& value) {
  return "  " + wide(key, 36) + value + "\n";
}

std::string provenance_text(const std::vector<Provenance>& provenance, const SourceTable& sources) {
  std::string text;
  std::vector<std::string> used;
  for (const Provenance& entry : provenance) {
    const bool assumed = entry.kind == SourceKind::kAssumed;
    std::string origin =
        assumed ? "assumed: " + entry.source : std::string(name(entry.kind)) + ", " + entry.source;
    origin += entry.note.empty() ? "" : "; " + entry.note;
    text += "  " + wide(entry.key, 32) + wide(entry.value, 16) + origin + "\n";
    if (!assumed) {
      used.push_back(entry.source);
    }
  }
  text += "\nsources\n";
  for (const auto& [key, what] : sources) {
    if (std::find(used.begin(), used.end(), key) != used.end()) {
      text += "  " + wide(key, 14) + what + "\n";
    }
  }
  return text;
}

std::string describe_gpu(const std::string& name, const DataRoot& data) {
  const DeviceSpec device = load_gpu(name, data, {"command line", 0, 0});
  std::string text = device.title + " (" + device.architecture + ")\n";
  for (const DtypeInfo& dtype : kDtypes) {
    if (const auto peak = device.matrix_peak(dtype.dtype, device.clock.rated)) {
      text += table_line("dense " + std::string(dtype.name) + " at the rated clock",
                         format_quantity(*peak));
    }
  }
  text += table_line(
      "scale-up",
      device.scale_up.technology + ", " +
          (device.scale_up.topology == ScaleUpTopology::kSwitch ? "switched" : "full mesh"));
  return text + "\n" + provenance_text(device.provenance, device.sources);
}

std::string describe_cluster(const std::string& name, const DataRoot& data) {
  const ClusterProfile profile =
      load_cluster_profile(data.clusters() / (name + ".yaml"), load_shared_sources(data));
  std::string text = profile.title + "\n";
  text += table_line("gpu", profile.gpu);
  text += table_line("network", std::string(stepcast::name(profile.network.topology)));
  return text + "\n" + provenance_text(profile.provenance, profile.sources);
}

std::string describe_model(const std::string& name, const DataRoot& data) {
  const ModelSpec model = load_named_model(name, data, {"command line", 0, 0});
  const ParameterCounts counts = count_parameters(model);
  std::string text = model.title + "\n";
  text += table_line("parameters", with_separators(counts.total));
  text += table_line("active parameters", with_separators(counts.active));
  text += table_line("of these embedding", with_separators(counts.embedding));
  if (counts.mtp > 0) {
    text += table_line("multi-token prediction, apart", with_separators(counts.mtp));
  }
  for (const std::int64_t sequence : {4096, 8192}) {
    const Flops flops = training_flops_per_token(model, sequence);
    text += table_line("training FLOPs a token at " + std::to_string(sequence),
                       significant(flops.value() / 1e9, 4) + " GFLOP");
  }
  text += "  FLOPs: " + std::string(kFlopConvention) + "\n\n";
  return text + to_yaml(model);
}

std::string describe_software(const std::string& name, const DataRoot& data) {
  return read_file(data.software() / (name + ".yaml"));
}

std::string describe_backend(const BackendInfo& backend) {
  const std::string choice = std::string(backend.role) + "=" + std::string(backend.name);
  return std::string(backend.role) + " backend " + std::string(backend.name) + "\n" +
         (backend.takes_file()
              ? table_line("takes", "a file of measured kernels: " + choice + ":FILE")
              : "") +
         table_line("equation", std::string(backend.equation)) +
         table_line("assumes", std::string(backend.assumptions));
}

std::string describe_dispatcher(Dispatcher dispatcher) {
  const DispatcherModel& model = model_of(dispatcher);
  return "dispatcher " + std::string(name(dispatcher)) + "\n" +
         table_line("equation", std::string(model.equation)) +
         table_line("assumes", std::string(model.assumptions)) +
         table_line("source", std::string(model.source));
}

std::vector<std::string> dispatcher_names() {
  const std::span<const std::string_view> names = stepcast::names_of<Dispatcher>();
  return {names.begin(), names.end()};
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const std::string_view name : stepcast::names_of<CollectiveOp>()) {
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
    names.push_back(std::string(backend.role) + "=" + std::string(backend.name));
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

std::vector<std::string> names_of(const std::string& kind, const DataRoot& data) {
  if (kind == "gpus") {
    return names_in(data.gpus());
  }
  if (kind == "models") {
    return names_in(data.models());
  }
  if (kind == "clusters") {
    return names_in(data.clusters());
  }
  if (kind == "software") {
    return names_in(data.software());
  }
  if (kind == "backends") {
    return backend_names();
  }
  if (kind == "collectives") {
    return collective_names();
  }
  if (kind == "dispatchers") {
    return dispatcher_names();
  }
  std::vector<std::string> names;
  for (const std::string_view schedule : stepcast::names_of<Schedule>()) {
    names.emplace_back(schedule);
  }
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string description_of(const std::string& name, const DataRoot& data) {
  if (contains(names_of("gpus", data), name)) {
    return describe_gpu(name, data);
  }
  if (contains(names_of("clusters", data), name)) {
    return describe_cluster(name, data);
  }
  if (contains(names_of("models", data), name)) {
    return describe_model(name, data);
  }
  if (contains(names_of("software", data), name)) {
    return describe_software(name, data);
  }
  for (const BackendInfo& backend : builtin_backends()) {
    if (name == backend.name ||
        name == std::string(backend.role) + "=" + std::string(backend.name)) {
      return describe_backend(backend);
    }
  }
  for (const NamedValue<Dispatcher>& dispatcher : enum_names<Dispatcher>()) {
    if (name == dispatcher.name) {
      return describe_dispatcher(dispatcher.value);
    }
  }
  if (std::string text = describe_collective(name); !text.empty()) {
    return text;
  }
  for (const ScheduleInfo& info : schedule_infos()) {
    if (name == stepcast::name(info.schedule)) {
      return describe_schedule(info);
    }
  }
  return {};
}

int run_describe(const DescribeOptions& options, const GlobalOptions& global) {
  const DataRoot data = data_root(global);
  const std::string text = description_of(options.name, data);
  if (text.empty()) {
    std::vector<std::string> known;
    for (const char* kind : {"gpus", "models", "clusters", "software", "backends", "collectives",
                             "dispatchers", "schedules"}) {
      const std::vector<std::string> names = names_of(kind, data);
      known.insert(known.end(), names.begin(), names.end());
    }
    std::string remedy = did_you_mean(options.name, known);
    remedy = remedy.empty() ? "; 'stepcast list gpus' and the like show what there is" : remedy;
    throw ConfigError({"command line", 0, 0}, "nothing is called '" + options.name + "'" + remedy);
  }
  write_output(options.output, text);
  return kDone;
}

int run_list(const DescribeOptions& options, const GlobalOptions& global) {
  std::string text;
  for (const std::string& name : names_of(options.name, data_root(global))) {
    text += name + "\n";
  }
  write_output(options.output, text);
  return kDone;
}

}  // namespace

void add_list(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand("list", "the names of what there is");
  auto options = std::make_shared<DescribeOptions>();
  command->add_option("kind", options->name, "what to list")
      ->required()
      ->check(CLI::IsMember({"gpus", "models", "clusters", "software", "backends", "collectives",
                             "dispatchers", "schedules"}));
  command->add_option("--out", options->output.out, "write to this file");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_list(*options, global); };
  });
}

void add_describe(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "describe",
      "a GPU, cluster, model, software set, backend, collective, dispatcher or schedule, with "
      "its sources");
  auto options = std::make_shared<DescribeOptions>();
  command->add_option("name", options->name, "its name")->required();
  command->add_option("--out", options->output.out, "write to this file");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_describe(*options, global); };
  });
}

}  // namespace stepcast::cli
