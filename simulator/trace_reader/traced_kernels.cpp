// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/traced_kernels.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stepcast/config/json_node.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLargestCount = 2147483648.0;

// PyTorch's operators on 8-bit operands take their scales; their names say so.
bool is_scaled(std::string_view op) { return op.find("scaled_") != std::string_view::npos; }

// As a line of `stepcast cost`; null for what has none.
Json line_of(const TracedOperator& row) {
  const auto& s = row.shape->sizes;
  const std::string_view dtype = is_scaled(row.name) ? "fp8" : "bf16";
  switch (row.category) {
    case StepCategory::kGemm:
      return {{"kind", "gemm"}, {"m", s[1]},     {"n", s[2]},
              {"k", s[3]},      {"batch", s[0]}, {"dtype", dtype}};
    case StepCategory::kGroupedGemm:
      return {{"kind", "grouped_gemm"},
              {"groups", s[0]},
              {"m_total", s[1]},
              {"n", s[2]},
              {"k", s[3]},
              {"pass", row.shape->weight_gradient ? "wgrad" : "fwd"},
              {"dtype", dtype}};
    case StepCategory::kAttentionForward:
    case StepCategory::kAttentionBackward:
      return {{"kind", "attention"},
              {"batch", s[0]},
              {"seq", s[1]},
              {"seq_kv", s[2]},
              {"heads", s[3]},
              {"kv_heads", s[3]},
              {"d_qk", s[4]},
              {"d_v", s[5]},
              {"pass", row.category == StepCategory::kAttentionForward ? "fwd" : "bwd"}};
    case StepCategory::kAllGather:
    case StepCategory::kReduceScatter:
    case StepCategory::kAllReduce:
    case StepCategory::kAllToAll:
      return {{"kind", "collective"}, {"op", name(row.category)}, {"bytes", s[1]}, {"ranks", s[0]}};
    default:
      return nullptr;
  }
}

bool sizes_fit(const TracedOperator& row) {
  return is_communication(row.category)
             ? ranks_of(*row.shape) > 1
             : static_cast<double>(std::ranges::max(row.shape->sizes)) <= kLargestCount;
}

}  // namespace

std::vector<MeasuredKernel> traced_kernels(const MeasuredStep& step, const DeviceSpec& device,
                                           const std::string& file) {
  std::vector<MeasuredKernel> kernels;
  Diagnostics diagnostics;
  for (const TracedOperator& row : step.operators) {
    const Seconds own = row.time - row.waiting;
    Json line = row.shape && sizes_fit(row) ? line_of(row) : Json(nullptr);
    if (line.is_null() || !(own > Seconds{})) {
      continue;
    }
    line["state"] = "mixed";
    line["launch"] = "none";
    const ConfigNode object = json_node(line, {file, static_cast<int>(kernels.size()) + 1});
    MappingReader fields(object, RecordWording{"operator"}, diagnostics);
    MeasuredKernel& kernel = kernels.emplace_back();
    kernel.id = shape_text(*row.shape);
    kernel.gpu = device.name;
    kernel.group = device.name + " trace " + std::string(name(row.category));
    kernel.work = read_operator(fields, device);
    fields.report_missing();
    kernel.quantities = {{Metric::kTime, (own / static_cast<double>(row.calls)).value()}};
  }
  diagnostics.throw_if_any();
  return kernels;
}

}  // namespace stepcast
