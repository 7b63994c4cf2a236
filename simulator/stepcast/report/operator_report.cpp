// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/operator_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/operators/op_text.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/explanation_report.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/report/text_report.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLegend =
    "\n  time     of one call; share: of the computation, all calls; communication before anything "
    "hides it\n"
    "  shape    product m x n x k (in groups), attention batch x sequence x heads/KV heads x head "
    "size,\n"
    "           kernel rows x columns, collective full tensor / ranks\n"
    "  rate     FLOPs of products, bytes that must move of kernels, and apart from them\n"
    "           the tensor of communication over its interconnect\n"
    "  roofline max(FLOPs / matrix peak at the clock, bytes that must move / HBM peak) over the "
    "time\n";

constexpr const char* kOriginLegend =
    "  origin   measured: rows of the table of this operator; interpolated: rows of sizes near "
    "it;\n"
    "           fallback: no row near, the model alone; model: a backend without a table\n";

// Whether a table of measurements had a say, so that origins are worth a column.
bool has_tables(const Explanation& e) {
  return std::any_of(e.operators.begin(), e.operators.end(),
                     [](const ExplainedOp& entry) { return entry.cost.origin != Origin::kModel; });
}

// What an operator achieves: products in FLOP/s, kernels bound by memory in byte/s of HBM, and
// apart from it communication in byte/s (interconnect_bytes).
struct Rate {
  FlopsPerSecond products;
  BytesPerSecond moved;
  BytesPerSecond interconnect;
};

Rate rate_of(const ExplainedOp& entry) {
  const Op& op = entry.counted.op;
  if (entry.cost.duration <= Seconds{}) {
    return {};
  }
  if (const Flops work = flops(op); work > Flops{}) {
    return {work / entry.cost.duration, {}, {}};
  }
  if (entry.communicates()) {
    return {{}, {}, entry.interconnect / entry.cost.duration};
  }
  return {{}, compulsory_bytes(op) / entry.cost.duration, {}};
}

double roofline_share(const ExplainedOp& entry) {
  return entry.cost.duration > Seconds{} ? entry.bound / entry.cost.duration : 0.0;
}

// 687 TFLOP/s, 4.09 TB/s, below 1 T in the next smaller unit.
std::string scaled(double base_units, const std::string& unit) {
  const bool tera = base_units >= 1e12;
  const double value = base_units / (tera ? 1e12 : 1e9);
  const std::string digits =
      value >= 1000.0 ? std::to_string(std::llround(value)) : significant(value, 3);
  return digits + (tera ? " T" : " G") + unit;
}

std::string rate_text(const ExplainedOp& entry) {
  const Rate rate = rate_of(entry);
  if (rate.products > FlopsPerSecond{}) {
    return scaled(rate.products.value(), "FLOP/s");
  }
  const BytesPerSecond bytes = rate.moved + rate.interconnect;
  return bytes > BytesPerSecond{} ? scaled(bytes.value(), "B/s") : "-";
}

// Backward products by what they make: the pass of a step says only "backward" of both.
std::string pass_text(const CountedOp& counted) {
  if (counted.pass == StepPass::kBackward) {
    if (const auto* gemm = std::get_if<Gemm>(&counted.op.work)) {
      return std::string(name(gemm->pass));
    }
    if (const auto* grouped = std::get_if<GroupedGemm>(&counted.op.work)) {
      return std::string(name(grouped->pass));
    }
  }
  switch (counted.pass) {
    case StepPass::kForward:
      return "fwd";
    case StepPass::kBackward:
      return "bwd";
    case StepPass::kRecompute:
      return "recomp";
    case StepPass::kOptimizer:
    case StepPass::kOnce:
      return "once";
  }
  return "";
}

std::string tile_text(const Tiling& tiling) {
  if (tiling.rows == 0) {
    return "-";
  }
  const std::string tile = std::to_string(tiling.rows) + "x" + std::to_string(tiling.cols);
  return tiling.splits > 1 ? tile + "/" + std::to_string(tiling.splits) : tile;
}

std::string share_in_percent(double share) { return decimals(100.0 * share, 1) + " %"; }

std::string terms_text(const OpCost& cost) {
  std::string text;
  for (const CostTerm& term : cost.terms) {
    text += (text.empty() ? "" : " + ") + std::string(term.name) + " " + readable(term.duration);
  }
  return text;
}

// What ran of the ways to run it: a product's tile, a communication's algorithm and protocol.
std::string how_text(const ExplainedOp& entry) {
  const std::string algorithm = run_text(entry.cost);
  return algorithm.empty() ? tile_text(entry.cost.tiling) : algorithm;
}

std::vector<std::string> cells(const ExplainedOp& entry, double share, bool with_origin) {
  const Tiling& tiling = entry.cost.tiling;
  const bool bounded = entry.bound > Seconds{} && entry.cost.duration > Seconds{};
  std::vector<std::string> row = {
      std::string(name(entry.counted.op.id)),
      pass_text(entry.counted),
      with_separators(entry.counted.count),
      shape_text(entry.counted.op),
      how_text(entry),
      tiling.waves > 0.0 ? decimals(tiling.waves, 1) : "-",
      readable(entry.cost.duration),
      share_in_percent(share),
      rate_text(entry),
      std::string(name(entry.cost.bound)),
      bounded ? std::to_string(std::llround(100.0 * roofline_share(entry))) + " %" : "-"};
  if (with_origin) {
    row.emplace_back(name(entry.cost.origin));
  }
  return row;
}

enum class Part { kComputation, kCommunication };

// One table a part, because shapes of collectives are wider than all others.
std::string operator_table(const Explanation& e, Part part, Detail detail) {
  const bool with_origin = has_tables(e);
  const bool communication = part == Part::kCommunication;
  std::vector<TextTable::Column> columns = {
      {"operator"},
      {"pass"},
      {"count", Align::kRight},
      {"shape"},
      {communication ? "ran as" : "tile"},
      {"waves", Align::kRight},
      {"time", Align::kRight},
      {"share", Align::kRight},
      {communication ? "interconnect" : "rate", Align::kRight},
      {"bound"},
      {"roofline", Align::kRight}};
  if (with_origin) {
    columns.push_back({"origin"});
  }
  TextTable table(std::move(columns));
  for (const ExplainedOp& entry : e.operators) {
    if (entry.communicates() == communication) {
      table.add_row(cells(entry, e.share(entry), with_origin),
                    detail == Detail::kTerms ? terms_text(entry.cost) : "");
    }
  }
  const Seconds sum = communication ? e.communication() : e.computation();
  const double share = e.computation() > Seconds{} ? sum / e.computation() : 0.0;
  table.add_row({communication ? "all communication" : "all computation", "", "", "", "", "",
                 readable(sum), share_in_percent(share)});
  return table.text();
}

Json tile_json(const Tiling& tiling) {
  if (tiling.rows == 0) {
    return nullptr;
  }
  return {{"rows", tiling.rows},
          {"cols", tiling.cols},
          {"splits", tiling.splits},
          {"cluster", tiling.cluster},
          {"waves", tiling.waves}};
}

// How a communication ran, and the bytes of one between experts.
void add_traffic(const ExplainedOp& entry, Json& json) {
  if (const std::string ran_as = run_text(entry.cost); !ran_as.empty()) {
    json["ran_as"] = ran_as;
  }
  if (entry.experts.tensor > Bytes{}) {
    json["tensor_bytes"] = entry.experts.tensor.value();
    json["logical_bytes"] = entry.experts.logical.value();
    json["wire_bytes"] = entry.experts.wire.value();
    json["flops"] = 0;
  }
}

Json operator_json(const Explanation& e, const ExplainedOp& entry, Detail detail) {
  const Op& op = entry.counted.op;
  Json json = {{"name", name(op.id)},
               {"pass", name(entry.counted.pass)},
               {"kind", kind_name(op)},
               {"category", category_name(op)},
               {"shape", shape_json(op)},
               {"count", entry.counted.count},
               {"time_s", entry.cost.duration.value()},
               {"total_time_s", entry.total().value()},
               {"share_of_computation", e.share(entry)},
               {"tile", tile_json(entry.cost.tiling)}};
  if (const std::string_view dtype = dtype_name(op); !dtype.empty()) {
    json["dtype"] = dtype;
  }
  add_traffic(entry, json);
  const Rate rate = rate_of(entry);
  if (rate.products > FlopsPerSecond{}) {
    json["rate_flop_per_s"] = rate.products.value();
  } else if (entry.communicates()) {
    json["effective_interconnect_tbps"] = rate.interconnect.value() / 1e12;
  } else {
    json["rate_bytes_per_s"] = rate.moved.value();
  }
  json["bound"] = name(entry.cost.bound);
  if (entry.cost.origin != Origin::kModel) {
    json["origin"] = name(entry.cost.origin);
  }
  if (entry.bound > Seconds{}) {
    json["roofline_time_s"] = entry.bound.value();
    json["roofline_share"] = roofline_share(entry);
  }
  if (detail == Detail::kTerms) {
    json["terms"] = Json::array();
    for (const CostTerm& term : entry.cost.terms) {
      json["terms"].push_back({{"name", term.name}, {"time_s", term.duration.value()}});
    }
  }
  return json;
}

// Whether one graph can hold the step.
std::string capture_text(const Projection& p) {
  std::string text;
  for (const CaptureBlocker blocker : p.capture_blockers) {
    text += (text.empty() ? "not of the whole step: " : "; ") + std::string(name(blocker));
  }
  return text.empty() ? "of the whole step, if the software captures it" : text;
}

std::string terms_csv(const OpCost& cost) {
  std::string text;
  for (const CostTerm& term : cost.terms) {
    text += (text.empty() ? "" : ";") + std::string(term.name) + "=" +
            shortest_text(term.duration.value());
  }
  return text;
}

std::string number_or_empty(double value) { return value > 0.0 ? shortest_text(value) : ""; }

}  // namespace

std::string to_text(const Explanation& e, Detail detail) {
  const Projection& p = e.projection;
  std::string text = heading(p);
  if (p.priced) {
    text += line("step time", readable(p.time.step));
    text += line("clock", decimals(p.clock.value() / 1e6, 1) + " MHz");
    text += line("bound by", limits_text(e.limits));
    text += line("CUDA graph", capture_text(p));
    text += "\nOperators of pipeline rank " + std::to_string(p.time.slowest_rank) +
            ", the slowest, in a step\n" + operator_table(e, Part::kComputation, detail);
    if (e.communication() > Seconds{}) {
      text += "\n" + operator_table(e, Part::kCommunication, detail);
    }
    text += kLegend + std::string(has_tables(e) ? kOriginLegend : "");
    text += path_to_text(e.path) + sensitivities_to_text(e.sensitivities);
  }
  return text + notes_and_reasons(p);
}

nlohmann::ordered_json to_json(const Explanation& e, Detail detail) {
  const Projection& p = e.projection;
  Json json = json_header(p);
  if (!p.priced) {
    return json;
  }
  json["step_time_s"] = p.time.step.value();
  json["clock_mhz"] = p.clock.value() / 1e6;
  json["pipeline_rank"] = p.time.slowest_rank;
  add_capture(p, json);
  json["computation_s"] = e.computation().value();
  json["communication_s"] = e.communication().value();
  json["bound_by"] = limits_to_json(e.limits);
  json["critical_path"] = path_to_json(e.path);
  json["sensitivities"] = sensitivities_to_json(e.sensitivities);
  json["operators"] = list_of(e.operators, [&](const ExplainedOp& entry) -> Value {
    return operator_json(e, entry, detail);
  });
  return json;
}

std::string to_csv(const Explanation& e, Detail detail) {
  const bool terms = detail == Detail::kTerms;
  std::string text =
      "operator,pass,kind,dtype,shape,count,time_s,total_time_s,share_of_computation,tile,waves,"
      "rate_flop_per_s,rate_bytes_per_s,effective_interconnect_tbps,bound,roofline_time_s,roofline_"
      "share";
  const bool with_origin = has_tables(e);
  text += with_origin ? ",origin" : "";
  text += terms ? ",terms_s\n" : "\n";
  for (const ExplainedOp& entry : e.operators) {
    const Op& op = entry.counted.op;
    const Rate rate = rate_of(entry);
    const Tiling& tiling = entry.cost.tiling;
    for (const std::string& cell :
         {std::string(name(op.id)), std::string(name(entry.counted.pass)),
          std::string(kind_name(op)), std::string(dtype_name(op)), shape_text(op),
          std::to_string(entry.counted.count), shortest_text(entry.cost.duration.value()),
          shortest_text(entry.total().value()), shortest_text(e.share(entry)),
          tiling.rows > 0 ? tile_text(tiling) : "", number_or_empty(tiling.waves),
          number_or_empty(rate.products.value()), number_or_empty(rate.moved.value()),
          number_or_empty(rate.interconnect.value() / 1e12), std::string(name(entry.cost.bound)),
          number_or_empty(entry.bound.value())}) {
      text += csv_cell(cell) + ",";
    }
    text += number_or_empty(roofline_share(entry));
    text += with_origin ? "," + std::string(name(entry.cost.origin)) : "";
    text += terms ? "," + csv_cell(terms_csv(entry.cost)) + "\n" : "\n";
  }
  return text;
}

}  // namespace stepcast
