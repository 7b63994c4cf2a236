// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/plan_lines.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/experiment/plan_fields.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/report/step_rows.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kUsualLine = 1536;  // bytes

// A value as it was written: numbers and switches as such, anything else as a text.
std::string json_text(const std::string& text) {
  if (text.empty()) {
    return "null";
  }
  const nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  const bool plain = parsed.is_number() || parsed.is_boolean();
  return plain ? text : json_dump(nlohmann::json(text));
}

class JsonLine {
 public:
  explicit JsonLine(std::string& line) : line_(line) {}

  template <typename Value>
  void field(std::string_view key, const Value& value) {
    put_key(key);
    append_value(line_, value);
  }
  // Names of the program's own, which need no escapes.
  void field(std::string_view key, std::string_view name) {
    put_key(key);
    line_ += '"';
    line_ += name;
    line_ += '"';
  }
  void begin(std::string_view key) {
    put_key(key);
    line_ += '{';
    first_ = true;
  }
  void end() {
    line_ += '}';
    first_ = false;
  }
  // "key":value, as it is.
  void member(std::string_view text) {
    line_ += first_ ? "" : ",";
    line_ += text;
    first_ = false;
  }

 private:
  void put_key(std::string_view key) {
    line_ += first_ ? "\"" : ",\"";
    line_ += key;
    line_ += "\":";
    first_ = false;
  }

  std::string& line_;
  bool first_ = true;
};

void append_cells(const std::vector<std::string>& cells, std::string& line) {
  for (const std::string& cell : cells) {
    line += line.empty() ? "" : ",";
    line += cell;
  }
}

// Of the rank that needs most.
StageMemory fullest_memory(const SettledRequest& settled) {
  const std::vector<StageMemory> memory = memory_of(settled);
  return *std::ranges::max_element(memory, {}, &StageMemory::total);
}

std::string as_percent_of_peak(const Value& share) {
  return as_number<1>(100.0 * share.get<double>());
}
std::string as_gibibytes(const Value& bytes) {
  return as_number<2>(bytes.get<double>() / kGibibyte);
}

constexpr auto kPlanNumberColumns = std::to_array<Column<PlanNumbers>>({
    {"tokens_per_second_per_gpu", "tokens/s/GPU", member<&PlanNumbers::tokens_per_second_per_gpu>,
     as_number<1>},
    {"step_time_s", "step", member<&PlanNumbers::step>, as_time},
    {"model_tflops_per_gpu", "", member_in<1'000'000'000'000, &PlanNumbers::model_rate_per_gpu>},
    {"mfu", "MFU %", member<&PlanNumbers::mfu>, as_percent_of_peak},
    {"peak_memory_bytes", "memory GiB", member<&PlanNumbers::peak_memory>, as_gibibytes},
    {"clock_mhz", "", member_in<1'000'000, &PlanNumbers::clock>},
    {"power_w", "", member<&PlanNumbers::power>},
});

}  // namespace

const Columns<PlanNumbers>& plan_number_columns() {
  static constexpr Columns<PlanNumbers> kAll{kPlanNumberColumns};
  return kAll;
}

PlanLines::PlanLines(const SweepSpace& space, PlanDetail detail) : space_(&space), detail_(detail) {
  const bool experts = std::ranges::any_of(
      space.sites(), [](const Experiment& site) { return site.model.moe.has_value(); });
  experts_ = experts ? ExpertColumns::kShown : ExpertColumns::kLeftOut;
  CsvCells plan(CsvCells::Part::kNames, experts_);
  write_plan(ParallelPlan{}, plan);
  plan_columns_ = plan.cells();
  keys_ = axis_keys();
}

std::vector<PlanLines::AxisKey> PlanLines::axis_keys() const {
  std::vector<AxisKey> keys;
  for (std::size_t i = 0; i < space_->axes().size(); ++i) {
    const SweepAxis& axis = space_->axes()[i];
    for (std::size_t at = 0; axis.size() > 1 && at < axis.keys.size(); ++at) {
      AxisKey& key = keys.emplace_back();
      key.axis = i;
      key.key = axis.keys[at];
      key.column = unqualified(key.key);
      for (const std::vector<std::string>& value : axis.values) {
        key.json.push_back(json_dump(nlohmann::json(key.key)) + ":" + json_text(value[at]));
        key.csv.push_back(csv_cell(value[at]));
      }
    }
  }
  const std::vector<AxisKey> all = keys;
  for (AxisKey& key : keys) {
    const auto found = std::ranges::find(plan_columns_, key.column);
    const bool of_plan = key.key == "plan." + key.column;
    if (found != plan_columns_.end() && of_plan) {
      key.plan_column = static_cast<std::size_t>(found - plan_columns_.begin());
    }
    const auto same = std::ranges::count(all, key.column, &AxisKey::column);
    if (same > 1 || (found != plan_columns_.end() && !of_plan)) {
      key.column = key.key;
    }
  }
  return keys;
}

bool PlanLines::is_swept(std::size_t plan_column) const {
  return std::ranges::any_of(keys_,
                             [&](const AxisKey& key) { return key.plan_column == plan_column; });
}

template <typename Writer>
void PlanLines::write_place(std::int64_t index, Writer& writer) const {
  writer.field("index", index);
  writer.begin("axes");
  for (const AxisKey& key : keys_) {
    writer.member(key.json[space_->digit(index, key.axis)]);
  }
  writer.end();
}

template <typename Writer>
void PlanLines::write_numbers(const PlanNumbers& numbers, const SettledRequest& settled,
                              Writer& writer) const {
  const auto write = [&](std::string_view keys) {
    plan_number_columns().each(keys, [&](const Column<PlanNumbers>& number) {
      const double value = number.of(numbers);
      writer.field(number.key, value);
    });
  };
  write("tokens_per_second_per_gpu step_time_s model_tflops_per_gpu mfu peak_memory_bytes");
  if (detail_ == PlanDetail::kMemoryByKind) {
    const StageMemory memory = settled.site == nullptr ? StageMemory{} : fullest_memory(settled);
    writer.begin("memory");
    for (const MemoryRow& row : kMemoryRows) {
      writer.field(row.key, row.of(memory).value());
    }
    writer.field("verdict", name(memory.verdict));
    writer.end();
  }
  writer.begin("time");
  write_time(numbers.time, writer);
  writer.end();
  write("clock_mhz power_w");
}

std::string PlanLines::json(const PlanNumbers& numbers) const {
  std::string line = "{";
  line.reserve(kUsualLine);
  JsonLine writer(line);
  write_place(numbers.plan, writer);
  const SettledRequest plan = settled_request(*space_, numbers.plan);
  writer.begin("plan");
  write_plan(plan.plan, writer);
  writer.end();
  write_numbers(numbers, plan, writer);
  return line + "}";
}

std::string PlanLines::json(const RefusedPlan& refused) const {
  std::string line = "{";
  JsonLine writer(line);
  write_place(refused.plan, writer);
  writer.member("\"reason\":" + json_dump(nlohmann::json(refused.reason)));
  return line + "}";
}

std::string PlanLines::csv_header() const {
  std::string line = "index";
  for (const AxisKey& key : keys_) {
    line += "," + csv_cell(key.column);
  }
  for (std::size_t i = 0; i < plan_columns_.size(); ++i) {
    line += is_swept(i) ? "" : "," + plan_columns_[i];
  }
  CsvCells numbers(CsvCells::Part::kNames, experts_);
  write_numbers({}, {}, numbers);
  append_cells(numbers.cells(), line);
  return line + ",reason";
}

std::string PlanLines::csv(const PlanNumbers& numbers) const {
  std::string line;
  line.reserve(kUsualLine);
  append_value(line, numbers.plan);
  const SettledRequest plan = settled_request(*space_, numbers.plan);
  CsvCells cells(CsvCells::Part::kValues, experts_);
  write_plan(plan.plan, cells);
  for (const AxisKey& key : keys_) {
    line += ",";
    line += key.plan_column ? cells.cells()[*key.plan_column]
                            : key.csv[space_->digit(numbers.plan, key.axis)];
  }
  for (std::size_t i = 0; i < plan_columns_.size(); ++i) {
    line += is_swept(i) ? "" : "," + cells.cells()[i];
  }
  CsvCells values(CsvCells::Part::kValues, experts_);
  write_numbers(numbers, plan, values);
  append_cells(values.cells(), line);
  return line + ",";
}

std::string PlanLines::csv(const RefusedPlan& refused) const {
  std::string line;
  append_value(line, refused.plan);
  for (const AxisKey& key : keys_) {
    line += "," + key.csv[space_->digit(refused.plan, key.axis)];
  }
  CsvCells numbers(CsvCells::Part::kNames, experts_);
  write_numbers({}, {}, numbers);
  std::size_t empty = numbers.cells().size();
  for (std::size_t i = 0; i < plan_columns_.size(); ++i) {
    empty += is_swept(i) ? 0 : 1;
  }
  return line + std::string(empty + 1, ',') + csv_cell(refused.reason);
}

}  // namespace stepcast
