// SPDX-License-Identifier: Apache-2.0
#include "stepcast/operators/mixer_line.hpp"

#include "stepcast/base/real.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/operators/operator_sizes.hpp"

namespace stepcast {
namespace {

// An error at `key` if its heads do not divide `heads`.
void check_shared_heads(MappingReader& fields, std::string_view key, std::int64_t shared,
                        std::int64_t heads) {
  if (fields.good({"heads", key}) && heads % shared != 0) {
    fields.error(key, "is " + std::to_string(shared) + ", which does not divide 'heads' (" +
                          std::to_string(heads) + ")");
  }
}

}  // namespace

Op read_linear_attention(MappingReader& fields, Dtype dtype) {
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
  op.direction = fields.optional_choice<Direction>("pass", kDirections, Direction::kForward);
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
  op.direction = fields.optional_choice<Direction>("pass", kDirections, Direction::kForward);
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

Op read_index_scores(MappingReader& fields, Dtype dtype) {
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
  op.direction = fields.optional_choice<Direction>("pass", kDirections, Direction::kForward);
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
