// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/operator_lines/op_text.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/explanation_report.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/step_reports.hpp"

namespace stepcast {
namespace {

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
  return std::ranges::any_of(
      e.operators, [](const ExplainedOp& entry) { return entry.cost.origin != Origin::kModel; });
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
  constexpr std::array<std::string_view, 5> kTexts = {"fwd", "bwd", "recomp", "once", "once"};
  return std::string(entry(kTexts, counted.pass));
}

std::string tile_text(const Tiling& tiling) {
  if (tiling.rows == 0) {
    return "-";
  }
  const std::string tile = std::to_string(tiling.rows) + "x" + std::to_string(tiling.cols);
  return tiling.splits > 1 ? tile + "/" + std::to_string(tiling.splits) : tile;
}

std::string terms_text(const OpCost& cost) {
  return text_list(cost.terms, " + ", [](const CostTerm& term) {
    return std::string(term.name) + " " + readable(term.duration);
  });
}

// What ran of the ways to run it: a product's tile, a communication's algorithm and protocol.
std::string how_text(const ExplainedOp& entry) {
  const std::string algorithm = run_text(entry.cost);
  return algorithm.empty() ? tile_text(entry.cost.tiling) : algorithm;
}

std::string terms_csv(const OpCost& cost) {
  return text_list(cost.terms, ";", [](const CostTerm& term) {
    return std::string(term.name) + "=" + shortest_text(term.duration.value());
  });
}

// --- an operator as a row -----------------------------------------------------------------------

struct OpRow {
  const ExplainedOp& entry;
  double share = 0.0;  // of the computation

  [[nodiscard]] const CountedOp& counted() const { return entry.counted; }
  [[nodiscard]] const Op& op() const { return entry.counted.op; }
  [[nodiscard]] const OpCost& cost() const { return entry.cost; }
  [[nodiscard]] Seconds total() const { return entry.total(); }
};

// Nothing of a number that is 0.
template <Value (*kOf)(const OpRow&)>
Value above_zero(const OpRow& row) {
  Value value = kOf(row);
  return has_value(value) && value.get<double>() > 0.0 ? value : no_value();
}
Value unless_empty(std::string_view text) { return text.empty() ? no_value() : Value(text); }

Value waves(const OpRow& row) { return row.entry.cost.tiling.waves; }
Value bound_time(const OpRow& row) { return row.entry.bound.value(); }
Value roofline_share(const OpRow& row) {
  const Seconds time = row.entry.cost.duration;
  return time > Seconds{} ? row.entry.bound / time : 0.0;
}
Value product_rate(const OpRow& row) { return rate_of(row.entry).products.value(); }
Value byte_rate(const OpRow& row) { return rate_of(row.entry).moved.value(); }
Value interconnect_rate(const OpRow& row) { return rate_of(row.entry).interconnect.value() / 1e12; }
// Of a communication between the ranks of experts.
template <Bytes CommunicationBytes::*kBytes>
Value of_experts(const OpRow& row) {
  const CommunicationBytes& bytes = row.entry.experts;
  return bytes.tensor > Bytes{} ? Value((bytes.*kBytes).value()) : no_value();
}

std::string as_rounded_percent(const Value& share) {
  return std::to_string(std::llround(100.0 * share.get<double>())) + " %";
}

// Null of what has no tiles.
Value tile_json(const OpRow& row) {
  const Tiling& tiling = row.cost().tiling;
  return tiling.rows == 0 ? Value(nullptr)
                          : Value{{"rows", tiling.rows},
                                  {"cols", tiling.cols},
                                  {"splits", tiling.splits},
                                  {"cluster", tiling.cluster},
                                  {"waves", tiling.waves}};
}

Value terms_json(const OpRow& row) {
  return list_of(row.cost().terms, [](const CostTerm& term) -> Value {
    return {{"name", term.name}, {"time_s", term.duration.value()}};
  });
}

Value category_cell(const OpRow& row) { return category_name(row.op()); }
Value dtype_cell(const OpRow& row) { return unless_empty(dtype_name(row.op())); }
Value ran_as_cell(const OpRow& row) { return unless_empty(run_text(row.cost())); }
Value stated_origin(const OpRow& row) {
  const Origin origin = row.cost().origin;
  return origin == Origin::kModel ? no_value() : value_of(origin);
}
// Nothing computes while tokens are on their way.
Value exchange_flops(const OpRow& row) {
  return row.entry.experts.tensor > Bytes{} ? Value(0) : no_value();
}
Value wire_rate(const OpRow& row) {
  const Bytes wire = row.entry.experts.wire;
  const Seconds time = row.entry.cost.duration;
  const bool known = wire > Bytes{} && time > Seconds{};
  return known ? Value((wire / time).value() / 1e12) : no_value();
}
Value rate_of_communication(const OpRow& row) {
  return row.entry.communicates() ? interconnect_rate(row) : no_value();
}
Value rate_of_moved(const OpRow& row) {
  const bool moves = !row.entry.communicates() && !(product_rate(row) > 0.0);
  return moves ? byte_rate(row) : no_value();
}
Value bounded_share(const OpRow& row) {
  return row.entry.bound > Seconds{} ? roofline_share(row) : no_value();
}
Value pass_cell(const OpRow& row) { return pass_text(row.counted()); }
Value shape_cell(const OpRow& row) { return shape_text(row.op()); }
Value how_cell(const OpRow& row) { return how_text(row.entry); }
Value rate_cell(const OpRow& row) { return rate_text(row.entry); }
Value tile_cell(const OpRow& row) {
  const Tiling& tiling = row.cost().tiling;
  return tiling.rows > 0 ? Value(tile_text(tiling)) : no_value();
}

using OpColumn = Column<OpRow>;
constexpr std::array kOpColumns = {
    OpColumn{"name", "operator", member<&OpRow::op, &Op::id>, as_text, Align::kLeft},
    OpColumn{"pass", "", member<&OpRow::counted, &CountedOp::pass>},
    OpColumn{"kind", "", [](const OpRow& row) -> Value { return kind_name(row.op()); }},
    OpColumn{"category", "", category_cell},
    OpColumn{"shape", "", [](const OpRow& row) -> Value { return shape_json(row.op()); }},
    OpColumn{"count", "count", member<&OpRow::counted, &CountedOp::count>, as_count},
    OpColumn{"time_s", "time", member<&OpRow::cost, &OpCost::duration>, as_time},
    OpColumn{"total_time_s", "", member<&OpRow::total>},
    OpColumn{"share_of_computation", "share", member<&OpRow::share>, as_percent<1>},
    OpColumn{"tile", "", tile_json},
    OpColumn{"dtype", "", dtype_cell},
    OpColumn{"ran_as", "", ran_as_cell},
    OpColumn{"tensor_bytes", "", of_experts<&CommunicationBytes::tensor>},
    OpColumn{"logical_bytes", "", of_experts<&CommunicationBytes::logical>},
    OpColumn{"wire_bytes", "", of_experts<&CommunicationBytes::wire>},
    OpColumn{"flops", "", exchange_flops},
    OpColumn{"rate_flop_per_s", "", above_zero<product_rate>},
    OpColumn{"effective_interconnect_tbps", "", rate_of_communication},
    OpColumn{"wire_tbps", "", wire_rate},
    OpColumn{"rate_bytes_per_s", "", rate_of_moved},
    OpColumn{"bound", "bound", member<&OpRow::cost, &OpCost::bound>, as_text, Align::kLeft},
    OpColumn{"origin", "", stated_origin},
    OpColumn{"roofline_time_s", "", above_zero<bound_time>},
    OpColumn{"roofline_share", "", bounded_share},
    OpColumn{"terms", "", terms_json},
    // Of tables and CSV.
    OpColumn{"pass_text", "pass", pass_cell, as_text, Align::kLeft},
    OpColumn{"shape_text", "shape", shape_cell, as_text, Align::kLeft},
    OpColumn{"how", "tile", how_cell, as_text, Align::kLeft},
    OpColumn{"how_communicated", "ran as", how_cell, as_text, Align::kLeft},
    OpColumn{"tile_text", "", tile_cell},
    OpColumn{"waves", "waves", above_zero<waves>, as_number<1>},
    OpColumn{"rate", "rate", rate_cell},
    OpColumn{"interconnect", "interconnect", rate_cell},
    OpColumn{"bytes_rate", "", above_zero<byte_rate>},
    OpColumn{"interconnect_rate", "", above_zero<interconnect_rate>},
    OpColumn{"roofline", "roofline", above_zero<roofline_share>, as_rounded_percent},
    OpColumn{"any_origin", "origin", member<&OpRow::cost, &OpCost::origin>, as_text, Align::kLeft},
    OpColumn{"terms_text", "", [](const OpRow& row) -> Value { return terms_csv(row.cost()); }},
};
constexpr Columns<OpRow> kOps{kOpColumns};

constexpr std::string_view kMembers =
    "name pass kind category shape count time_s total_time_s share_of_computation tile dtype "
    "ran_as tensor_bytes logical_bytes wire_bytes flops rate_flop_per_s "
    "effective_interconnect_tbps wire_tbps rate_bytes_per_s bound origin roofline_time_s "
    "roofline_share";

// One table a part, because shapes of collectives are wider than all others.
enum class Part { kComputation, kCommunication };

std::string operator_table(const Explanation& e, Part part, Detail detail) {
  const bool communication = part == Part::kCommunication;
  const std::string keys =
      std::string(communication ? "name pass_text count shape_text how_communicated waves time_s "
                                  "share_of_computation interconnect bound roofline"
                                : "name pass_text count shape_text how waves time_s "
                                  "share_of_computation rate bound roofline") +
      (has_tables(e) ? " any_origin" : "");
  TextTable table = kOps.table(keys, std::vector<OpRow>{});
  for (const ExplainedOp& entry : e.operators) {
    if (entry.communicates() == communication) {
      table.add_row(kOps.cells(keys, {entry, e.share(entry)}),
                    detail == Detail::kTerms ? terms_text(entry.cost) : "");
    }
  }
  const Seconds sum = communication ? e.communication() : e.computation();
  const double share = e.computation() > Seconds{} ? sum / e.computation() : 0.0;
  table.add_row({communication ? "all communication" : "all computation", "", "", "", "", "",
                 readable(sum), as_percent<1>(share)});
  return table.text();
}

// Whether one graph can hold the step.
std::string capture_text(const Projection& p) {
  std::string text;
  for (const CaptureBlocker blocker : p.capture_blockers) {
    text += (text.empty() ? "not of the whole step: " : "; ") + std::string(name(blocker));
  }
  return text.empty() ? "of the whole step, if the software captures it" : text;
}

}  // namespace

std::string to_text(const Explanation& e, Detail detail) {
  const Projection& p = e.projection;
  std::string text = heading(p);
  if (p.priced) {
    text += line("step time", readable(p.time.step));
    text += line("clock", decimals(p.clock.value() / 1e6, 1) + " MHz");
    text += line("bound by", limits_text(e.limits));
    text += line("CUDA graph", capture_text(p));
    text += waterfall_to_text(e) + advice_to_text(e.advice);
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
  Value json = json_header(p);
  if (!p.priced) {
    return json;
  }
  json["step_time_s"] = p.time.step.value();
  json["clock_mhz"] = p.clock.value() / 1e6;
  json["pipeline_rank"] = p.time.slowest_rank;
  add_capture(p, json);
  json["computation_s"] = e.computation().value();
  json["communication_s"] = e.communication().value();
  json["mfu"] = p.mfu;
  json["waterfall"] = waterfall_to_json(e.waterfall);
  json["advice"] = advice_to_json(e.advice);
  json["bound_by"] = limits_to_json(e.limits);
  json["critical_path"] = path_to_json(e.path);
  json["sensitivities"] = sensitivities_to_json(e.sensitivities);
  const std::string members = std::string(kMembers) + (detail == Detail::kTerms ? " terms" : "");
  json["operators"] = list_of(e.operators, [&](const ExplainedOp& entry) {
    return kOps.json(members, {entry, e.share(entry)});
  });
  return json;
}

std::string to_csv(const Explanation& e, Detail detail) {
  const std::string cells =
      "name:operator pass kind dtype shape_text:shape count time_s total_time_s "
      "share_of_computation tile_text:tile waves rate_flop_per_s bytes_rate:rate_bytes_per_s "
      "interconnect_rate:effective_interconnect_tbps wire_tbps bound roofline_time_s "
      "roofline:roofline_share" +
      std::string(has_tables(e) ? " any_origin:origin" : "") +
      (detail == Detail::kTerms ? " terms_text:terms_s" : "");
  std::string text = Columns<OpRow>::csv_titles(cells) + "\n";
  for (const ExplainedOp& entry : e.operators) {
    text += kOps.csv_cells(cells, {entry, e.share(entry)}) + "\n";
  }
  return text;
}

}  // namespace stepcast
