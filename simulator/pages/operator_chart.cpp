// SPDX-License-Identifier: Apache-2.0
#include "pages/operator_chart.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "stepcast/operators/op_text.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// The dtype of a matrix product; nothing of other operators.
std::optional<Dtype> product_dtype(const Op& op) {
  return std::visit(
      [](const auto& work) -> std::optional<Dtype> {
        using Work = std::decay_t<decltype(work)>;
        if constexpr (std::is_same_v<Work, MemoryBound> || kIsCommunication<Work>) {
          return std::nullopt;
        } else {
          return work.dtype;
        }
      },
      op.work);
}

// The dense peak of each format that the products of a step have, at the step's clock.
Json peaks_of(const Explanation& explanation, const DeviceSpec& device) {
  std::vector<Dtype> seen;
  Json peaks = Json::array();
  for (const ExplainedOp& entry : explanation.operators) {
    const std::optional<Dtype> dtype = product_dtype(entry.counted.op);
    if (!dtype || std::find(seen.begin(), seen.end(), *dtype) != seen.end()) {
      continue;
    }
    seen.push_back(*dtype);
    const std::optional<FlopsPerSecond> peak =
        device.matrix_peak(*dtype, explanation.projection.clock);
    if (peak) {
      peaks.push_back({{"dtype", name(*dtype)}, {"flop_per_s", peak->value()}});
    }
  }
  return peaks;
}

}  // namespace

nlohmann::ordered_json operator_chart(const Experiment& experiment,
                                      const Explanation& explanation) {
  if (!explanation.projection.priced) {
    return nullptr;
  }
  const DeviceSpec& device = experiment.cluster.device;
  Json operators = Json::array();
  for (std::size_t i = 0; i < explanation.operators.size(); ++i) {
    const Op& op = explanation.operators[i].counted.op;
    const double work = flops(op).value();
    const double bytes = compulsory_bytes(op).value();
    if (work > 0.0 && bytes > 0.0) {
      operators.push_back({{"operator", i}, {"flops", work}, {"bytes", bytes}});
    }
  }
  return {{"memory_bytes_per_s", device.hbm.peak.value()},
          {"clock_mhz", explanation.projection.clock.value() / 1e6},
          {"peaks", peaks_of(explanation, device)},
          {"operators", std::move(operators)}};
}

}  // namespace stepcast
