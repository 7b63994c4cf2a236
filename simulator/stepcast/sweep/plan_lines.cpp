// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/memory/usual_plan.hpp"
#include "stepcast/report/plan_fields.hpp"
#include "stepcast/report/time_rows.hpp"

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
  return plain
             ? text
             : nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_value(std::string& line, std::int64_t value) {
  std::array<char, 24> digits{};
  line.append(digits.data(), std::to_chars(digits.data(), &digits.back(), value).ptr);
}

void append_value(std::string& line, bool value) { line += value ? "true" : "false"; }

// As nlohmann writes numbers in every other report.
void append_value(std::string& line, double value) {
  std::array<char, 64> digits{};
  line.append(digits.data(),
              nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), value));
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

// The values of a line of CSV, or the names of its columns.
class CsvLine {
 public:
  CsvLine(std::string& line, bool header, bool experts)
      : line_(line), header_(header), experts_(experts) {}

  template <typename Value>
  void field(std::string_view key, const Value& value) {
    if (skipped()) {
      return;
    }
    separate();
    if (header_) {
      line_ += inner_;
      line_ += key;
    } else {
      append_value(line_, value);
    }
  }
  void field(std::string_view key, std::string_view name) {
    if (skipped()) {
      return;
    }
    separate();
    if (header_) {
      line_ += inner_;
    }
    line_ += header_ ? key : name;
  }
  void begin(std::string_view key) {
    if (key != "plan") {
      inner_ = std::string(key) + ".";
    }
  }
  void end() { inner_.clear(); }
  void member(std::string_view text) {
    separate();
    line_ += text;
  }

 private:
  [[nodiscard]] bool skipped() const { return !experts_ && inner_ == "expert_exchange."; }
  void separate() { line_ += line_.empty() ? "" : ","; }

  std::string& line_;
  bool header_;
  bool experts_;
  std::string inner_;
};

template <typename Writer>
void write_numbers(const PlanNumbers& numbers, Writer& writer) {
  writer.field("tokens_per_second_per_gpu", numbers.tokens_per_second_per_gpu);
  writer.field("step_time_s", numbers.step.value());
  writer.field("model_tflops_per_gpu", numbers.model_rate_per_gpu.value() / 1e12);
  writer.field("mfu", numbers.mfu);
  writer.field("peak_memory_bytes", numbers.peak_memory.value());
  writer.begin("time");
  write_time(numbers.time, writer);
  writer.end();
  writer.field("clock_mhz", numbers.clock.value() / 1e6);
  writer.field("power_w", numbers.power.value());
}

}  // namespace

PlanLines::PlanLines(const SweepSpace& space) : space_(&space) {
  experts_ = std::any_of(space.sites().begin(), space.sites().end(),
                         [](const Experiment& site) { return site.model.moe.has_value(); });
  for (std::size_t i = 0; i < space.axes().size(); ++i) {
    const SweepAxis& axis = space.axes()[i];
    if (axis.size() < 2) {
      continue;
    }
    AxisText text{.axis = i, .json = {}, .csv = {}};
    for (const std::vector<std::string>& value : axis.values) {
      std::string json;
      std::string csv;
      for (std::size_t key = 0; key < value.size(); ++key) {
        json += (key == 0 ? "" : ",") + nlohmann::json(axis.keys[key]).dump() + ":" +
                json_text(value[key]);
        csv += (key == 0 ? "" : ",") + csv_cell(value[key]);
      }
      text.json.push_back(std::move(json));
      text.csv.push_back(std::move(csv));
    }
    axes_.push_back(std::move(text));
  }
}

ParallelPlan PlanLines::plan_of(std::int64_t index) const {
  const SweepRequest request = space_->request(index);
  const Experiment& site = space_->sites()[request.site];
  return settle_plan(request.plan, site.model, request.training, site.cluster, site.software).plan;
}

std::string PlanLines::json(const PlanNumbers& numbers) const {
  std::string line = "{";
  line.reserve(kUsualLine);
  JsonLine writer(line);
  writer.field("index", numbers.plan);
  writer.begin("axes");
  for (const AxisText& axis : axes_) {
    writer.member(axis.json[space_->digit(numbers.plan, axis.axis)]);
  }
  writer.end();
  writer.begin("plan");
  write_plan(plan_of(numbers.plan), writer);
  writer.end();
  write_numbers(numbers, writer);
  return line + "}";
}

std::string PlanLines::csv_header() const {
  std::string line;
  CsvLine writer(line, true, experts_);
  writer.field("index", std::int64_t{});
  for (const AxisText& axis : axes_) {
    for (const std::string& key : space_->axes()[axis.axis].keys) {
      writer.member(csv_cell(key));
    }
  }
  write_plan(ParallelPlan{}, writer);
  write_numbers({}, writer);
  return line;
}

std::string PlanLines::csv(const PlanNumbers& numbers) const {
  std::string line;
  line.reserve(kUsualLine);
  CsvLine writer(line, false, experts_);
  writer.field("index", numbers.plan);
  for (const AxisText& axis : axes_) {
    writer.member(axis.csv[space_->digit(numbers.plan, axis.axis)]);
  }
  write_plan(plan_of(numbers.plan), writer);
  write_numbers(numbers, writer);
  return line;
}

}  // namespace stepcast
