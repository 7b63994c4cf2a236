// SPDX-License-Identifier: Apache-2.0
// `stepcast calibrate FILE... --gpu NAME`; of traces of a profiler each shape is a row.
#include "stepcast/calibration/calibrate.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <set>

#include "cli/commands.hpp"
#include "importers/measurement_files.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/operators/op_text.hpp"
#include "stepcast/report/calibration_report.hpp"
#include "traces/step_trace.hpp"
#include "traces/traced_kernels.hpp"

namespace stepcast::cli {
namespace {

struct CalibrateOptions {
  std::vector<std::string> files;
  std::vector<std::string> gpus;
  std::vector<std::string> backends;
  std::vector<std::string> keys;
  ConstantsOf of = ConstantsOf::kKernels;
  std::string date;
  OutputOptions output;
};

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

// Throws ConfigError where --date is none of the calendar, written as today() is.
void check_date(const std::string& date) {
  if (date.empty()) {
    return;
  }
  std::tm read{};
  const char* const end = ::strptime(date.c_str(), "%Y-%m-%d", &read);
  std::tm same = read;
  const bool of_calendar = end != nullptr && *end == 0 && date.size() == 10 &&
                           ::timegm(&same) != -1 && same.tm_mday == read.tm_mday;
  if (!of_calendar) {
    throw ConfigError({"--date " + date, 0, 0},
                      "is no date; write it as year, month and day, e.g. 2026-01-31");
  }
}

// What is held back together: a shape; of collectives a size, whatever the number of ranks; of
// exchanges a layer, whatever the tokens and units.
std::string shape_of(const Op& op) {
  if (const auto* collective = std::get_if<Collective>(&op.work)) {
    return std::string(name(collective->op)) + " of " + shortest_text(collective->bytes.value()) +
           " bytes";
  }
  if (const auto* exchange = std::get_if<ExpertExchange>(&op.work)) {
    return "hidden " + std::to_string(exchange->hidden) + ", top " +
           std::to_string(exchange->topk) + " of " + std::to_string(exchange->experts);
  }
  return shape_text(op);
}

// Whether the constants price it.
bool price(ConstantsOf constants, const Op& op) {
  const bool exchange = std::holds_alternative<ExpertExchange>(op.work);
  const bool collective = std::holds_alternative<Collective>(op.work);
  switch (constants) {
    case ConstantsOf::kKernels:
      return !exchange && !collective;
    case ConstantsOf::kArchitectures:
      return std::holds_alternative<Attention>(op.work);
    case ConstantsOf::kCollectives:
      return collective;
    case ConstantsOf::kExchanges:
      return exchange;
    case ConstantsOf::kLibraries:
      return std::holds_alternative<MemoryBound>(op.work);
  }
  return false;
}

// A row for each quantity of the kernel.
void add_rows(const MeasuredKernel& kernel, std::size_t part, const CostModel& model,
              std::vector<CalibrationRow>& rows) {
  for (const MeasuredQuantity& quantity : kernel.quantities) {
    CalibrationRow row;
    row.group = kernel.group;
    row.group += quantity.metric == Metric::kTime ? "" : " " + std::string(key_of(quantity.metric));
    row.shape = shape_of(kernel.work.op);
    row.measured = quantity.value;
    row.part = part;
    row.predicted = [kernel, &model, metric = quantity.metric](const ClusterSpec& machine) {
      return predict(kernel, model, machine).of(metric);
    };
    rows.push_back(std::move(row));
  }
}

template <typename Names>
std::string joined(const Names& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

// A trace is of the first part: what it calls the GPU need not be a part's name.
std::vector<MeasuredKernel> kernels_in(const std::string& file,
                                       const std::vector<DeviceSpec>& parts,
                                       ProfileCache& profiles) {
  if (!is_step_trace(file)) {
    return measured_kernels(file, all_importers(), profiles);
  }
  const MeasuredStep step = measured_step(read_recording(std::filesystem::path(file)), file);
  return traced_kernels(step, parts.front(), file);
}

std::vector<CalibrationRow> rows_of(const CalibrateOptions& options,
                                    const std::vector<DeviceSpec>& parts, const DataRoot& data,
                                    const CostModel& model) {
  ProfileCache profiles(data);
  std::vector<CalibrationRow> rows;
  std::set<std::string> gpus;
  std::vector<std::string> names;
  names.reserve(parts.size());
  for (const DeviceSpec& part : parts) {
    names.push_back(part.name);
  }
  for (const std::string& file : options.files) {
    for (const MeasuredKernel& kernel : kernels_in(file, parts, profiles)) {
      gpus.insert(kernel.gpu);
      const auto part = std::find(names.begin(), names.end(), kernel.gpu);
      const bool moved = price(options.of, kernel.work.op);
      if (part != names.end() && kernel.skipped.empty() && moved) {
        add_rows(kernel, static_cast<std::size_t>(part - names.begin()), model, rows);
      }
    }
  }
  if (rows.empty()) {
    throw ConfigError(
        {"--gpu " + joined(options.gpus), 0, 0},
        "the files have no rows of this GPU that these constants move; they have rows of " +
            joined(gpus));
  }
  return rows;
}

std::string names_of_files(const CalibrateOptions& options) {
  std::string names;
  for (const std::string& file : options.files) {
    names += (names.empty() ? "" : ", ") + std::filesystem::path(file).filename().string();
  }
  return names;
}

void refuse_tables(const std::vector<std::string>& backends) {
  for (const std::string& backend : backends) {
    if (!parse_backend_choice(backend).files.empty()) {
      throw ConfigError({"--backend " + backend, 0, 0},
                        "a table of measurements has no constants to fit; choose a model");
    }
  }
}

std::filesystem::path constants_file(ConstantsOf of, const DeviceSpec& device,
                                     const DataRoot& data) {
  switch (of) {
    case ConstantsOf::kKernels:
      return data.kernels() / (device.kernels.name + ".yaml");
    case ConstantsOf::kArchitectures:
      return data.architectures() / (device.architecture.kernels + ".yaml");
    case ConstantsOf::kCollectives:
      return data.collectives() / (device.collectives.name + ".yaml");
    case ConstantsOf::kExchanges:
      return data.exchange() / (device.exchange.name + ".yaml");
    case ConstantsOf::kLibraries:
      return data.libraries();
  }
  return {};
}

// The parts whose constants are fitted together, which must have them from one file.
std::vector<DeviceSpec> parts_of(const CalibrateOptions& options, const DataRoot& data) {
  std::vector<DeviceSpec> parts;
  for (const std::string& gpu : options.gpus) {
    parts.push_back(load_gpu(gpu, data, {"--gpu", 0, 0}));
    const std::filesystem::path own = constants_file(options.of, parts.back(), data);
    const std::filesystem::path first = constants_file(options.of, parts.front(), data);
    if (own != first) {
      throw ConfigError({"--gpu " + gpu, 0, 0},
                        "has its constants from " + own.filename().string() + " and " +
                            options.gpus.front() + " from " + first.filename().string() +
                            "; parts of one file are fitted together");
    }
  }
  return parts;
}

Evidence evidence_of(const CalibrateOptions& options) {
  const bool traces = std::all_of(options.files.begin(), options.files.end(),
                                  [](const std::string& file) { return is_step_trace(file); });
  return traces ? Evidence::kTimesOfTrace : Evidence::kMeasurements;
}

int run_calibrate(const CalibrateOptions& options, const GlobalOptions& global) {
  check_date(options.date);
  const DataRoot data = data_root(global);
  refuse_tables(options.backends);
  const CostModel model = cost_model(options.backends, data);
  const std::vector<DeviceSpec> parts = parts_of(options, data);
  const std::filesystem::path file = constants_file(options.of, parts.front(), data);
  const std::vector<CalibrationRow> rows = rows_of(options, parts, data, model);
  const Calibration calibration =
      calibrate(parts, load_config(file), rows, options.keys, options.of, evidence_of(options));
  const CalibrationRecord record{options.date.empty() ? today() : options.date,
                                 names_of_files(options)};
  if (!options.output.out.empty()) {
    write_output({}, calibration_to_text(calibration));
  }
  write_output(options.output, constants_to_yaml(calibration, record));
  return kDone;
}

}  // namespace

void add_calibrate(CLI::App& program, const GlobalOptions& global, Run& run) {
  CLI::App* command = program.add_subcommand(
      "calibrate", "fit a GPU's constants of kernels, collectives or exchanges to measurements");
  auto options = std::make_shared<CalibrateOptions>();
  take_standard_input(
      *command->add_option("files", options->files, "measured kernels, or PyTorch's traces")
           ->required());
  command
      ->add_option("--gpu", options->gpus,
                   "the GPU whose rows and constants are taken, or its own file; parts of one die "
                   "are fitted together (repeatable)")
      ->required()
      ->allow_extra_args(false)
      ->take_all();
  const std::map<std::string, ConstantsOf> parts = {{"kernels", ConstantsOf::kKernels},
                                                    {"architectures", ConstantsOf::kArchitectures},
                                                    {"collectives", ConstantsOf::kCollectives},
                                                    {"exchanges", ConstantsOf::kExchanges},
                                                    {"libraries", ConstantsOf::kLibraries}};
  command
      ->add_option_function<std::string>(
          "--of", [options, parts](const std::string& part) { options->of = parts.at(part); },
          "which constants: kernels (default), architectures, collectives, exchanges or "
          "libraries")
      ->check(CLI::IsMember(parts));
  command
      ->add_option("--constant", options->keys,
                   "fit this constant, e.g. gemm.start_up (repeatable); default: all")
      ->allow_extra_args(false)
      ->take_all();
  command
      ->add_option("--backend", options->backends, "choose a backend: gemm=roofline (repeatable)")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--date", options->date, "date to write into the file; default: today");
  add_out_option(*command, options->output.out,
                 "write the constants here and the residuals to standard output");
  command->callback([options, &global, &run] {
    run = [options, &global] { return run_calibrate(*options, global); };
  });
}

}  // namespace stepcast::cli
