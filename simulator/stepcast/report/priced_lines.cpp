// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/priced_lines.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/dispatchers/expert_traffic.hpp"
#include "stepcast/hardware/device_spec.hpp"
#include "stepcast/operator_lines/op_text.hpp"
#include "stepcast/report/columns.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// Calls `read` with every line that is not blank, and its number.
template <typename Read>
void for_each_line(std::string_view text, const Read& read) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      read(line, number);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

struct WrittenLine {
  std::string_view text;
  OperatorLine work;
};

std::vector<WrittenLine> read_lines(std::string_view text, const std::string& name,
                                    const DeviceSpec& device) {
  Diagnostics diagnostics;
  std::vector<WrittenLine> lines;
  for_each_line(text, [&](std::string_view line, int number) {
    if (const auto object = parse_json_object(line, json_line(name, number), diagnostics)) {
      MappingReader fields(*object, RecordWording{"line"}, diagnostics);
      lines.push_back({line, read_operator(fields, device)});
      refuse_keys_of_other_kinds(fields);
      fields.report_missing();
    }
  });
  diagnostics.throw_if_any();
  return lines;
}

void add_terms(const OpCost& cost, Json& line) {
  Json& terms = line["terms"] = Json::object();
  for (const CostTerm& term : cost.terms) {
    terms[std::string(term.name)] = term.duration.value();
  }
  const Tiling& tiling = cost.tiling;
  if (tiling.rows > 0) {
    line["tiling"] = {{"rows", tiling.rows},
                      {"cols", tiling.cols},
                      {"splits", tiling.splits},
                      {"cluster", tiling.cluster},
                      {"waves", tiling.waves}};
  }
}

// A number of bytes, which is mostly whole.
Json bytes_json(Bytes bytes) {
  const double value = bytes.value();
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

// Bytes of an exchange by three conventions, the rate of a communication's tensor and that of an
// exchange's bytes on the wire.
void add_traffic(const Op& op, const ClusterSpec& cluster, Seconds duration, Json& line) {
  const std::int64_t domain = cluster.domain_size();
  const CommunicationBytes bytes = expert_communication_bytes(op, domain);
  if (bytes.tensor > Bytes{}) {
    line["tensor_bytes"] = bytes_json(bytes.tensor);
    line["logical_bytes"] = bytes_json(bytes.logical);
    line["wire_bytes"] = bytes_json(bytes.wire);
    line["flops"] = 0;
    if (duration > Seconds{}) {
      line["wire_tbps"] = (bytes.wire / duration).value() / 1e12;
    }
  }
  const Bytes carried = interconnect_bytes(op, domain);
  if (carried > Bytes{} && duration > Seconds{}) {
    line["effective_interconnect_tbps"] = (carried / duration).value() / 1e12;
  }
}

Json priced_json(const WrittenLine& line, const LinePricing& pricing) {
  OperatorLine work = line.work;
  if (pricing.locked_clock && work.state.power != PowerState::kLocked) {
    work.state = {PowerState::kLocked, *pricing.locked_clock};
  }
  const PricedOp priced = price(work, pricing.model, pricing.cluster, pricing.detail);
  Json json = Json::parse(line.text);
  json["predicted_s"] = priced.cost.duration.value();
  json["clock_mhz"] = priced.clock.value() / 1e6;
  json["bound"] = name(priced.cost.bound);
  json["category"] = category_name(work.op);
  if (const std::string ran_as = run_text(priced.cost); !ran_as.empty()) {
    json["ran_as"] = ran_as;
  }
  if (priced.cost.origin != Origin::kModel) {
    json["origin"] = name(priced.cost.origin);
  }
  if (const auto* exchange = std::get_if<ExpertExchange>(&work.op.work)) {
    const std::string assumed = assumed_exchange(pricing.cluster.device, exchange->dispatcher);
    if (!assumed.empty()) {
      json["assumed"] = assumed;
    }
  }
  if (std::string note = estimate_note(pricing.cluster.device); !note.empty()) {
    json["estimate"] = std::move(note);
  }
  add_traffic(as_run(work.op, pricing.cluster), pricing.cluster, priced.cost.duration, json);
  if (pricing.detail == Detail::kTerms) {
    add_terms(priced.cost, json);
  }
  return json;
}

}  // namespace

Hertz locked_clock(double mhz, const DeviceSpec& device, const Location& where) {
  const double peak = device.clock.peak.value() / 1e6;
  if (!(mhz >= 1.0 && mhz <= peak)) {
    throw ConfigError(where, shortest_text(mhz) + " is out of range; give 1 to the peak of " +
                                 device.name + ", " + shortest_text(peak));
  }
  return Hertz(mhz * 1e6);
}

Watts power_limit(const std::string& text, const PowerSpec& power, const Location& where) {
  const ParsedQuantity<Watts> parsed = parse_quantity<Watts>(text);
  if (!parsed.value || *parsed.value <= power.idle) {
    throw ConfigError(where, "'" + text + "' must be a power with its unit, '500 W', above the " +
                                 format_quantity(power.idle) + " that the GPU draws without work");
  }
  return *parsed.value;
}

std::string priced_lines(std::string_view text, const std::string& name,
                         const LinePricing& pricing) {
  return text_list(
      read_lines(text, name, pricing.cluster.device), "",
      [&pricing](const WrittenLine& line) { return priced_json(line, pricing).dump() + "\n"; });
}

std::string priced_csv(std::string_view text, const std::string& name, const LinePricing& pricing) {
  std::vector<std::map<std::string, std::string>> rows;  // cells by their columns
  std::vector<std::string> columns;
  std::set<std::string> known;
  for (const WrittenLine& line : read_lines(text, name, pricing.cluster.device)) {
    auto& cells = rows.emplace_back();
    for_each_leaf(priced_json(line, pricing), [&](const std::string& key, const Value& value) {
      if (value.is_null()) {
        return;
      }
      cells[key] = csv_cell(value.is_string() ? value.get<std::string>() : value.dump());
      if (known.insert(key).second) {
        columns.push_back(key);
      }
    });
  }
  std::string csv = text_list(columns, ",", csv_cell) + (columns.empty() ? "" : "\n");
  for (auto& cells : rows) {
    for (const std::string& column : columns) {
      csv += (&column == &columns.front() ? "" : ",") + cells[column];
    }
    csv += "\n";
  }
  return csv;
}

}  // namespace stepcast
