// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/gemm_constants.hpp"

#include "stepcast/hardware/by_dtype.hpp"
#include "stepcast/hardware/share_range.hpp"

namespace stepcast {

namespace {

BytesPerCycle read_rate(SourcedReader& reader, std::string_view key) {
  const auto rate = reader.quantity<BytesPerCycle>(key);
  if (reader.has(key) && !(rate.value() > 0.0)) {
    reader.reader().error(key, "must be greater than 0");
  }
  return rate;
}

}  // namespace

GemmConstants read_gemm_constants(SourcedReader reader) {
  constexpr Range<double> kCycles{0.0, 100'000.0};
  GemmConstants gemm;
  gemm.matrix_efficiency = numbers_by_dtype(reader.mapping("matrix_efficiency"), kShare);
  gemm.cache_rate = read_rate(reader, "cache_bytes_per_clock");
  gemm.port_rate = read_rate(reader, "port_bytes_per_clock");
  gemm.prologue_cycles = reader.number("prologue_cycles", kCycles);
  gemm.epilogue_rate = read_rate(reader, "epilogue_bytes_per_clock");
  gemm.epilogue_overlap = reader.number("epilogue_overlap", kFraction);
  gemm.hbm_share = reader.number("hbm_share", kShare);
  gemm.start_up = reader.quantity<Seconds>("start_up");
  gemm.hbm_latency = reader.quantity<Seconds>("hbm_latency");
  gemm.split_latency = reader.quantity<Seconds>("split_latency");
  gemm.unaligned_share = reader.number("unaligned_share", kShare);
  gemm.odd_share = reader.optional_number("odd_share", kShare).value_or(gemm.unaligned_share);
  if (reader.has("matrix_efficiency") && !gemm.matrix_efficiency[slot(Dtype::kBf16)]) {
    reader.reader().error("matrix_efficiency", "needs bf16, which other formats fall back to");
  }
  reader.finish();
  return gemm;
}

}  // namespace stepcast
