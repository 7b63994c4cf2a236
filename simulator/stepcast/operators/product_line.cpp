// SPDX-License-Identifier: Apache-2.0
#include "stepcast/operators/product_line.hpp"

#include <array>
#include <string>

#include "stepcast/base/real.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/operators/operator_sizes.hpp"

namespace stepcast {
namespace {

constexpr std::array kGemmPasses = {NamedValue<GemmPass>{"fwd", GemmPass::kForward},
                                    NamedValue<GemmPass>{"dgrad", GemmPass::kDgrad},
                                    NamedValue<GemmPass>{"wgrad", GemmPass::kWgrad}};

// Weight gradients may be kept in fp32.
Bytes read_result(MappingReader& fields) {
  return Bytes(fields.optional_flag("fp32_result").value_or(false) ? 4.0 : 2.0);
}

Accumulation read_accumulation(MappingReader& fields) {
  return fields.optional_flag("precise_accumulation").value_or(false) ? Accumulation::kPrecise
                                                                      : Accumulation::kFast;
}

// The rows of all groups: m_total, or the sum of counts, which must agree.
std::int64_t read_rows(MappingReader& fields, GroupedGemm& op) {
  std::int64_t sum = 0;
  for (const std::int64_t count : op.counts) {
    sum += count;
  }
  if (op.counts.empty()) {
    return fields.required_count("m_total", kSize);
  }
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

}  // namespace

Op read_gemm(MappingReader& fields, Dtype dtype) {
  Gemm op;
  op.m = fields.required_count("m", kSize);
  op.n = fields.required_count("n", kSize);
  op.k = fields.required_count("k", kSize);
  op.batch = fields.optional_count("batch", 1, kSize);
  op.dtype = dtype;
  op.pass = fields.optional_choice<GemmPass>("pass", kGemmPasses, GemmPass::kForward);
  op.accumulate = fields.optional_flag("accumulate").value_or(false);
  op.result = read_result(fields);
  op.accumulation = read_accumulation(fields);
  check_elements(fields, "m", real(op.batch) * real(op.m) * real(op.n));
  check_elements(fields, "k", real(op.batch) * real(op.m) * real(op.k));
  check_elements(fields, "n", real(op.batch) * real(op.n) * real(op.k));
  return {.work = op};
}

Op read_grouped_gemm(MappingReader& fields, Dtype dtype) {
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
  op.dtype = dtype;
  op.pass = fields.optional_choice<GemmPass>("pass", kGemmPasses, GemmPass::kForward);
  op.accumulate = fields.optional_flag("accumulate").value_or(false);
  op.result = read_result(fields);
  op.accumulation = read_accumulation(fields);
  check_elements(fields, "n", real(op.m_total) * real(op.n));
  check_elements(fields, "k", real(op.m_total) * real(op.k));
  check_elements(fields, "groups", real(op.groups) * real(op.n) * real(op.k));
  return {.work = op};
}

}  // namespace stepcast
