// SPDX-License-Identifier: Apache-2.0
#include "stepcast/operator_lines/work_line.hpp"

#include <algorithm>
#include <string>

#include "stepcast/base/real.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/value_message.hpp"

namespace stepcast {
namespace {

constexpr double kMostPairs = 1152921504606846976.0;  // 2^60, of queries and keys
constexpr double kMostElements = 1125899906842624.0;  // 2^50, of one tensor

// The key of the largest number that a line gives; `other` if it gives none.
std::string_view largest_of(const ConfigNode& line, std::string_view other) {
  double largest = 0.0;
  for (const ConfigEntry& entry : line.entries) {
    const std::optional<double> number = number_of(entry.value);
    if (number && *number > largest) {
      largest = *number;
      other = entry.key;
    }
  }
  return other;
}

// What products of either kind have besides their sizes. Weight gradients may be kept in fp32.
template <typename Product>
void read_precision(MappingReader& fields, Dtype dtype, Product& op) {
  const auto is_set = [&fields](const char* key) {
    return fields.optional_flag(key).value_or(false);
  };
  op.dtype = dtype;
  op.pass = fields.optional_choice<GemmPass>("pass", enum_names<GemmPass>(), GemmPass::kForward);
  op.accumulate = is_set("accumulate");
  op.result = Bytes(is_set("fp32_result") ? 4.0 : 2.0);
  op.accumulation = is_set("precise_accumulation") ? Accumulation::kPrecise : Accumulation::kFast;
}

// The rows of all groups: m_total, or the sum of counts, which must agree.
std::int64_t read_rows(MappingReader& fields, GroupedGemm& op) {
  if (op.counts.empty()) {
    return fields.required_count("m_total", kSize);
  }
  const std::int64_t sum = sum_over(op.counts);
  const std::int64_t rows = fields.optional_count("m_total", sum, kSize);
  if (fields.good({"m_total", "counts"}) && rows != sum) {
    fields.error("counts", "add up to " + std::to_string(sum) + ", but 'm_total' is " +
                               std::to_string(rows) + "; give one of them, or the same");
  }
  if (fields.good({"m_total", "counts"}) && (sum < 1 || sum > kLargestSize)) {
    fields.error("counts", "add up to " + std::to_string(sum) + "; give 1 to " +
                               std::to_string(kLargestSize) + " rows");
  }
  return rows;
}

// An error at `key` if its heads do not divide `heads`.
void check_shared_heads(MappingReader& fields, std::string_view key, std::int64_t shared,
                        std::int64_t heads) {
  if (fields.good({"heads", key}) && heads % shared != 0) {
    fields.error(key, "is " + std::to_string(shared) + ", which does not divide 'heads' (" +
                          std::to_string(heads) + ")");
  }
}

}  // namespace

void check_elements(MappingReader& fields, std::string_view key, double elements) {
  const std::string_view largest = elements > kMostElements ? largest_of(fields.node(), key) : key;
  if (elements > kMostElements && fields.good({largest})) {
    fields.error(largest, "makes a tensor of " + significant(elements, 3) +
                              " elements, more than 2^50; give smaller sizes");
  }
}

// --- products -----------------------------------------------------------------------------------

Op read_gemm(MappingReader& fields, Dtype dtype, const DeviceSpec& /*device*/) {
  Gemm op;
  op.m = fields.required_count("m", kSize);
  op.n = fields.required_count("n", kSize);
  op.k = fields.required_count("k", kSize);
  op.batch = fields.optional_count("batch", 1, kSize);
  read_precision(fields, dtype, op);
  check_elements(fields, "m", real(op.batch) * real(op.m) * real(op.n));
  check_elements(fields, "k", real(op.batch) * real(op.m) * real(op.k));
  check_elements(fields, "n", real(op.batch) * real(op.n) * real(op.k));
  return {.work = op};
}

Op read_grouped_gemm(MappingReader& fields, Dtype dtype, const DeviceSpec& /*device*/) {
  constexpr Range<std::int64_t> kGroups{1, 1 << 20};
  GroupedGemm op;
  op.counts = fields.optional_counts("counts", kSizeOrNone);
  const auto listed = static_cast<std::int64_t>(op.counts.size());
  op.groups = op.counts.empty() ? fields.required_count("groups", kGroups)
                                : fields.optional_count("groups", listed, kGroups);
  if (fields.good({"groups", "counts"}) && !op.counts.empty() && op.groups != listed) {
    fields.error("groups", "is " + std::to_string(op.groups) + ", but 'counts' has " +
                               std::to_string(listed) + " entries; give one of them, or the same");
  }
  op.m_total = read_rows(fields, op);
  op.n = fields.required_count("n", kSize);
  op.k = fields.required_count("k", kSize);
  read_precision(fields, dtype, op);
  check_elements(fields, "n", real(op.m_total) * real(op.n));
  check_elements(fields, "k", real(op.m_total) * real(op.k));
  check_elements(fields, "groups", real(op.groups) * real(op.n) * real(op.k));
  return {.work = op};
}

// --- mixers -------------------------------------------------------------------------------------

Op read_attention(MappingReader& fields, Dtype dtype, const DeviceSpec& device) {
  Attention op;
  op.batch = fields.required_count("batch", kSize);
  op.seq_q = fields.required_count("seq", kSize);
  op.seq_kv = fields.optional_count("seq_kv", op.seq_q, kSize);
  op.heads = fields.required_count("heads", kSize);
  op.kv_heads = fields.optional_count("kv_heads", op.heads, kSize);
  op.d_qk = fields.required_count("d_qk", kHeadSize);
  op.d_v = fields.optional_count("d_v", op.d_qk, kHeadSize);
  op.causal = fields.optional_flag("causal").value_or(true);
  op.window = fields.optional_count("window", 0, kSizeOrNone);
  op.sinks = fields.optional_flag("sinks").value_or(false);
  op.dropout = fields.optional_flag("dropout").value_or(false);
  op.mask_tensor = fields.optional_flag("mask_tensor").value_or(false);
  op.scores = fields.optional_choice<Implementation>("scores", enum_names<Implementation>(),
                                                     Implementation::kFused);
  op.documents.length = fields.optional_count("document_length", 0, kSizeOrNone);
  op.documents.lengths = fields.optional_choice<DocumentLengths>(
      "document_lengths", enum_names<DocumentLengths>(), DocumentLengths::kFixed);
  op.dtype = dtype;
  op.direction =
      fields.optional_choice<Direction>("pass", enum_names<Direction>(), Direction::kForward);
  const AttentionKernel native = device.architecture.attention.native;
  op.kernel = fields.optional_choice<AttentionKernel>("implementation",
                                                      enum_names<AttentionKernel>(), native);
  if (native == AttentionKernel::kUnfused && op.kernel != AttentionKernel::kUnfused) {
    fields.error("implementation", "is " + std::string(name(op.kernel)) +
                                       ", and no kernel is known that fuses attention on " +
                                       device.architecture.name + "; give unfused");
  }
  check_shared_heads(fields, "kv_heads", op.kv_heads, op.heads);
  const double width = real(std::max(op.d_qk, op.d_v));
  check_elements(fields, "seq", real(op.batch) * real(op.seq_q) * real(op.heads) * width);
  check_elements(fields, "seq_kv", real(op.batch) * real(op.seq_kv) * real(op.heads) * width);
  if (real(op.batch) * real(op.heads) * real(op.seq_q) * real(op.seq_kv) > kMostPairs) {
    fields.error("seq", "makes more than 2^60 pairs of queries and keys; give smaller sizes");
  }
  return {.work = op};
}

Op read_linear_attention(MappingReader& fields, Dtype dtype, const DeviceSpec& /*device*/) {
  constexpr Range<std::int64_t> kChunk{1, 1024};
  LinearAttention op;
  op.batch = fields.required_count("batch", kSize);
  op.seq = fields.required_count("seq", kSize);
  op.heads = fields.required_count("heads", kSize);
  op.qk_heads = fields.optional_count("qk_heads", op.heads, kSize);
  op.d_k = fields.required_count("d_k", kHeadSize);
  op.d_v = fields.optional_count("d_v", op.d_k, kHeadSize);
  op.chunk = fields.optional_count("chunk", op.chunk, kChunk);
  op.rule = fields.optional_choice<DeltaRule>("rule", enum_names<DeltaRule>(), op.rule);
  op.dtype = dtype;
  op.direction =
      fields.optional_choice<Direction>("pass", enum_names<Direction>(), Direction::kForward);
  check_shared_heads(fields, "qk_heads", op.qk_heads, op.heads);
  const double rows = real(op.batch) * real(op.seq) * real(op.heads);
  check_elements(fields, "seq", rows * real(op.d_k + op.d_v + op.chunk));
  check_elements(fields, "d_k", rows / real(op.chunk) * real(op.d_k) * real(op.d_v));
  return {.work = op};
}

Op read_sparse_attention(MappingReader& fields, Dtype dtype, const DeviceSpec& device) {
  SparseAttention op;
  op.batch = fields.required_count("batch", kSize);
  op.seq_q = fields.required_count("seq", kSize);
  op.seq_kv = fields.optional_count("seq_kv", op.seq_q, kSize);
  op.heads = fields.required_count("heads", kSize);
  op.kv_heads = fields.optional_count("kv_heads", 1, kSize);
  op.d_qk = fields.required_count("d_qk", kHeadSize);
  op.d_v = fields.optional_count("d_v", op.d_qk, kHeadSize);
  op.chosen = fields.required_count("chosen", kSize);
  op.ratio = fields.optional_count("ratio", op.ratio, kSize);
  op.window = fields.optional_count("window", 0, kSizeOrNone);
  op.sinks = fields.optional_flag("sinks").value_or(false);
  op.kernel =
      fields.optional_choice<SparseKernel>("implementation", enum_names<SparseKernel>(), op.kernel);
  if (op.kernel == SparseKernel::kTriton && !device.kernels.sparse_attention_triton) {
    fields.error("implementation", "is triton, whose kernels have no constants for " + device.name);
  }
  op.dtype = dtype;
  op.direction =
      fields.optional_choice<Direction>("pass", enum_names<Direction>(), Direction::kForward);
  check_shared_heads(fields, "kv_heads", op.kv_heads, op.heads);
  if (fields.good({"d_qk", "d_v"}) && op.d_v > op.d_qk) {
    fields.error("d_v", "is " + std::to_string(op.d_v) +
                            ", more than 'd_qk': values are the first dimensions of the keys");
  }
  const double queries = real(op.batch) * real(op.seq_q) * real(op.heads);
  check_elements(fields, "seq", queries * real(op.d_qk));
  check_elements(fields, "seq_kv",
                 real(op.batch) * real(op.seq_kv) * real(op.d_qk) * real(op.kv_heads));
  check_elements(fields, "chosen", queries * real(op.chosen + op.window));
  return {.work = op};
}

Op read_index_scores(MappingReader& fields, Dtype dtype, const DeviceSpec& /*device*/) {
  IndexScores op;
  op.batch = fields.required_count("batch", kSize);
  op.seq_q = fields.required_count("seq", kSize);
  op.seq_kv = fields.optional_count("seq_kv", op.seq_q, kSize);
  op.heads = fields.required_count("heads", kSize);
  op.d = fields.required_count("d", kHeadSize);
  op.chosen = fields.required_count("chosen", kSize);
  op.ratio = fields.optional_count("ratio", op.ratio, kSize);
  op.teacher_heads = fields.optional_count("teacher_heads", 0, kSizeOrNone);
  op.teacher_d = fields.optional_count("teacher_d", 0, kSizeOrNone);
  op.dtype = dtype;
  op.direction =
      fields.optional_choice<Direction>("pass", enum_names<Direction>(), Direction::kForward);
  const double queries = real(op.batch) * real(op.seq_q);
  check_elements(fields, "seq", queries * real(op.heads) * real(op.d));
  check_elements(fields, "seq_kv", queries * real(op.seq_kv));
  check_elements(fields, "teacher_heads", queries * real(op.teacher_heads) * real(op.teacher_d));
  if (fields.good({"teacher_heads", "teacher_d"}) && (op.teacher_heads > 0) != (op.teacher_d > 0)) {
    fields.error(op.teacher_heads > 0 ? "teacher_heads" : "teacher_d",
                 "needs both 'teacher_heads' and 'teacher_d', or neither");
  }
  return {.work = op};
}

}  // namespace stepcast
