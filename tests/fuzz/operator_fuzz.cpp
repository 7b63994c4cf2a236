// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "backends/builtin_backends.hpp"
#include "fuzz/targets.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/operator_lines/operator_line.hpp"

namespace stepcast::fuzz {
namespace {

const ClusterSpec& fabric() {
  static const ClusterSpec cluster =
      fabric_of(load_gpu("h200_sxm", DataRoot{STEPCAST_DATA_ROOT}, {"fuzz", 0, 0}));
  return cluster;
}

void check_price(const OperatorLine& line) {
  static const CostModel model = default_cost_model();
  const PricedOp priced = price(line, model, fabric(), Detail::kTerms);
  promise(std::isfinite(priced.cost.duration.value()), "a price is not finite");
  promise(priced.cost.duration >= Seconds{}, "a price is negative");
  promise(priced.clock > Hertz{}, "there is no clock");
}

}  // namespace

int fuzz_operator(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  Diagnostics diagnostics;
  const std::optional<ConfigNode> object =
      parse_json_object(text, json_line("fuzz", 1), diagnostics);
  promise(object || !diagnostics.empty(), "no object and no error");
  if (object) {
    MappingReader fields(*object, RecordWording{"line"}, diagnostics);
    const OperatorLine line = read_operator(fields, fabric().device);
    fields.report_missing();
    if (diagnostics.empty()) {
      check_price(line);
    }
  }
  for (const Diagnostic& problem : diagnostics.entries()) {
    const auto column = static_cast<std::size_t>(problem.where.column);
    promise(problem.where.line >= 1 && column >= 1 && column <= size + 1, "an error has no place");
    promise(!problem.message.empty(), "an error has no message");
  }
  return 0;
}

}  // namespace stepcast::fuzz
