// SPDX-License-Identifier: Apache-2.0
#include "importers/row_readers.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "frameworks/words.hpp"
#include "importers/published_names.hpp"
#include "trace_reader/work_shape.hpp"

namespace stepcast {
namespace {

using nlohmann::json;

constexpr double kLargeGemm = 5e9;  // FLOPs
constexpr Range<std::int64_t> kSize{1, std::int64_t{1} << 31};

using Shape = std::vector<std::int64_t>;

// A size that is none counts as one.
std::vector<Shape> shapes_from(const std::string& text) {
  std::vector<Shape> shapes = shapes_in(text);
  for (Shape& shape : shapes) {
    std::ranges::replace(shape, 0, 1);
  }
  return shapes;
}

double tensor_elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>());
}

// --- kinds ------------------------------------------------------------------------------------

struct Layout {
  std::string_view trans;
  const char* pass;
  bool swapped;  // the transposed product has the layout of the pass
};
constexpr std::array kLayouts = {Layout{"NT", "fwd", false}, Layout{"NN", "dgrad", false},
                                 Layout{"TN", "wgrad", false}, Layout{"TT", "dgrad", true}};

std::string prepare_gemm(ForeignRow& row, const std::string& trans) {
  const Layout* const layout = row_with(kLayouts, &Layout::trans, trans);
  if (layout == nullptr) {
    throw RefusedRow{"input missing: the layout of the operands"};
  }
  row.rename("B", "batch");
  row.rename("M", layout->swapped ? "n" : "m");
  row.rename("N", layout->swapped ? "m" : "n");
  row.rename("K", "k");
  row.set_text("kind", "gemm");
  row.set_text("pass", layout->pass);
  return "trace";
}

const char* attention_kernel(const std::string& op) {
  if (op.find("cudnn") != std::string::npos) {
    return "cudnn";
  }
  if (op.starts_with("aiter::")) {
    return "aiter";
  }
  if (op.find("flash") != std::string::npos) {
    return "flash2";
  }
  throw RefusedRow{"feature unsupported: the attention kernel " + op};
}

// The shapes of q, k and v, without a mask.
Attention attention_from(const std::vector<Shape>& shapes, const std::string& op) {
  const auto four = [](const Shape& shape) { return shape.size() == 4; };
  if (shapes.size() < 3 || !std::all_of(shapes.begin(), shapes.begin() + 3, four)) {
    throw RefusedRow{"input missing: shapes of q, k and v"};
  }
  // PyTorch's own operators have heads before tokens, those of the libraries after them.
  const bool heads_first = op.starts_with("aten::");
  const std::size_t heads = heads_first ? 1 : 2;
  const std::size_t tokens = heads_first ? 2 : 1;
  return {.batch = shapes[0][0],
          .seq_q = shapes[0][tokens],
          .seq_kv = shapes[1][tokens],
          .heads = shapes[0][heads],
          .kv_heads = shapes[1][heads],
          .d_qk = shapes[0][3],
          .d_v = shapes[2][3],
          .causal = false};
}

// Whether the row's own rate counts about half of the FLOPs.
bool is_causal(const ConfigNode& row, const Attention& full) {
  constexpr double kBetween = 0.75;
  const ConfigNode* rate = row.find("tflops_per_s");
  const ConfigNode* time = row.find("kernel_us_median");
  if (rate == nullptr || time == nullptr) {
    throw RefusedRow{"input missing: whether the mask is causal"};
  }
  const double counted = number_of(*rate).value_or(0.0) * number_of(*time).value_or(0.0) * 1e6;
  return counted < kBetween * flops(full).value();
}

std::string prepare_attention(ForeignRow& row, const std::string& op) {
  const Attention full = attention_from(shapes_from(row.text("input_dims")), op);
  const char* kernel = attention_kernel(op);
  row.set_flag("causal", is_causal(row.object, full) ? Truth::kTrue : Truth::kFalse);
  row.set_text("kind", "attention");
  row.set_text("implementation", kernel);
  row.set_count("batch", full.batch);
  row.set_count("seq", full.seq_q);
  row.set_count("seq_kv", full.seq_kv);
  row.set_count("heads", full.heads);
  row.set_count("kv_heads", full.kv_heads);
  row.set_count("d_qk", full.d_qk);
  row.set_count("d_v", full.d_v);
  return std::string(kernel) + " trace fwd";
}

std::string prepare_norm(ForeignRow& row, const std::string& op, const std::vector<Shape>& shapes) {
  const bool backward = op.ends_with("_backward");
  const bool layer = op == "aten::layer_norm" || op == "aten::native_layer_norm_backward" ||
                     op == "aten::_fused_rms_norm";
  if (!layer) {
    throw RefusedRow{"feature unsupported: the norm " + op};
  }
  const std::size_t weight = backward ? 5 : 2;
  if (shapes.size() <= weight || shapes[weight].empty()) {
    throw RefusedRow{"input missing: the shape of the norm's weight"};
  }
  const double cols = tensor_elements(shapes[weight]);
  const double rows = tensor_elements(shapes[0]) / cols;
  constexpr double kLargest = 2147483648.0;
  if (!(rows >= 1.0 && rows <= kLargest && cols <= kLargest)) {
    throw RefusedRow{"input missing: the shape of the norm's input"};
  }
  row.set_text("kind", "memory_bound");
  row.set_text("op", "norm");
  row.set_text("pass", backward ? "bwd" : "fwd");
  row.set_count("rows", static_cast<std::int64_t>(rows));
  row.set_count("cols", static_cast<std::int64_t>(cols));
  return backward ? "norm trace bwd" : "norm trace fwd";
}

struct PublishedCollective {
  std::string_view published;
  CollectiveOp op;
  const char* elements;  // of the full tensor
};
constexpr std::array kTracedCollectives = {
    PublishedCollective{"_allgather_base", CollectiveOp::kAllGather, "out_nelems"},
    PublishedCollective{"_reduce_scatter_base", CollectiveOp::kReduceScatter, "in_nelems"},
    PublishedCollective{"allreduce", CollectiveOp::kAllReduce, "in_nelems"},
};

// A whole number of an object; 0 without it.
std::int64_t count_in(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  const bool whole = object.is_object() && found != object.end() && found->is_number_integer();
  return whole ? found->get<std::int64_t>() : 0;
}

std::string prepare_collective(ForeignRow& row, const std::string& op, const std::string& dtype,
                               const std::string& extra) {
  const PublishedCollective* const known =
      row_with(kTracedCollectives, &PublishedCollective::published, op);
  if (known == nullptr) {
    throw RefusedRow{"feature unsupported: the collective " + op};
  }
  const json parsed = json::parse(extra, nullptr, false);
  const std::int64_t ranks = count_in(parsed, "group_size");
  const std::int64_t elements = count_in(parsed, known->elements);
  if (ranks < 1 || elements < 1 || elements > kSize.highest) {
    throw RefusedRow{"input missing: the size of the group or of the tensor"};
  }
  const std::int64_t element = dtype == "BFloat16" || dtype == "Half" ? 2 : 4;
  row.erase("dtype");
  row.set_text("kind", "collective");
  row.set_text("op", std::string(name(known->op)));
  row.set_count("ranks", ranks);
  row.set_count("bytes", elements * element);
  return std::string(name(known->op)) + " x" + std::to_string(ranks) + " trace";
}

// Makes an operator line of the row; gives the end of its group's name. Throws RefusedRow.
std::string prepare(ForeignRow& row, const std::string& category) {
  const std::string op = row.text("op");
  if (category == "GEMM") {
    return prepare_gemm(row, row.text("trans"));
  }
  if (category == "SDPA_fwd") {
    return prepare_attention(row, op);
  }
  if (category == "NORM_fwd" || category == "NORM_bwd") {
    return prepare_norm(row, op, shapes_from(row.text("input_dims")));
  }
  if (category == "collective") {
    return prepare_collective(row, op, row.text("dtype"), row.text("extra"));
  }
  throw RefusedRow{"feature unsupported: operators of the category " + category};
}

std::string size_of_gemm(const OperatorLine& work) {
  if (!std::holds_alternative<Gemm>(work.op.work)) {
    return "";
  }
  return flops(work.op).value() >= kLargeGemm ? " above 5 GFLOP" : " below 5 GFLOP";
}

}  // namespace

void read_trace_operator(ForeignRow& row, std::vector<Record>& records) {
  const ForeignRow original = row;
  MappingReader written = original.fields();
  const std::string published = written.required_text("gpu");
  const std::string category = written.required_text("category");
  const char* column = category == "collective" ? "kernel_us_min" : "kernel_us_median";
  const double time = written.required_number(column, kMeasuredMicroseconds);
  Record record;
  std::string gpu = published;
  try {
    gpu = required_gpu(published, row.profiles);
    const std::string group = prepare(row, category);
    if (row.has("m")) {
      row.erase("op");  // of PyTorch
    }
    row.set_text("launch", "none");
    MappingReader fields = row.fields();
    const ForeignOperator read = operator_in(row, fields, row.profiles.gpu(gpu));
    fields.report_missing();
    const bool collective = communication_axis(read.line.op).has_value();
    record = {{"gpu", gpu}, {"operator", read.record}};
    record["group"] = gpu + " " + (collective ? "" : std::string(name(read.line.dtype)) + " ") +
                      group + size_of_gemm(read.line);
  } catch (const RefusedRow& refusal) {
    record = {{"gpu", gpu}, {"group", published + " " + category}, {"skipped", refusal.reason}};
  }
  record["measured"] = {{"time_s", time * 1e-6}};
  if (const std::string source = row.text("source"); !source.empty()) {
    record["source"] = source;
  }
  written.report_missing();
  records.push_back(std::move(record));
}

}  // namespace stepcast
