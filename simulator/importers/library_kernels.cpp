// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "importers/published_names.hpp"
#include "importers/row_readers.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {
namespace {

constexpr double kMicrosecond = 1e-6;
constexpr Range<std::int64_t> kExtent{1, std::int64_t{1} << 40};
constexpr Range<std::int64_t> kZeroOrOne{0, 1};

// As operators call the format that a row is in.
struct LibraryFormat {
  std::string_view theirs;
  std::string_view ours;
};
constexpr std::array kLibraryFormats = {
    LibraryFormat{"bf16", "bf16"}, LibraryFormat{"fp8_tensorwise", "fp8"},
    LibraryFormat{"fp8", "fp8"}, LibraryFormat{"fp8_blockwise", "fp8_block"}};

enum class LibraryKernel { kGemm, kGrouped, kAttention };

// Forward is one kernel. Backward of a product is two, of inputs and of weights, whose times the
// source adds.
struct LibraryOperation {
  std::string_view theirs;
  LibraryKernel kernel = LibraryKernel::kGemm;
  Direction direction = Direction::kForward;
};
constexpr std::array kLibraryOperations = {
    LibraryOperation{"gemm"}, LibraryOperation{"gemm_fwd"},
    LibraryOperation{"gemm_bwd", LibraryKernel::kGemm, Direction::kBackward},
    LibraryOperation{"grouped_gemm_fwd", LibraryKernel::kGrouped},
    // Forward products of experts, into and out of their feed-forward.
    LibraryOperation{"grouped_gemm_up", LibraryKernel::kGrouped},
    LibraryOperation{"grouped_gemm_down", LibraryKernel::kGrouped},
    LibraryOperation{"grouped_gemm_bwd", LibraryKernel::kGrouped, Direction::kBackward},
    LibraryOperation{"attention_fwd", LibraryKernel::kAttention},
    LibraryOperation{"attention_bwd", LibraryKernel::kAttention, Direction::kBackward}};

std::string format_of(const std::string& published) {
  const auto* const known = std::ranges::find(kLibraryFormats, published, &LibraryFormat::theirs);
  if (known == kLibraryFormats.end()) {
    throw RefusedRow{"feature unsupported: format " + published};
  }
  return std::string(known->ours);
}

LibraryOperation operation_of(const std::string& published) {
  const auto* const known =
      std::ranges::find(kLibraryOperations, published, &LibraryOperation::theirs);
  if (known == kLibraryOperations.end()) {
    throw RefusedRow{"feature unsupported: operation " + published};
  }
  return *known;
}

// What one timed call of a benchmark's program holds besides its products, read off the program.
struct BenchmarkProgram {
  std::string_view library;  // what the rows' library begins with
  // Whether a product in 8 bits converts its operands within the time: of a forward both, of a
  // backward the gradient; with a scale a block a backward converts the gradient along rows and
  // along columns, and the input, which was kept in 16 bits, along columns.
  bool converts = false;
  // Whether autograd adds each gradient to that of the call before: the program keeps them.
  bool adds_gradients = false;
};
constexpr std::array kPrograms = {
    // AMD-AGI/Primus-Turbo at 6094c573: benchmark/ops/bench_gemm_turbo.py,
    // bench_grouped_gemm_turbo.py
    // and bench_attention_turbo.py time out.backward(grad_out, retain_graph=True), hundred calls
    // without a zeroed gradient; primus_turbo/pytorch/ops/gemm_fp8.py and grouped_gemm_fp8.py.
    BenchmarkProgram{"Primus-Turbo", true, true}};

BenchmarkProgram program_of(const std::string& library) {
  const auto* const known = std::ranges::find_if(kPrograms, [&](const BenchmarkProgram& program) {
    return library.starts_with(program.library);
  });
  return known == kPrograms.end() ? BenchmarkProgram{} : *known;
}

using Key = std::string_view;
constexpr std::array kTime = {Key("latency_us")};
constexpr std::array kProductShape = {Key("M"), Key("N"), Key("K")};
constexpr std::array kGroupedShape = {Key("groups"), Key("M"), Key("N"), Key("K")};
constexpr std::array kAttentionShape = {Key("batch"),    Key("seq"),         Key("heads_q"),
                                        Key("heads_kv"), Key("head_dim_qk"), Key("head_dim_v")};
constexpr std::array kRemarks = {Key("version"), Key("case"), Key("note")};

// Averages and tuned kernels stand in the table without a shape or without a time.
void need(const ForeignRow& row, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (!row.has(key)) {
      throw RefusedRow{"input missing: no " + std::string(key)};
    }
  }
}

void need_shape(const ForeignRow& row, LibraryKernel kernel) {
  need(row, kTime);
  switch (kernel) {
    case LibraryKernel::kGemm:
      return need(row, kProductShape);
    case LibraryKernel::kGrouped:
      return need(row, kGroupedShape);
    case LibraryKernel::kAttention:
      return need(row, kAttentionShape);
  }
}

// Of M tokens (of each of `groups` experts), K inputs and N outputs.
struct ProductExtents {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::optional<std::int64_t> groups;
};

Record product(const ProductExtents& size, std::string_view pass, const std::string& dtype) {
  Record record = {{"kind", size.groups ? "grouped_gemm" : "gemm"}};
  if (size.groups) {
    record["groups"] = *size.groups;
    record["m_total"] = *size.groups * size.m;
  } else {
    record["m"] = size.m;
  }
  record["n"] = size.n;
  record["k"] = size.k;
  record["dtype"] = dtype;
  record["pass"] = std::string(pass);
  return record;
}

// dX of M x K sums over N, dW of N x K over M; grouped products keep M and name the pass.
Record input_gradient(const ProductExtents& size, const std::string& dtype) {
  return product({size.m, size.k, size.n, size.groups}, "dgrad", dtype);
}
Record weight_gradient(const ProductExtents& size, const std::string& dtype) {
  return size.groups ? product(size, "wgrad", dtype)
                     : product({size.n, size.k, size.m, {}}, "wgrad", dtype);
}

Record memory_bound(std::string_view op, std::int64_t rows, std::int64_t cols) {
  return {{"kind", "memory_bound"}, {"op", std::string(op)}, {"rows", rows}, {"cols", cols}};
}

// The rows of all groups.
std::int64_t input_rows(const ProductExtents& size) { return size.groups.value_or(1) * size.m; }
std::int64_t weight_rows(const ProductExtents& size) { return size.groups.value_or(1) * size.n; }

bool is_8bit(std::string_view dtype) { return dtype.starts_with("fp8"); }

// With one scale a tensor its maximum is found first, in a pass of its own.
Record conversion(const std::string& dtype, std::int64_t rows, std::int64_t cols) {
  if (dtype == "fp8_block") {
    return memory_bound("quantize_block", rows, cols);
  }
  Record quantize = memory_bound("quantize", rows, cols);
  quantize["implementation"] = "compiled";
  return quantize;
}

Record forward_conversions(const ProductExtents& size, const std::string& dtype) {
  return Record::array(
      {conversion(dtype, input_rows(size), size.k), conversion(dtype, weight_rows(size), size.k)});
}

Record backward_conversions(const ProductExtents& size, const std::string& dtype) {
  const Record gradient = conversion(dtype, input_rows(size), size.n);
  if (dtype != "fp8_block") {
    return Record::array({gradient});
  }
  return Record::array({gradient, gradient, conversion(dtype, input_rows(size), size.k)});
}

void append(Record& list, const Record& more) { list.insert(list.end(), more.begin(), more.end()); }

void add_product(MappingReader& fields, const LibraryOperation& operation, const std::string& dtype,
                 Record& record) {
  ProductExtents size;
  size.m = fields.required_count("M", kExtent);
  size.n = fields.required_count("N", kExtent);
  size.k = fields.required_count("K", kExtent);
  if (operation.kernel == LibraryKernel::kGrouped) {
    size.groups = fields.required_count("groups", kExtent);
  }
  const BenchmarkProgram program = program_of(fields.optional_text("library"));
  const bool converts = program.converts && is_8bit(dtype);
  Record before = Record::array();
  if (operation.direction == Direction::kForward) {
    record["operator"] = product(size, "fwd", dtype);
    append(before, converts ? forward_conversions(size, dtype) : Record::array());
  } else {
    append(before, converts ? backward_conversions(size, dtype) : Record::array());
    before.push_back(input_gradient(size, dtype));
    record["operator"] = weight_gradient(size, dtype);
    if (program.adds_gradients) {
      before.push_back(memory_bound("add_partial", input_rows(size), size.k));
      before.push_back(memory_bound("add_partial", weight_rows(size), size.k));
    }
  }
  if (!before.empty()) {
    record["before"] = before;
  }
}

// Of queries, keys and values, each of batch x seq rows.
Record attention_gradient_sums(const Record& attention) {
  const auto extent = [&](const char* key) { return attention[key].get<std::int64_t>(); };
  const std::int64_t rows = extent("batch") * extent("seq");
  return Record::array({memory_bound("add_partial", rows, extent("heads") * extent("d_qk")),
                        memory_bound("add_partial", rows, extent("kv_heads") * extent("d_qk")),
                        memory_bound("add_partial", rows, extent("kv_heads") * extent("d_v"))});
}

void add_attention(MappingReader& fields, const LibraryOperation& operation,
                   const std::string& dtype, Record& record) {
  if (dtype != "bf16") {
    throw RefusedRow{"feature unsupported: attention in " + dtype};
  }
  record["operator"] = {{"kind", "attention"},
                        {"batch", fields.required_count("batch", kExtent)},
                        {"seq", fields.required_count("seq", kExtent)},
                        {"heads", fields.required_count("heads_q", kExtent)},
                        {"kv_heads", fields.required_count("heads_kv", kExtent)},
                        {"d_qk", fields.required_count("head_dim_qk", kExtent)},
                        {"d_v", fields.required_count("head_dim_v", kExtent)},
                        {"causal", fields.optional_count("causal", 1, kZeroOrOne) == 1},
                        {"dtype", dtype},
                        {"pass", operation.direction == Direction::kForward ? "fwd" : "bwd"}};
  if (operation.direction == Direction::kBackward &&
      program_of(fields.optional_text("library")).adds_gradients) {
    record["before"] = attention_gradient_sums(record["operator"]);
  }
}

std::string joined_texts(ForeignRow& row, std::span<const std::string_view> keys) {
  std::string text;
  for (const std::string_view key : keys) {
    if (row.has(key)) {
      text += (text.empty() ? "" : "; ") + row.text(key);
    }
  }
  return text;
}

}  // namespace

void read_library_kernel(ForeignRow& row, std::vector<Record>& records) {
  const std::string gpu = required_gpu(row.text("sku"), row.profiles);
  const std::string dtype = format_of(row.text("dtype"));
  const LibraryOperation operation = operation_of(row.text("op"));
  need_shape(row, operation.kernel);
  MappingReader fields = row.fields();
  Record record = {{"gpu", gpu}};
  if (operation.kernel == LibraryKernel::kAttention) {
    add_attention(fields, operation, dtype, record);
  } else {
    add_product(fields, operation, dtype, record);
  }
  const double time = fields.required_number("latency_us", kMeasuredMicroseconds);
  fields.report_missing();
  record["measured"] = {{"time_s", time * kMicrosecond}};
  record["group"] = gpu + " " + row.text("library") + " " + row.text("op");
  record["source"] = row.text("source");
  record["notes"] = joined_texts(row, kRemarks);
  record["hold_out"] = row.has("case") ? row.text("case") : joined_texts(row, kAttentionShape);
  records.push_back(std::move(record));
}

}  // namespace stepcast
