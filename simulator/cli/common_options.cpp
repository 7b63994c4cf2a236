// SPDX-License-Identifier: Apache-2.0
#include "cli/common_options.hpp"

#include <spdlog/spdlog.h>
#include <charconv>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/contradictions.hpp"
#include "cli/number_option.hpp"
#include "cli/option_keys.hpp"
#include "cli/output_file.hpp"
#include "importers/measurement_files.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/cost/backend_role.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/plan/plan_keys.hpp"

namespace stepcast::cli {
namespace {

// An option that sets one key of the experiment.
struct DirectOption {
  std::string flag;
  std::string key;
  std::string help;
};

// "none, selective or full".
std::string choice_of(std::span<const std::string_view> values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += i == 0 ? "" : i + 1 < values.size() ? ", " : " or ";
    text += values[i];
  }
  return text;
}

// The options of keys that have one.
template <typename Keys>
void add_options_of(const std::string& section, const Keys& keys,
                    std::vector<DirectOption>& options) {
  for (const auto& key : keys) {
    if (!key.option.empty()) {
      const std::string values = key.values == nullptr ? "" : ": " + choice_of(key.values());
      options.push_back({std::string(key.option), section + "." + std::string(key.name),
                         std::string(key.meaning) + values});
    }
  }
}

void add_direct_option(CLI::App& command, ExperimentOptions& options, const DirectOption& option) {
  command.add_option_function<std::string>(
      option.flag,
      [&options, option](const std::string& value) {
        options.direct.push_back(override_by(option.flag, option.key, value));
      },
      option.help);
}

// What an experiment made from options alone starts from; every value can be set.
constexpr const char* kCommandLineDefaults =
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 128}\n";

void check_experiment_named(const ExperimentOptions& options) {
  if (!options.file.empty()) {
    return;
  }
  Diagnostics diagnostics;
  if (options.model.empty()) {
    diagnostics.error({"command line", 0, 0}, "give an experiment file, or --model and --gpu");
  } else if (options.gpu.empty() && options.cluster.empty()) {
    diagnostics.error({"command line", 0, 0}, "--model needs --gpu as well, or --cluster");
  }
  diagnostics.throw_if_any();
}

ExperimentTree experiment_tree(const ExperimentOptions& options, const DataRoot& data) {
  check_experiment_named(options);
  if (options.file.empty()) {
    return {parse_config(kCommandLineDefaults, kAssumedPlace), {}};
  }
  ExperimentTree tree = load_experiment_tree(options.file, data);
  if (options.file == kStandardInput) {
    tree.folder.clear();  // files that it names lie where the user is
  }
  return tree;
}

// A file on the command line lies where the user is; one of an experiment lies beside it.
std::string as_of_experiment(const std::string& backend, const std::filesystem::path& folder) {
  if (folder.empty()) {
    return backend;
  }
  return written_choice(parse_backend_choice(backend), [&folder](const std::string& file) {
    std::error_code error;
    return std::filesystem::proximate(file, folder, error).string();
  });
}

// The backends of the roles that files of measurements have rows of: "gemm=measured:a,b".
std::vector<std::string> measured_backends(const std::vector<std::string>& files,
                                           const DataRoot& data) {
  std::map<BackendRole, std::vector<std::string>> by_role;
  for (const std::string& file : files) {
    std::set<BackendRole> roles;
    for (const MeasuredOperator& row : measured_in(file, data).rows) {
      roles.insert(role_of(row.work.op.work));
    }
    if (roles.empty()) {
      throw ConfigError({"--measured " + file, 0, 0}, "the file has no rows of operators");
    }
    for (const BackendRole role : roles) {
      by_role[role].push_back(file);
    }
  }
  std::vector<std::string> choices;
  choices.reserve(by_role.size());
  for (const auto& [role, of_role] : by_role) {
    choices.push_back(std::string(name(role)) + "=measured:" + file_list(of_role));
  }
  return choices;
}

// "10%" and "10 %" as "0.1"; any other text as it is, which its reader judges.
std::string share_text(const std::string& text) {
  double percent = 0.0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, percent);
  const std::string_view rest(read.ptr, static_cast<std::size_t>(end - read.ptr));
  const bool is_percent = read.ec == std::errc{} && (rest == "%" || rest == " %");
  return is_percent ? shortest_text(percent / 100.0) : text;
}

// The GPU of a cluster that is named on the command line, in the place of the experiment's own; the
// reader of the experiment says what is wrong with a name that is none.
std::string gpu_of_cluster(const std::string& cluster, const DataRoot& data) {
  const std::vector<std::string> known = names_in(data.clusters());
  if (std::find(known.begin(), known.end(), cluster) == known.end()) {
    return "";
  }
  const ConfigNode profile = load_config(data.clusters() / (cluster + ".yaml"));
  const ConfigNode* gpu = profile.find("gpu");
  return gpu == nullptr ? "" : gpu->text;
}

void add_backends(const ExperimentOptions& options, const std::filesystem::path& folder,
                  const DataRoot& data, std::vector<Override>& list) {
  for (const std::string& backend : measured_backends(options.measured, data)) {
    list.emplace_back("backends." + as_of_experiment(backend, folder),
                      "--measured " + file_list(options.measured));
  }
  for (const std::string& backend : options.backends) {
    list.emplace_back("backends." + as_of_experiment(backend, folder), "--backend " + backend);
  }
}

// Whether --set says the GPU, before which that of a cluster's profile does not count.
bool sets_gpu(const std::vector<std::string>& settings) {
  const std::string start = assignment(key_of("--gpu"), "");
  return std::any_of(settings.begin(), settings.end(),
                     [&start](const std::string& set) { return set.starts_with(start); });
}

std::vector<Override> overrides_of(const ExperimentOptions& options,
                                   const std::filesystem::path& folder, const DataRoot& data) {
  std::vector<Override> list;
  const auto set = [&list](const std::string& option, const std::string& value) {
    list.push_back(override_by(option, key_of(option), value));
  };
  if (!options.model.empty()) {
    set("--model", options.model);
  }
  if (!options.cluster.empty()) {
    set("--cluster", options.cluster);
  }
  if (!options.gpu.empty()) {
    set("--gpu", options.gpu);
  } else if (const std::string gpu = gpu_of_cluster(options.cluster, data);
             !gpu.empty() && !sets_gpu(options.settings)) {
    list.emplace_back(assignment(key_of("--gpu"), gpu), "--cluster " + options.cluster);
  }
  if (!options.nic_rate.empty()) {
    set("--nic-rate", options.nic_rate);
  }
  if (options.nodes) {
    set("--nodes", std::to_string(*options.nodes));
  }
  if (options.gpu_clock_mhz) {
    set("--gpu-clock-mhz", shortest_text(*options.gpu_clock_mhz) + " MHz");
  }
  if (!options.power_limit.empty()) {
    set("--power-limit", options.power_limit);
  }
  list.insert(list.end(), options.direct.begin(), options.direct.end());
  add_backends(options, folder, data, list);
  list.insert(list.end(), options.settings.begin(), options.settings.end());
  refuse_contradictions(list);
  return list;
}

}  // namespace

CLI::Option* add_out_option(CLI::App& command, std::string& file, const std::string& help) {
  return command.add_option_function<std::string>(
      "--out", [&file](const std::string& given) { file = given == "-" ? "" : given; }, help);
}

void add_output_options(CLI::App& command, OutputOptions& options,
                        const std::vector<std::string>& formats) {
  command.add_option("--format", options.format, "form of the output")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  add_out_option(command, options.out);
}

void add_experiment_options(CLI::App& command, ExperimentOptions& options) {
  add_uncompared_options(command, options);
  command.add_option("--gpu", options.gpu, "a GPU's name");
  command.add_option("--cluster", options.cluster,
                     "a cluster's name: its network and, without --gpu, its GPU");
  command.add_option("--nic-rate", options.nic_rate, "of each NIC: '400 Gb/s'");
  command.add_option("--nodes", options.nodes, "number of nodes")->check(whole_number());
  command.add_option("--gpu-clock-mhz", options.gpu_clock_mhz, "lock the GPU clock, MHz")
      ->check(real_number());
  command.add_option("--power-limit", options.power_limit, "of each GPU: '500 W'");
  add_direct_option(command, options,
                    {"--software", std::string(key_of("--software")), "a software set"});
}

void add_uncompared_options(CLI::App& command, ExperimentOptions& options) {
  command.add_option_function<std::string>(
      "--memory-margin",
      [&options](const std::string& value) {
        options.direct.emplace_back(assignment(key_of("--memory-margin"), share_text(value)),
                                    "--memory-margin " + value);
      },
      "of a GPU's memory that stays free of what the allocator reserves: 10% or 0.1");
  take_standard_input(*command.add_option("experiment", options.file,
                                          "experiment file (YAML); - is standard input"));
  command.add_option("--model", options.model, "a model's name or file");
  command.add_option("--set", options.settings, "set any key: plan.tp=8 (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  command.add_option("--backend", options.backends, "choose a backend: gemm=roofline (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  command
      .add_option("--measured", options.measured,
                  "take the times of operators from this file of measurements, and the models' for "
                  "what it has nothing near (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  std::vector<DirectOption> direct;
  add_options_of("plan", plan_keys(), direct);
  add_options_of("training", training_keys(), direct);
  for (const DirectOption& option : direct) {
    add_direct_option(command, options, option);
  }
}

void take_standard_input(CLI::Option& option) {
  option.transform([](const std::string& file) { return file == "-" ? kStandardInput : file; });
}

DataRoot data_root(const GlobalOptions& options) {
  if (!options.data.empty()) {
    std::error_code none;
    if (!std::filesystem::is_directory(std::filesystem::path(options.data) / "hardware_profiles",
                                       none)) {
      throw ConfigError({"--data " + options.data, 0, 0},
                        "is no data folder: it needs the folders hardware_profiles and configs");
    }
    return {options.data};
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path installed = program.parent_path() / STEPCAST_INSTALL_DATA;
  if (!error && std::filesystem::exists(installed / "hardware_profiles", error)) {
    return {std::filesystem::weakly_canonical(installed)};
  }
  return {STEPCAST_BUILD_DATA};
}

ExperimentTree settled_tree(const ExperimentOptions& options, const DataRoot& data) {
  ExperimentTree tree = experiment_tree(options, data);
  for (const Override& override : overrides_of(options, tree.folder, data)) {
    spdlog::debug("set {}", override.assignment);
    apply_override(tree.root, override);
  }
  return tree;
}

Experiment load_experiment(const ExperimentOptions& options, const DataRoot& data) {
  const ExperimentTree tree = settled_tree(options, data);
  return read_experiment(tree.root, tree.folder, data);
}

SweepSource load_sweep(const ExperimentOptions& options, const DataRoot& data) {
  check_experiment_named(options);
  const std::filesystem::path folder = std::filesystem::path(options.file).parent_path();
  if (!options.file.empty()) {
    SweepSource source =
        load_sweep_source(options.file, overrides_of(options, folder, data), STEPCAST_VERSION);
    if (options.file == kStandardInput) {
      source.folder.clear();  // files that it names lie where the user is
    }
    return source;
  }
  return {kAssumedPlace, "", kCommandLineDefaults, overrides_of(options, folder, data),
          STEPCAST_VERSION};
}

std::string program_version() { return STEPCAST_VERSION; }

std::string json_text(nlohmann::ordered_json json) {
  json["context"]["version"] = program_version();
  return json_dump(json, 2) + "\n";
}

MeasuredOperators measured_in(const std::string& file, const DataRoot& data) {
  if (file.empty()) {
    return {};
  }
  ProfileCache profiles(data);
  return measured_operators(file, all_importers(), profiles);
}

CostModel cost_model(Experiment& experiment, const DataRoot& data) {
  return cost_model_of(experiment, data, measured_in);
}

CostModel cost_model(const std::vector<std::string>& backends, const DataRoot& data) {
  return cost_model_of(backends, "--backend", data, measured_in);
}

void write_output(const OutputOptions& options, const std::string& text) {
  OutputFile file(options.out);
  file.write(text);
  file.keep();
}

}  // namespace stepcast::cli
