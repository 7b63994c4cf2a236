// SPDX-License-Identifier: Apache-2.0
// Simulator::calibrate(): rows of files of measurements, of which of traces each shape is one, and
// the constants that are fitted to them.
#include "stepcast/calibration/calibrate.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>

#include "importers/measurement_files.hpp"
#include "stepcast/api/answered_call.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/experiment/backend_choice.hpp"
#include "stepcast/experiment/traced_device.hpp"
#include "stepcast/operator_lines/op_text.hpp"
#include "stepcast/report/calibration_report.hpp"
#include "stepcast/stepcast.hpp"
#include "trace_reader/step_trace.hpp"
#include "trace_reader/traced_kernels.hpp"

namespace stepcast {
namespace {

ConstantsOf constants_of(const std::string& word) {
  constexpr std::array<std::string_view, 5> kWords = {"kernels", "architectures", "collectives",
                                                      "exchanges", "libraries"};
  const auto* const found = std::ranges::find(kWords, word);
  if (found == kWords.end()) {
    throw ConfigError({"of", 0, 0}, "there are no constants of '" + word + "'");
  }
  return static_cast<ConstantsOf>(found - kWords.begin());
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

// Throws ConfigError where the date is none of the calendar, written as today() is.
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
    throw ConfigError({"date " + date, 0, 0},
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

// The part that a trace was taken on, and what of it is taken on trust.
struct TracedPart {
  const DeviceSpec* part = nullptr;
  std::string remark;  // empty: nothing is
};

// Throws ConfigError where the trace was taken on none of the parts.
TracedPart traced_part(const DeviceIdentity& device, const std::string& file,
                       const std::vector<DeviceSpec>& parts, ProfileCache& profiles) {
  TracedPart likely;
  std::string others;
  for (const DeviceSpec& part : parts) {
    const ComparedDevice compared = compared_device(device, part, profiles);
    if (compared.match == DeviceMatch::kSame) {
      return {&part, ""};
    }
    if (compared.match == DeviceMatch::kOther) {
      others = compared.text;
    } else if (likely.part == nullptr) {
      likely = {&part, file + " " + compared.text + "; it counts for " + part.name};
    }
  }
  if (likely.part == nullptr) {
    throw ConfigError({file, 0, 0},
                      "the trace " + others + ", and not " +
                          text_list(parts, " or ", &DeviceSpec::name) +
                          ": constants of one part are fitted to its own kernels; give --gpu of "
                          "the trace's, or name the device under 'called' in the part's profile");
  }
  return likely;
}

std::vector<MeasuredKernel> kernels_in(const std::string& file,
                                       const std::vector<DeviceSpec>& parts, ProfileCache& profiles,
                                       std::vector<std::string>& remarks) {
  if (!is_step_trace(file)) {
    return measured_kernels(file, all_importers(), profiles);
  }
  const MeasuredStep step = measured_step(read_recording(std::filesystem::path(file)), file);
  const TracedPart traced = traced_part(step.head.device, file, parts, profiles);
  if (!traced.remark.empty()) {
    remarks.push_back(traced.remark);
  }
  std::vector<MeasuredKernel> kernels = traced_kernels(step, *traced.part, file);
  if (kernels.empty()) {
    throw ConfigError({file, 0, 0},
                      "no operator of the trace has a shape, without which nothing is fitted; " +
                          std::string(step.head.shapes_are_recorded_by));
  }
  return kernels;
}

std::vector<CalibrationRow> rows_of(const CalibrateSettings& settings, ConstantsOf of,
                                    const std::vector<DeviceSpec>& parts, const DataRoot& data,
                                    const CostModel& model, std::vector<std::string>& remarks) {
  ProfileCache profiles(data);
  std::vector<CalibrationRow> rows;
  std::set<std::string> gpus;
  const std::vector<std::string> names = each_of(parts, &DeviceSpec::name);
  for (const std::string& file : settings.files) {
    for (const MeasuredKernel& kernel : kernels_in(file, parts, profiles, remarks)) {
      gpus.insert(kernel.gpu);
      const auto part = std::ranges::find(names, kernel.gpu);
      const bool moved = price(of, kernel.work.op);
      if (part != names.end() && kernel.skipped.empty() && moved) {
        add_rows(kernel, static_cast<std::size_t>(part - names.begin()), model, rows);
      }
    }
  }
  if (rows.empty()) {
    throw ConfigError(
        {"gpus " + text_list(settings.gpus), 0, 0},
        "the files have no rows of this GPU that these constants move; they have rows of " +
            text_list(gpus));
  }
  return rows;
}

std::string names_of_files(const CalibrateSettings& settings) {
  return text_list(settings.files, ", ", [](const std::string& file) {
    return std::filesystem::path(file).filename().string();
  });
}

void refuse_tables(const std::vector<Assignment>& backends) {
  for (const Assignment& backend : backends) {
    if (!parse_backend_choice(backend.text).files.empty()) {
      throw ConfigError(place_of(backend, "backends"),
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
std::vector<DeviceSpec> parts_of(const CalibrateSettings& settings, ConstantsOf of,
                                 const DataRoot& data) {
  std::vector<DeviceSpec> parts;
  for (const std::string& gpu : settings.gpus) {
    parts.push_back(load_gpu(gpu, data, {"gpus", 0, 0}));
    const std::filesystem::path own = constants_file(of, parts.back(), data);
    const std::filesystem::path first = constants_file(of, parts.front(), data);
    if (own != first) {
      throw ConfigError({"gpus " + gpu, 0, 0}, "has its constants from " + own.filename().string() +
                                                   " and " + settings.gpus.front() + " from " +
                                                   first.filename().string() +
                                                   "; parts of one file are fitted together");
    }
  }
  return parts;
}

Evidence evidence_of(const CalibrateSettings& settings) {
  const bool traces = std::ranges::all_of(
      settings.files, [](const std::string& file) { return is_step_trace(file); });
  return traces ? Evidence::kTimesOfTrace : Evidence::kMeasurements;
}

}  // namespace

Calibrated Simulator::calibrate(const CalibrateSettings& settings) const {
  return answer_of([&]() -> Calibrated {
    check_date(settings.date);
    const DataRoot data{data_};
    const ConstantsOf of = constants_of(settings.of);
    refuse_tables(settings.backends);
    const CostModel model = cost_model_of(settings.backends, data);
    const std::vector<DeviceSpec> parts = parts_of(settings, of, data);
    const ConfigNode file = load_config(constants_file(of, parts.front(), data));
    CalibrationRecord record{
        settings.date.empty() ? today() : settings.date, names_of_files(settings), {}};
    const std::vector<CalibrationRow> rows =
        rows_of(settings, of, parts, data, model, record.remarks);
    const Calibration calibration =
        stepcast::calibrate(parts, file, rows, settings.constants, of, evidence_of(settings));
    std::string residuals = calibration_to_text(calibration, record);
    if (calibration.is_worse()) {
      return {"", std::move(residuals), why_worse(calibration)};
    }
    return {constants_to_yaml(calibration, record), std::move(residuals), ""};
  });
}

}  // namespace stepcast
