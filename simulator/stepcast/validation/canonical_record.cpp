// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/canonical_record.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/operator_lines/op_text.hpp"

namespace stepcast {
namespace {

constexpr Range<double> kDuty{0.001, 1.0};
constexpr Range<double> kCalls{1.0, 1e9};

constexpr std::string_view kMemoryOfRanks = "peak_memory_bytes_by_rank";

MeasuredQuantity quantity_of(MappingReader& measured, Metric metric, const ConfigEntry& entry) {
  const Range<double> range = range_of(info(metric).unit);
  return {metric, measured.number(entry.key, entry.value, range).value_or(1.0)};
}

// Those keys of `measured` are known.
void take_numbers(MappingReader& measured, MetricOwners owner) {
  for (const MetricInfo& known : kMetrics) {
    if ((known.numbers_of & owner) != 0) {
      measured.take(known.key);
    }
  }
}

// What was measured of a layer or of an operator, in the order of the record.
std::vector<MeasuredQuantity> read_numbers(MappingReader measured, MetricOwners owner) {
  std::vector<MeasuredQuantity> quantities;
  for (const ConfigEntry& entry : measured.node().entries) {
    if (const std::optional<Metric> metric = metric_named(entry.key, owner)) {
      quantities.push_back(quantity_of(measured, *metric, entry));
    }
  }
  take_numbers(measured, owner);
  measured.finish();
  return quantities;
}

// A text for every metric of a run: one for all of them, or one each.
class TextByMetric {
 public:
  TextByMetric(MappingReader& reader, const char* key) {
    const ConfigNode* value = reader.take(key);
    if (value == nullptr) {
      return;
    }
    if (value->kind != ConfigNode::Kind::kMapping) {
      of_all_ = reader.text(key, *value).value_or("");
      return;
    }
    MappingReader metrics = reader.required_mapping(key);
    for (const MetricInfo& metric : kMetrics) {
      if ((metric.numbers_of & (kOfRun | kOfLayer)) != 0) {
        add(metrics, metric.key);
      }
    }
    add(metrics, key_of(Metric::kFits));
    metrics.finish();
  }

  [[nodiscard]] const std::string& of_all() const { return of_all_; }
  // Empty where the metric has no text of its own.
  [[nodiscard]] std::string of(Metric metric) const {
    const auto own = by_metric_.find(key_of(metric));
    return own == by_metric_.end() ? "" : own->second;
  }
  [[nodiscard]] std::string first() const {
    return by_metric_.empty() ? of_all_ : by_metric_.begin()->second;
  }

 private:
  void add(MappingReader& metrics, std::string_view metric) {
    if (const std::string text = metrics.optional_text(metric); !text.empty()) {
      by_metric_[metric] = text;
    }
  }

  std::string of_all_;
  std::map<std::string_view, std::string> by_metric_;  // by the metric's key
};

// What people read, and no program: where the figures stand is given back.
std::string read_remarks(MappingReader& reader) {
  reader.optional_text("notes");
  reader.optional_texts("assumed");
  return reader.optional_text("source");
}

// --- runs -------------------------------------------------------------------------------------

void add_ranks(MappingReader& reader, const ConfigNode& list,
               std::vector<MeasuredQuantity>& quantities) {
  if (list.kind != ConfigNode::Kind::kSequence || list.items.empty()) {
    reader.error(kMemoryOfRanks, "must be a list, one value a rank of the pipeline");
    return;
  }
  for (const ConfigNode& item : list.items) {
    quantities.push_back(
        {.metric = Metric::kPeakMemory,
         .value = reader.number(kMemoryOfRanks, item, range_of(MetricUnit::kBytes)).value_or(0.0),
         .rank = static_cast<std::int64_t>(&item - list.items.data())});
  }
}

// As the options of `stepcast layer`.
LayerQuestion read_layer(MappingReader reader) {
  LayerQuestion question;
  question.layer = reader.optional_text("layer");
  if (reader.has("block")) {
    question.part = reader.optional_choice<LayerPart>("block", kLayerParts, LayerPart::kExperts);
  }
  question.state = reader.optional_choice<PowerState>("state", kUnlockedStates, question.state);
  const bool inference = reader.optional_flag("forward_only").value_or(false);
  question.use = inference ? LayerUse::kInference : LayerUse::kTraining;
  reader.finish();
  return question;
}

// As whom the source ran; without it as the software set says.
std::optional<Stack> read_stack(MappingReader& reader) {
  return reader.has("stack") ? std::optional(reader.optional_choice<Stack>(
                                   "stack", enum_names<Stack>(), Stack::kTuned))
                             : std::nullopt;
}

// In the order of the record.
void read_measured_run(MappingReader reader, MeasuredRun& run) {
  constexpr std::string_view kFits = key_of(Metric::kFits);
  for (const ConfigEntry& entry : reader.node().entries) {
    const std::string& key = entry.key;
    if (key == kMemoryOfRanks) {
      add_ranks(reader, entry.value, run.quantities);
    } else if (key == kFits) {
      run.quantities.push_back(
          {Metric::kFits, reader.flag(key, entry.value).value_or(false) ? 1.0 : 0.0});
    } else if (const std::optional<Metric> metric = metric_named(key, kOfRun)) {
      MeasuredQuantity& quantity = run.quantities.emplace_back(quantity_of(reader, *metric, entry));
      if (*metric == Metric::kPeakReservedMemory || *metric == Metric::kPeakDeviceMemory) {
        run.memory = *metric == Metric::kPeakReservedMemory ? MemoryReading::kReserved
                                                            : MemoryReading::kDevice;
        quantity.metric = Metric::kPeakMemory;
      }
    }
  }
  take_numbers(reader, kOfRun);
  reader.take(kMemoryOfRanks);
  reader.take(kFits);
  reader.finish();
}

MeasuredRun read_run(MappingReader& reader, ProfileCache& profiles) {
  MeasuredRun run;
  run.id = reader.optional_text("id");
  run.split = reader.optional_text("hold_out");
  const TextByMetric groups(reader, "group");
  const TextByMetric skipped(reader, "skipped");
  run.skipped = skipped.of_all();
  if (std::optional<MappingReader> layer = reader.optional_mapping("layer")) {
    run.layer = read_layer(std::move(*layer));
    run.quantities = read_numbers(reader.required_mapping("measured"), kOfLayer);
  } else {
    read_measured_run(reader.required_mapping("measured"), run);
  }
  for (MeasuredQuantity& quantity : run.quantities) {
    quantity.group = groups.of(quantity.metric);
    quantity.skipped = skipped.of(quantity.metric);
  }
  run.gpu = reader.optional_text("gpu");
  run.network = reader.optional_text("network");
  run.in_view = reader.optional_flag("in_view").value_or(false);
  run.source_id = reader.optional_text("source_id");
  run.source = read_remarks(reader);
  const std::optional<Stack> stack = read_stack(reader);
  if (const ConfigNode* experiment = reader.take("experiment")) {
    run.experiment = read_experiment(*experiment, {}, profiles);
    run.gpu = run.experiment->cluster.device.name;
    run.experiment->software.stack = stack.value_or(run.experiment->software.stack);
    const std::string problem =
        run.layer ? layer_problem(run.experiment->model, *run.layer) : std::string();
    if (!problem.empty()) {
      reader.error("layer", problem);
    }
  } else if (run.skipped.empty()) {
    reader.error("experiment", "is needed: what ran, as in an experiment's YAML");
  }
  run.group = groups.first().empty() ? run.gpu + " runs" : groups.first();
  reader.finish();
  return run;
}

// --- operators --------------------------------------------------------------------------------

// An operator's own keys, none of which may be unknown.
OperatorLine operator_of(const ConfigNode& value, const DeviceSpec& device,
                         Diagnostics& diagnostics) {
  MappingReader fields(value, RecordWording{"operator"}, diagnostics);
  OperatorLine read = read_operator(fields, device);
  fields.take("count");
  if (fields.good({"kind"})) {
    fields.finish();
  } else {
    fields.report_missing();
  }
  return read;
}

std::string default_group(const MeasuredKernel& kernel) {
  return kernel.gpu + " " + std::string(name(kernel.work.dtype)) + " " +
         std::string(kind_name(kernel.work.op));
}

void read_beside(MappingReader reader, const DeviceSpec& device, MeasuredKernel& kernel) {
  OperatorLine read;
  if (const ConfigNode* operation = reader.take_required("collective")) {
    read = operator_of(*operation, device, reader.diagnostics());
  }
  Beside beside;
  if (const auto* collective = std::get_if<Collective>(&read.op.work)) {
    beside.collective = *collective;
  } else {
    reader.error("collective", "must be an operator of the kind collective");
  }
  beside.collectives = reader.required_number("collectives", kCalls);
  beside.kernels = reader.required_number("kernels", kCalls);
  reader.finish();
  kernel.beside = beside;
}

// One operator, or a list of them.
std::vector<Op> operators_of(const ConfigNode& node, const DeviceSpec& device,
                             Diagnostics& diagnostics) {
  if (node.kind != ConfigNode::Kind::kSequence) {
    return {operator_of(node, device, diagnostics).op};
  }
  std::vector<Op> operators;
  for (const ConfigNode& item : node.items) {
    operators.push_back(operator_of(item, device, diagnostics).op);
  }
  return operators;
}

void read_kernel_work(MappingReader& reader, ProfileCache& profiles, MeasuredKernel& kernel) {
  const DeviceSpec& device = profiles.gpu(kernel.gpu, reader.location("gpu"));
  Diagnostics& diagnostics = reader.diagnostics();
  kernel.work = operator_of(*reader.take("operator"), device, diagnostics);
  if (const ConfigNode* before = reader.take("before")) {
    kernel.before = operators_of(*before, device, diagnostics);
  }
  if (std::optional<MappingReader> beside = reader.optional_mapping("beside")) {
    read_beside(std::move(*beside), device, kernel);
  }
  if (reader.has("duty")) {
    kernel.duty = reader.required_number("duty", kDuty);
  }
  kernel.group = kernel.group.empty() ? default_group(kernel) : kernel.group;
}

MeasuredKernel read_kernel(MappingReader& reader, ProfileCache& profiles) {
  MeasuredKernel kernel;
  kernel.id = reader.optional_text("id");
  kernel.gpu = reader.optional_text("gpu");
  kernel.group = reader.optional_text("group");
  kernel.skipped = reader.optional_text("skipped");
  kernel.split = reader.optional_text("hold_out");
  read_remarks(reader);
  kernel.quantities = read_numbers(reader.required_mapping("measured"), kOfOperator);
  for (const char* key : {"operator", "before", "beside", "duty"}) {
    reader.take(key);
  }
  if (reader.has("operator")) {
    read_kernel_work(reader, profiles, kernel);
  } else if (kernel.skipped.empty()) {
    reader.error("operator", "is needed: what was measured, as for `stepcast cost`");
  }
  reader.finish();
  return kernel;
}

// A record that is skipped may have neither an experiment nor an operator.
bool is_run(const ConfigNode& record) {
  const ConfigNode* measured = record.find("measured");
  const bool of_kernel =
      measured != nullptr && std::ranges::any_of(measured->entries, [](const ConfigEntry& entry) {
        return metric_named(entry.key, kOfOperator).has_value();
      });
  return record.find("experiment") != nullptr || (record.find("operator") == nullptr && !of_kernel);
}

// What an importer wrote stands in no file: it is told of at the beginning of the foreign line.
MeasuredRow row_of(const Record& record, const RecordLine& line, ProfileCache& profiles) {
  return read_record(json_node(record, {line.file, line.line}), profiles);
}

}  // namespace

bool is_canonical(const ConfigNode& record) {
  const auto has = [&](const char* key) { return record.find(key) != nullptr; };
  const ConfigNode* experiment = record.find("experiment");
  const bool of_run = experiment != nullptr && experiment->kind == ConfigNode::Kind::kMapping;
  return of_run || has("operator") || (has("skipped") && has("measured"));
}

MeasuredRow read_record(const ConfigNode& record, ProfileCache& profiles) {
  Diagnostics diagnostics;
  MappingReader reader(record, "", diagnostics);
  MeasuredRow row;
  if (is_run(record)) {
    row = read_run(reader, profiles);
  } else {
    row = read_kernel(reader, profiles);
  }
  diagnostics.throw_if_any();
  return row;
}

MeasuredRow read_imported(const RecordLine& line, ProfileCache& profiles) {
  try {
    return row_of(line.record, line, profiles);
  } catch (const ConfigError& error) {
    Record refused = line.record;
    for (const char* key : {"experiment", "operator", "before", "beside", "duty"}) {
      refused.erase(key);
    }
    if (line.record.contains("experiment")) {
      refused["gpu"] = line.record["experiment"]["cluster"]["gpu"];
    }
    refused["skipped"] = "input wrong: " + error.diagnostics().front().message;
    return row_of(refused, line, profiles);
  }
}

std::vector<ConfigNode> parse_records(const std::string& text, const std::string& file,
                                      Diagnostics& diagnostics) {
  std::istringstream stream(text);
  std::vector<ConfigNode> records;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    if (auto record = parse_json_object(line, {file, number, "record"}, diagnostics)) {
      records.push_back(std::move(*record));
    }
  }
  return records;
}

}  // namespace stepcast
