// SPDX-License-Identifier: Apache-2.0
#include "stepcast/calibration/calibrated_constants.hpp"

#include <array>

namespace stepcast {
namespace {

constexpr std::array kKernelConstants = {
    CalibratedConstant{"power.matrix_energy.bf16", "nJ", 0.3, 40.0,
                       "energy of a cycle of one unit's matrix pipes at the reference clock"},
    CalibratedConstant{"power.matrix_energy.fp8", "nJ", 0.3, 40.0, "the same in fp8"},
    CalibratedConstant{"power.matrix_energy.fp4", "nJ", 0.3, 60.0, "the same in fp4"},
    CalibratedConstant{"power.voltage_exponent", "", 1.0, 3.0,
                       "growth of that energy with the clock"},
    CalibratedConstant{"power.hbm_energy_per_byte", "pJ", 20.0, 80.0,
                       "energy of moving a byte between HBM and a unit"},
    CalibratedConstant{"power.burst_ratio", "", 1.0, 2.5,
                       "power of a short burst over the limit of the average"},
    CalibratedConstant{"power.burst_energy", "J", 0.5, 200.0,
                       "energy above the limit that a burst may draw after a pause"},
    CalibratedConstant{"gemm.matrix_efficiency.bf16", "", 0.5, 1.0,
                       "share of the matrix rate inside the K loop"},
    CalibratedConstant{"gemm.matrix_efficiency.fp8", "", 0.4, 1.0, "the same in fp8"},
    CalibratedConstant{"gemm.matrix_efficiency.fp8_block", "", 0.3, 1.0,
                       "the same with scales of 128-element blocks"},
    CalibratedConstant{"gemm.matrix_efficiency.fp4", "", 0.3, 1.0, "the same in fp4"},
    CalibratedConstant{"gemm.cache_bytes_per_clock", "B", 8.0, 160.0,
                       "L2 to one unit while all units read"},
    CalibratedConstant{"gemm.port_bytes_per_clock", "B", 16.0, 160.0,
                       "L2 to one unit while few read"},
    CalibratedConstant{"gemm.prologue_cycles", "", 0.0, 20'000.0,
                       "until the first K step has its operands"},
    CalibratedConstant{"gemm.epilogue_bytes_per_clock", "B", 2.0, 256.0,
                       "one unit's results to memory"},
    CalibratedConstant{"gemm.epilogue_overlap", "", 0.0, 1.0,
                       "share of an epilogue that the next tile's K loop hides"},
    CalibratedConstant{"gemm.hbm_share", "", 0.3, 1.0, "share of the peak HBM rate"},
    CalibratedConstant{"gemm.start_up", "us", 0.0, 10.0, "of a kernel, besides the launch"},
    CalibratedConstant{"gemm.hbm_latency", "us", 0.05, 5.0,
                       "of a product that HBM bounds, besides its bytes"},
    CalibratedConstant{"gemm.split_latency", "us", 0.1, 15.0,
                       "of reducing the partial sums of a split K loop"},
    CalibratedConstant{"memory_bound.ramp", "us", 0.05, 10.0,
                       "first and last accesses of a kernel, when little is in flight"},
    CalibratedConstant{"memory_bound.streaming", "", 0.3, 1.15,
                       "large contiguous reads and writes, of hbm.achieved"},
    CalibratedConstant{"memory_bound.gather", "", 0.05, 1.0, "rows in random order, of streaming"},
    CalibratedConstant{"memory_bound.indexed_cycles", "", 0.05, 10.0,
                       "a value addressed on its own"},
    CalibratedConstant{"memory_bound.arithmetic_cycles", "", 0.02, 5.0,
                       "a value through exp, erf, running moments or random bits"},
    CalibratedConstant{"memory_bound.convert_cycles", "", 0.01, 5.0,
                       "a value's maximum, or its scaling and conversion to 8 bits"},
    CalibratedConstant{"memory_bound.update_cycles", "", 0.02, 5.0,
                       "a parameter of a fused Adam step, beside its traffic"},
    CalibratedConstant{"memory_bound.row_cycles", "", 0.0, 5'000.0,
                       "start and reduction of a row in a kernel of one group a row"},
};

constexpr std::array kCollectiveConstants = {
    CalibratedConstant{"ll.base", "us", 0.5, 50.0, "start of a collective by LL"},
    CalibratedConstant{"ll.hop", "us", 0.3, 10.0, "dependent step inside a domain by LL"},
    CalibratedConstant{"ll.rate", "GB/s", 10.0, 2000.0,
                       "of a rank by LL over all that it sends, receives or keeps"},
    CalibratedConstant{"simple.base", "us", 0.5, 400.0, "start of a collective by Simple"},
    CalibratedConstant{"simple.hop", "us", 2.0, 40.0, "dependent step inside a domain by Simple"},
    CalibratedConstant{"simple.ring_share", "", 0.3, 1.0, "of the wire rate that rings reach"},
    CalibratedConstant{"simple.own_rate", "GB/s", 100.0, 10'000.0,
                       "at which a rank copies its own part"},
    CalibratedConstant{"in_switch.base", "us", 15.0, 100.0, "start of a reduction in the switch"},
    CalibratedConstant{"in_switch.share", "", 0.2, 1.0, "of the wire rate, over the tensor"},
    CalibratedConstant{"in_switch.ramp", "us", 0.0, 300.0, "lost on the way to full chunks"},
    CalibratedConstant{"in_switch.ramp_bytes", "MB", 1.0, 500.0,
                       "of the tensor, from which on chunks are full"},
    CalibratedConstant{"message.base", "us", 1.0, 100.0, "start of point-to-point messages"},
    CalibratedConstant{"message.share", "", 0.3, 1.0, "of the wire rate that messages reach"},
    CalibratedConstant{"message.own_rate", "GB/s", 100.0, 10'000.0,
                       "at which a rank copies its own part of an all-to-all"},
    CalibratedConstant{"message.ramp", "us", 0.0, 100.0, "lost on the way to full chunks"},
};

constexpr std::array kExchangeConstants = {
    CalibratedConstant{"deepep.dispatch.start_up", "us", 1.0, 200.0,
                       "layout, counts and barriers, whatever the tokens"},
    CalibratedConstant{"deepep.dispatch.first_row_rate", "GB/s", 0.1, 1000.0,
                       "of a single row through the pipeline"},
    CalibratedConstant{"deepep.dispatch.token_time", "ns", 1.0, 3000.0,
                       "of a unit for each token that it sends or reduces"},
    CalibratedConstant{"deepep.dispatch.token_rate", "GB/s", 1.0, 1000.0,
                       "of a unit, over each token's row"},
    CalibratedConstant{"deepep.dispatch.row_time", "ns", 1.0, 3000.0,
                       "of a unit for each row that it moves"},
    CalibratedConstant{"deepep.dispatch.row_rate", "GB/s", 1.0, 1000.0, "of a unit, over the rows"},
    CalibratedConstant{"deepep.dispatch.row_interval", "ns", 0.05, 100.0,
                       "between rows, however many units"},
    CalibratedConstant{"deepep.dispatch.link_share", "", 0.3, 1.5,
                       "of what collectives achieve on the links"},
    CalibratedConstant{"deepep.combine.start_up", "us", 1.0, 200.0, "the same of combine"},
    CalibratedConstant{"deepep.combine.first_row_rate", "GB/s", 0.1, 1000.0, "the same of combine"},
    CalibratedConstant{"deepep.combine.token_time", "ns", 1.0, 3000.0, "the same of combine"},
    CalibratedConstant{"deepep.combine.token_rate", "GB/s", 1.0, 1000.0, "the same of combine"},
    CalibratedConstant{"deepep.combine.row_time", "ns", 1.0, 3000.0, "the same of combine"},
    CalibratedConstant{"deepep.combine.row_rate", "GB/s", 1.0, 1000.0, "the same of combine"},
    CalibratedConstant{"deepep.combine.row_interval", "ns", 0.05, 100.0, "the same of combine"},
    CalibratedConstant{"deepep.combine.link_share", "", 0.3, 1.5, "the same of combine"},
};

}  // namespace

std::span<const CalibratedConstant> calibrated_constants(ConstantsOf of) {
  switch (of) {
    case ConstantsOf::kKernels:
      return kKernelConstants;
    case ConstantsOf::kCollectives:
      return kCollectiveConstants;
    case ConstantsOf::kExchanges:
      return kExchangeConstants;
  }
  return {};
}

}  // namespace stepcast
