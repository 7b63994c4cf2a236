// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/gemm_constants.hpp"

#include "stepcast/hardware/by_dtype.hpp"

namespace stepcast {

GemmConstants read_gemm_constants(SourcedReader reader) {
  constexpr Range<double> kCycles{0.0, 100'000.0};
  GemmConstants gemm;
  gemm.matrix_efficiency = numbers_by_dtype(reader.mapping("matrix_efficiency"), kFraction);
  gemm.cache_rate = reader.quantity<BytesPerCycle>("cache_bytes_per_clock");
  gemm.port_rate = reader.quantity<BytesPerCycle>("port_bytes_per_clock");
  gemm.prologue_cycles = reader.number("prologue_cycles", kCycles);
  gemm.epilogue_rate = reader.quantity<BytesPerCycle>("epilogue_bytes_per_clock");
  gemm.epilogue_overlap = reader.number("epilogue_overlap", kFraction);
  gemm.hbm_share = reader.number("hbm_share", kFraction);
  gemm.start_up = reader.quantity<Seconds>("start_up");
  gemm.hbm_latency = reader.quantity<Seconds>("hbm_latency");
  gemm.split_latency = reader.quantity<Seconds>("split_latency");
  gemm.unaligned_share = reader.number("unaligned_share", kFraction);
  reader.finish();
  return gemm;
}

}  // namespace stepcast
