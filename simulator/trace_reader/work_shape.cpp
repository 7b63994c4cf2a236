// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/work_shape.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stepcast/base/units_text.hpp"
#include "stepcast/dispatchers/expert_traffic.hpp"

namespace stepcast {
namespace {

using Sizes = std::vector<std::int64_t>;
using Shapes = std::vector<Sizes>;

constexpr double kLargestSize = 1e12;

// How an operator's inputs lie.
enum class DimsForm {
  kProduct,      // [m, k], [k, n], or both with a batch in front
  kLinear,       // [..., k], [n, k]
  kGrouped,      // [rows, k], [groups, k, n], [groups], or [n, rows], [rows, k], [groups]
  kHeadsFirst,   // q, k and v as [batch, heads, tokens, size]
  kTokensFirst,  // as [batch, tokens, heads, size]
};

struct KnownOperator {
  std::string_view published;
  DimsForm form;
  std::size_t first = 0;  // place of the first operand; gradients stand before q
};
constexpr std::array kKnownOperators = {
    KnownOperator{"aten::mm", DimsForm::kProduct},
    KnownOperator{"aten::matmul", DimsForm::kProduct},
    KnownOperator{"aten::_scaled_mm", DimsForm::kProduct},
    KnownOperator{"aten::_int_mm", DimsForm::kProduct},
    KnownOperator{"primus_turbo::hipblaslt_gemm_fp8", DimsForm::kProduct},
    KnownOperator{"primus_turbo::hipblaslt_gemm_fp4", DimsForm::kProduct},
    KnownOperator{"aten::bmm", DimsForm::kProduct},
    KnownOperator{"aten::addmm", DimsForm::kProduct, 1},
    KnownOperator{"aten::_addmm_activation", DimsForm::kProduct, 1},
    KnownOperator{"aten::baddbmm", DimsForm::kProduct, 1},
    KnownOperator{"aten::linear", DimsForm::kLinear},
    KnownOperator{"aten::_grouped_mm", DimsForm::kGrouped},
    KnownOperator{"aten::_scaled_grouped_mm", DimsForm::kGrouped},
    KnownOperator{"primus_turbo::grouped_gemm", DimsForm::kGrouped},
    KnownOperator{"primus_turbo::grouped_gemm_variable_k", DimsForm::kGrouped},
    KnownOperator{"aten::scaled_dot_product_attention", DimsForm::kHeadsFirst},
    KnownOperator{"aten::_scaled_dot_product_flash_attention", DimsForm::kHeadsFirst},
    KnownOperator{"aten::_scaled_dot_product_cudnn_attention", DimsForm::kHeadsFirst},
    KnownOperator{"aten::_scaled_dot_product_efficient_attention", DimsForm::kHeadsFirst},
    KnownOperator{"aten::_cudnn_attention_forward", DimsForm::kHeadsFirst},
    KnownOperator{"aten::_scaled_dot_product_flash_attention_backward", DimsForm::kHeadsFirst, 1},
    KnownOperator{"aten::_scaled_dot_product_cudnn_attention_backward", DimsForm::kHeadsFirst, 1},
    KnownOperator{"aten::_scaled_dot_product_efficient_attention_backward", DimsForm::kHeadsFirst,
                  1},
    KnownOperator{"aten::_cudnn_attention_backward", DimsForm::kHeadsFirst, 1},
    KnownOperator{"aten::_flash_attention_forward", DimsForm::kTokensFirst},
    KnownOperator{"aten::_efficient_attention_forward", DimsForm::kTokensFirst},
    KnownOperator{"flash_attn::_flash_attn_forward", DimsForm::kTokensFirst},
    KnownOperator{"flash_attn_3::fwd", DimsForm::kTokensFirst},
    KnownOperator{"aiter::_flash_attn_forward", DimsForm::kTokensFirst},
    KnownOperator{"aten::_flash_attention_backward", DimsForm::kTokensFirst, 1},
    KnownOperator{"aten::_efficient_attention_backward", DimsForm::kTokensFirst, 1},
    KnownOperator{"flash_attn::_flash_attn_backward", DimsForm::kTokensFirst, 1},
    KnownOperator{"flash_attn_3::bwd", DimsForm::kTokensFirst, 1},
    KnownOperator{"aiter::_flash_attn_backward", DimsForm::kTokensFirst, 1},
};

struct ElementSize {
  std::string_view dtype;
  double bytes;
};
constexpr std::array kElements = {ElementSize{"BFloat16", 2}, ElementSize{"Half", 2},
                                  ElementSize{"Short", 2},    ElementSize{"Byte", 1},
                                  ElementSize{"Char", 1},     ElementSize{"Bool", 1},
                                  ElementSize{"Long", 8},     ElementSize{"Double", 8}};

double element_bytes(std::string_view dtype) {
  const auto* const known = std::ranges::find(kElements, dtype, &ElementSize::dtype);
  const double of_eight_bits = dtype.starts_with("Float8") ? 1.0 : 4.0;
  return known == kElements.end() ? of_eight_bits : known->bytes;
}

// --- the shapes of kinds ------------------------------------------------------------------------

WorkShape gemm_shape(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {StepCategory::kGemm, false, {batch, std::max(m, n), std::min(m, n), k}};
}

WorkShape grouped_shape(bool weights, std::int64_t groups, std::int64_t rows, std::int64_t n,
                        std::int64_t k) {
  return {StepCategory::kGroupedGemm, weights, {groups, rows, std::max(n, k), std::min(n, k)}};
}

// A transfer is between two, whatever group it is called in.
WorkShape communication_shape(StepCategory category, std::int64_t ranks, double bytes) {
  ranks = category == StepCategory::kSendRecv ? 2 : ranks;
  const double held = std::clamp(bytes, 0.0, 9e15);
  return {category, false, {ranks, static_cast<std::int64_t>(held)}};
}

std::optional<WorkShape> product_shape(const Sizes& a, const Sizes& b) {
  if (a.size() != b.size() || a.size() < 2 || a.size() > 3 || a.back() != b[b.size() - 2]) {
    return std::nullopt;
  }
  const std::int64_t batch = a.size() == 3 ? a.front() : 1;
  return gemm_shape(batch, a[a.size() - 2], b.back(), a.back());
}

std::optional<WorkShape> linear_shape(const Sizes& x, const Sizes& weight) {
  if (x.size() < 2 || weight.size() != 2 || x.back() != weight[1]) {
    return std::nullopt;
  }
  double rows = 1.0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    rows *= static_cast<double>(x[i]);
  }
  if (rows > kLargestSize) {
    return std::nullopt;
  }
  return gemm_shape(1, static_cast<std::int64_t>(rows), weight[0], weight[1]);
}

std::optional<WorkShape> grouped_from(const Shapes& shapes, std::size_t first) {
  const Sizes& a = shapes[first];
  const Sizes& b = shapes[first + 1];
  if (a.size() == 2 && b.size() == 3) {
    const bool transposed = b[1] != a[1];  // [groups, n, k]
    return grouped_shape(false, b[0], a[0], transposed ? b[1] : b[2], a[1]);
  }
  const bool counted = shapes.size() > first + 2 && shapes[first + 2].size() == 1;
  if (a.size() == 2 && b.size() == 2 && counted && a[1] == b[0]) {
    return grouped_shape(true, shapes[first + 2][0], a[1], a[0], b[1]);
  }
  return std::nullopt;
}

std::optional<WorkShape> attention_shape(StepCategory category, const Shapes& shapes,
                                         std::size_t first, DimsForm form) {
  const bool attends =
      category == StepCategory::kAttentionForward || category == StepCategory::kAttentionBackward;
  if (!attends || shapes.size() < first + 3) {
    return std::nullopt;
  }
  const Sizes& q = shapes[first];
  const Sizes& k = shapes[first + 1];
  const Sizes& v = shapes[first + 2];
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) {
    return std::nullopt;
  }
  const std::size_t heads = form == DimsForm::kHeadsFirst ? 1 : 2;
  const std::size_t tokens = 3 - heads;
  return WorkShape{category, false, {q[0], q[tokens], k[tokens], q[heads], q[3], v[3]}};
}

// A kernel that Triton's template of FlexAttention makes, [q, k, v, logsumexp, ...]. The first two
// lie as [batch, heads, tokens, size] or with heads and tokens exchanged, v perhaps inside another
// tensor; forward's last tensor of four dimensions is the result, backward's eighth v's gradient.
std::optional<WorkShape> flex_shape(StepCategory category, const Shapes& shapes) {
  constexpr std::size_t kValues = 2;
  constexpr std::size_t kLogSumExp = 3;
  constexpr std::size_t kValuesGradient = 7;
  if (shapes.size() <= kValuesGradient || shapes[0].size() != 4 || shapes[1].size() != 4 ||
      shapes[kLogSumExp].size() != 3) {
    return std::nullopt;
  }
  const Sizes& q = shapes[0];
  const std::int64_t heads = shapes[kLogSumExp][1];
  const std::int64_t tokens = shapes[kLogSumExp][2];
  const bool heads_first = q[1] == heads && q[2] == tokens;
  const Sizes* v = &shapes[kValues];
  if (v->size() != 4 && category == StepCategory::kAttentionBackward) {
    v = &shapes[kValuesGradient];
  } else if (v->size() != 4) {
    v = &*std::find_if(shapes.rbegin(), shapes.rend(),
                       [](const Sizes& sizes) { return sizes.size() == 4; });
  }
  return WorkShape{category,
                   false,
                   {q[0], tokens, shapes[1][heads_first ? 2 : 1], heads, q[3],
                    v->size() == 4 ? v->back() : q[3]}};
}

bool is_flex(StepCategory category, std::string_view op) {
  const bool attends =
      category == StepCategory::kAttentionForward || category == StepCategory::kAttentionBackward;
  return attends && op.starts_with("triton_tem") &&
         op.find("flex_attention") != std::string_view::npos;
}

std::optional<WorkShape> shape_from(StepCategory category, const KnownOperator& known,
                                    const Shapes& shapes) {
  if (shapes.size() < known.first + 2) {
    return std::nullopt;
  }
  switch (known.form) {
    case DimsForm::kProduct:
      return product_shape(shapes[known.first], shapes[known.first + 1]);
    case DimsForm::kLinear:
      return linear_shape(shapes[known.first], shapes[known.first + 1]);
    case DimsForm::kGrouped:
      return grouped_from(shapes, known.first);
    case DimsForm::kHeadsFirst:
    case DimsForm::kTokensFirst:
      return attention_shape(category, shapes, known.first, known.form);
  }
  return std::nullopt;
}

Sizes sizes_in(const nlohmann::json& list) {
  Sizes sizes;
  for (const nlohmann::json& size : list.is_array() ? list : nlohmann::json::array()) {
    const double value = size.is_number() ? size.get<double>() : 0.0;
    sizes.push_back(value >= 1.0 && value <= kLargestSize ? static_cast<std::int64_t>(value) : 0);
  }
  return sizes;
}

std::string times(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + " x " + std::to_string(b);
}

// The bytes that a rank hands to an exchange, as collectives of all-to-all are counted.
double exchanged_bytes(const ExpertExchange& op) {
  return static_cast<double>(op.tokens) * static_cast<double>(op.topk) * exchange_row(op).value();
}

}  // namespace

std::vector<std::vector<std::int64_t>> shapes_in(const std::string& text) {
  Shapes shapes;
  const nlohmann::json lists = nlohmann::json::parse(text, nullptr, false);
  for (const nlohmann::json& list : lists.is_array() ? lists : nlohmann::json::array()) {
    shapes.push_back(sizes_in(list));
  }
  return shapes;
}

std::vector<std::vector<std::int64_t>> tensors_in(const std::string& text) {
  Shapes shapes;
  const nlohmann::json lists = nlohmann::json::parse(text, nullptr, false);
  for (const nlohmann::json& list : lists.is_array() ? lists : nlohmann::json::array()) {
    const bool nested = list.is_array() && !list.empty() && list.front().is_array();
    for (const nlohmann::json& sizes : nested ? list : nlohmann::json::array({list})) {
      shapes.push_back(sizes_in(sizes));
    }
  }
  return shapes;
}

std::string shape_text(const WorkShape& shape) {
  const auto& s = shape.sizes;
  switch (shape.category) {
    case StepCategory::kGemm:
      return (s[0] > 1 ? std::to_string(s[0]) + " of " : "") + times(s[1], s[2]) + " x " +
             std::to_string(s[3]);
    case StepCategory::kGroupedGemm:
      return times(s[1], s[2]) + " x " + std::to_string(s[3]) + " in " + std::to_string(s[0]) +
             (shape.weight_gradient ? " wgrad" : "");
    case StepCategory::kAttentionForward:
    case StepCategory::kAttentionBackward:
      return (shape.category == StepCategory::kAttentionForward ? "fwd " : "bwd ") +
             times(s[0], s[1]) + (s[2] == s[1] ? "" : "/" + std::to_string(s[2])) + " x " +
             times(s[3], s[4]) + (s[5] == s[4] ? "" : "/" + std::to_string(s[5]));
    default:
      return readable(Bytes(static_cast<double>(s[1]))) + " / " + std::to_string(s[0]);
  }
}

std::optional<WorkShape> work_shape(const Op& op) {
  struct Visitor {
    StepCategory category;
    std::optional<WorkShape> operator()(const Gemm& w) const {
      return gemm_shape(w.batch, w.m, w.n, w.k);
    }
    std::optional<WorkShape> operator()(const GroupedGemm& w) const {
      return grouped_shape(w.pass == GemmPass::kWgrad, w.groups, w.m_total, w.n, w.k);
    }
    std::optional<WorkShape> operator()(const Attention& w) const {
      return WorkShape{category, false, {w.batch, w.seq_q, w.seq_kv, w.heads, w.d_qk, w.d_v}};
    }
    // What a trace calls these does not say their sizes.
    std::optional<WorkShape> operator()(const LinearAttention&) const { return std::nullopt; }
    std::optional<WorkShape> operator()(const SparseAttention&) const { return std::nullopt; }
    std::optional<WorkShape> operator()(const IndexScores&) const { return std::nullopt; }
    std::optional<WorkShape> operator()(const MemoryBound& /*work*/) const { return std::nullopt; }
    std::optional<WorkShape> operator()(const Collective& w) const {
      return communication_shape(category, w.group.size, w.bytes.value());
    }
    std::optional<WorkShape> operator()(const ExpertExchange& w) const {
      return communication_shape(category, w.group.size, exchanged_bytes(w));
    }
  };
  return std::visit(Visitor{category_of(op)}, op.work);
}

std::optional<WorkShape> work_shape(StepCategory category, std::string_view op,
                                    const std::string& input_dims) {
  const auto* const known = std::ranges::find(kKnownOperators, op, &KnownOperator::published);
  const bool flex = is_flex(category, op);
  if (known == kKnownOperators.end() && !flex) {
    return std::nullopt;
  }
  std::optional<WorkShape> shape = flex ? flex_shape(category, shapes_in(input_dims))
                                        : shape_from(category, *known, shapes_in(input_dims));
  const bool whole =
      shape && shape->category == category &&
      std::all_of(shape->sizes.begin(), shape->sizes.begin() + 4, [](auto s) { return s > 0; });
  return whole ? shape : std::nullopt;
}

std::optional<WorkShape> work_shape(StepCategory category, const CollectiveSizes& sizes) {
  const double elements =
      category == StepCategory::kAllGather ? sizes.out_elements : sizes.in_elements;
  if (!is_communication(category) || !(elements > 0.0)) {
    return std::nullopt;
  }
  return communication_shape(category, sizes.ranks, elements * element_bytes(sizes.dtype));
}

double bytes_of(const WorkShape& shape) { return static_cast<double>(shape.sizes[1]); }

std::int64_t ranks_of(const WorkShape& shape) { return shape.sizes[0]; }

}  // namespace stepcast
