// SPDX-License-Identifier: Apache-2.0
#include "stepcast/operator_lines/op_text.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

struct KindNames {
  std::string_view kind;
  std::string_view category;
};
constexpr KindNames kExchange{"dispatch", "EP communication"};
// In the order of OpWork; of what memory bounds the kernel's family is the category.
constexpr std::array kKinds = {KindNames{"gemm", "GEMM"},
                               KindNames{"grouped_gemm", "grouped GEMM"},
                               KindNames{"attention", "attention"},
                               KindNames{"memory_bound", ""},
                               KindNames{"collective", "collective"},
                               kExchange,
                               KindNames{"linear_attention", "linear attention"},
                               KindNames{"sparse_attention", "sparse attention"},
                               KindNames{"index_scores", "index scores"}};
static_assert(kKinds.size() == std::variant_size_v<OpWork>);

std::string times(std::initializer_list<std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  }
  return text;
}

// Two sizes as one where they are equal: 64, or 64/8.
std::string pair(std::int64_t first, std::int64_t second) {
  return std::to_string(first) + (first == second ? "" : "/" + std::to_string(second));
}

std::string text_of(const Gemm& op) {
  const std::string one = times({op.m, op.n, op.k});
  return op.batch == 1 ? one : std::to_string(op.batch) + " of " + one;
}
std::string text_of(const GroupedGemm& op) {
  return times({op.m_total, op.n, op.k}) + " in " + std::to_string(op.groups);
}
// Batch, sequence, heads and their sizes.
template <typename Mixer>
std::string heads_text(const Mixer& op) {
  return std::to_string(op.batch) + " x " + pair(op.seq_q, op.seq_kv) + " x " +
         pair(op.heads, op.kv_heads) + " x " + pair(op.d_qk, op.d_v);
}
std::string text_of(const Attention& op) {
  const bool windowed = op.window > 0 && op.window < op.seq_kv;
  return heads_text(op) + (windowed ? " w" + std::to_string(op.window) : "") +
         (shortens(op.documents, op.seq_kv) ? " d" + std::to_string(op.documents.length) : "") +
         (op.mask_tensor ? " masked" : "");
}
std::string ratio_text(std::int64_t ratio) {
  return ratio == 1 ? "" : " of 1/" + std::to_string(ratio);
}
std::string text_of(const LinearAttention& op) {
  return std::to_string(op.batch) + " x " + std::to_string(op.seq) + " x " +
         pair(op.heads, op.qk_heads) + " x " + pair(op.d_k, op.d_v) + " c" +
         std::to_string(op.chunk);
}
std::string text_of(const SparseAttention& op) {
  return heads_text(op) + " top " + std::to_string(op.chosen) + ratio_text(op.ratio) +
         (op.window > 0 ? " w" + std::to_string(op.window) : "");
}
std::string text_of(const IndexScores& op) {
  return std::to_string(op.batch) + " x " + pair(op.seq_q, op.seq_kv) + " x " +
         std::to_string(op.heads) + " x " + std::to_string(op.d) + " top " +
         std::to_string(op.chosen) + ratio_text(op.ratio);
}
std::string text_of(const MemoryBound& op) { return times({op.rows, op.cols}); }
std::string text_of(const Collective& op) {
  return std::string(name(op.op)) + " " + readable(op.bytes) + " / " +
         std::to_string(op.group.size);
}
std::string text_of(const ExpertExchange& op) {
  return std::string(name(op.dispatcher)) + " " + times({op.tokens, op.hidden}) + " top " +
         std::to_string(op.topk) + " of " + std::to_string(op.experts) + " / " +
         std::to_string(op.group.size);
}

Json json_of(const Gemm& op) {
  return {{"m", op.m}, {"n", op.n}, {"k", op.k}, {"batch", op.batch}, {"pass", name(op.pass)}};
}
Json json_of(const GroupedGemm& op) {
  return {{"groups", op.groups},
          {"m_total", op.m_total},
          {"n", op.n},
          {"k", op.k},
          {"pass", name(op.pass)}};
}
template <typename Mixer>
Json heads_json(const Mixer& op) {
  return {{"batch", op.batch},       {"seq", op.seq_q}, {"seq_kv", op.seq_kv}, {"heads", op.heads},
          {"kv_heads", op.kv_heads}, {"d_qk", op.d_qk}, {"d_v", op.d_v}};
}
Json json_of(const Attention& op) {
  Json json = {{"implementation", name(op.kernel)}};
  json.update(heads_json(op));
  json["causal"] = op.causal;
  json["window"] = op.window;
  json["pass"] = name(op.direction);
  if (op.documents.length > 0) {
    json["document_length"] = op.documents.length;
    json["document_lengths"] = name(op.documents.lengths);
  }
  if (op.mask_tensor) {
    json["mask_tensor"] = true;
  }
  if (op.kernel == AttentionKernel::kUnfused && op.scores != Implementation::kFused) {
    json["scores"] = name(op.scores);
  }
  return json;
}
Json json_of(const LinearAttention& op) {
  return {{"rule", name(op.rule)}, {"batch", op.batch},       {"seq", op.seq},
          {"heads", op.heads},     {"qk_heads", op.qk_heads}, {"d_k", op.d_k},
          {"d_v", op.d_v},         {"chunk", op.chunk},       {"pass", name(op.direction)}};
}
Json json_of(const SparseAttention& op) {
  Json json = heads_json(op);
  json["chosen"] = op.chosen;
  json["ratio"] = op.ratio;
  json["window"] = op.window;
  json["sinks"] = op.sinks;
  json["implementation"] = name(op.kernel);
  json["pass"] = name(op.direction);
  return json;
}
Json json_of(const IndexScores& op) {
  return {{"batch", op.batch},
          {"seq", op.seq_q},
          {"seq_kv", op.seq_kv},
          {"heads", op.heads},
          {"d", op.d},
          {"chosen", op.chosen},
          {"ratio", op.ratio},
          {"teacher_heads", op.teacher_heads},
          {"teacher_d", op.teacher_d},
          {"pass", name(op.direction)}};
}
Json json_of(const MemoryBound& op) {
  Json json = {{"op", name(op.kind)},
               {"implementation", name(op.implementation)},
               {"rows", op.rows},
               {"cols", op.cols},
               {"element_bytes", op.element.value()},
               {"pass", name(op.direction)}};
  if (op.taps > 1) {
    json["taps"] = op.taps;
  }
  return json;
}
Json json_of(const Collective& op) {
  return {{"op", name(op.op)},
          {"axis", name(op.axis)},
          {"bytes", op.bytes.value()},
          {"ranks", op.group.size},
          {"stride", op.group.stride}};
}
Json json_of(const ExpertExchange& op) {
  return {{"dispatcher", name(op.dispatcher)},
          {"primitive", name(op.primitive)},
          {"tokens", op.tokens},
          {"hidden", op.hidden},
          {"experts", op.experts},
          {"topk", op.topk},
          {"ep", op.group.size},
          {"stride", op.group.stride},
          {"num_sms", op.compute_units},
          {"routing", name(op.routing.kind)}};
}

}  // namespace

std::string_view category_name(const Op& op) {
  constexpr std::array<std::string_view, 3> kFamilies = {"elementwise", "copy", "optimizer"};
  static_assert(kFamilies.size() == static_cast<std::size_t>(KernelFamily::kUpdate) + 1);
  if (const auto* kernel = std::get_if<MemoryBound>(&op.work)) {
    return kFamilies[static_cast<std::size_t>(family_of(kernel->kind))];
  }
  const bool of_experts = communication_axis(op) == Axis::kExpert;
  return of_experts ? kExchange.category : kKinds[op.work.index()].category;
}

std::string run_text(const OpCost& cost) {
  return std::string(cost.algorithm) + (cost.protocol.empty() ? "" : " ") +
         std::string(cost.protocol);
}

std::string_view kind_name(const Op& op) {
  if (const auto* exchange = std::get_if<ExpertExchange>(&op.work)) {
    return name(exchange->phase);
  }
  return kKinds[op.work.index()].kind;
}

std::string_view dtype_name(const Op& op) {
  return std::visit(
      [](const auto& work) -> std::string_view {
        using Work = std::decay_t<decltype(work)>;
        if constexpr (std::is_same_v<Work, MemoryBound> || std::is_same_v<Work, Collective>) {
          return "";
        } else {
          return name(work.dtype);
        }
      },
      op.work);
}

std::string shape_text(const Op& op) {
  return std::visit([](const auto& work) { return text_of(work); }, op.work);
}

nlohmann::ordered_json shape_json(const Op& op) {
  return std::visit([](const auto& work) { return json_of(work); }, op.work);
}

}  // namespace stepcast
