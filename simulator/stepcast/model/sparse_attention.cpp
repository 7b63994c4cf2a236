// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/sparse_attention.hpp"

#include <algorithm>

#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

constexpr Bytes kIndex{4.0};   // int32
constexpr Bytes kWeight{4.0};  // fp32

// Sum of min(j, most) over j = 0 ... last.
double capped_sum(double last, double most) {
  const double rising = std::min(last, most);
  return rising * (rising + 1.0) / 2.0 + (last - rising) * most;
}

}  // namespace

double capped_pairs(std::int64_t queries, std::int64_t tokens, std::int64_t ratio,
                    std::int64_t most) {
  const double keys = real(tokens / ratio);
  const double past_last = real(tokens % ratio + 1);  // positions that see every key
  const double pairs = real(ratio) * capped_sum(std::max(0.0, keys - 1.0), real(most)) +
                       past_last * std::min(keys, real(most));
  return real(queries) / real(tokens) * pairs;
}

std::int64_t keys_to_choose(const SparseAttention& op) { return op.seq_kv / op.ratio; }
std::int64_t keys_to_choose(const IndexScores& op) { return op.seq_kv / op.ratio; }

std::int64_t listed_keys(const SparseAttention& op) {
  return std::min(op.chosen, keys_to_choose(op)) + std::min(op.window, op.seq_kv);
}
std::int64_t listed_keys(const IndexScores& op) { return std::min(op.chosen, keys_to_choose(op)); }

double attended_pairs(const SparseAttention& op) {
  return capped_pairs(op.seq_q, op.seq_kv, op.ratio, op.chosen) +
         capped_pairs(op.seq_q, op.seq_kv, 1, op.window);
}

double chosen_pairs(const IndexScores& op) {
  return capped_pairs(op.seq_q, op.seq_kv, op.ratio, op.chosen);
}

double scored_pairs(const IndexScores& op) {
  return capped_pairs(op.seq_q, op.seq_kv, op.ratio, op.seq_kv);
}

Flops flops(const SparseAttention& op) {
  const double pairs = attended_pairs(op) * real(op.batch) * real(op.heads);
  const double d_qk = real(op.d_qk);
  const double d_v = real(op.d_v);
  return Flops(2.0 * pairs * (is_forward(op.direction) ? d_qk + d_v : 3.0 * d_qk + 2.0 * d_v));
}

Flops flops(const IndexScores& op) {
  const double width = real(op.heads) * real(op.d);
  if (is_forward(op.direction)) {
    return Flops(2.0 * real(op.batch) * scored_pairs(op) * width);
  }
  const double teacher = real(op.teacher_heads) * real(op.teacher_d);
  return Flops(2.0 * real(op.batch) * chosen_pairs(op) * (3.0 * width + teacher));
}

Bytes compulsory_bytes(const SparseAttention& op) {
  const double queries = real(op.batch) * real(op.seq_q);
  const double own = op.window > 0 ? real(op.seq_kv) : 0.0;
  const double keys = real(op.batch) * (real(keys_to_choose(op)) + own) * real(op.kv_heads);
  const double rows = queries * real(op.heads) * real(op.d_qk + op.d_v) + keys * real(op.d_qk);
  const double passes = is_forward(op.direction) ? 1.0 : 2.0;
  return passes * rows * size_of(op.dtype) +
         queries * real(op.kv_heads) * real(listed_keys(op)) * kIndex;
}

Bytes compulsory_bytes(const IndexScores& op) {
  const double queries = real(op.batch) * real(op.seq_q);
  const double keys = real(op.batch) * real(keys_to_choose(op));
  const double passes = is_forward(op.direction) ? 1.0 : 2.0;
  const double teacher = queries * real(op.teacher_heads) * real(op.teacher_d);
  const Bytes rows = passes * (queries * real(op.heads) + keys) * real(op.d) * size_of(op.dtype) +
                     passes * queries * real(op.heads) * kWeight;
  const Bytes taught = is_forward(op.direction) || op.teacher_heads == 0
                           ? Bytes{}
                           : (teacher + keys * real(op.teacher_d)) * Bytes(2.0);
  return rows + queries * real(listed_keys(op)) * kIndex + taught;
}

}  // namespace stepcast
