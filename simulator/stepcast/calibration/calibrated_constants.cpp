// SPDX-License-Identifier: Apache-2.0
#include "stepcast/calibration/calibrated_constants.hpp"

#include <string>
#include <vector>

#include "stepcast/hardware/attention_library.hpp"
#include "stepcast/hardware/kernel_constants.hpp"

namespace stepcast {
namespace {

using Constants = std::vector<CalibratedConstant>;

// Those of a table that a fit may look for, by their place in the file.
template <typename Owner>
void add(Constants& all, const std::string& section, std::span<const Constant<Owner>> table) {
  for (const Constant<Owner>& constant : table) {
    const std::string key = section + "." + std::string(constant.key);
    if (constant.searched) {
      const auto [low, high] = *constant.searched;
      all.push_back({key, constant.unit, low, high, constant.meaning});
    }
    for (const FormatSearch& format : constant.formats) {
      const auto [low, high] = format.range;
      all.push_back({key + "." + std::string(name(format.dtype)), constant.unit, low, high,
                     constant.meaning});
    }
  }
}

Constants kernel_constants() {
  Constants all;
  add(all, "power", power_constants());
  add(all, "gemm", gemm_constants());
  add(all, "memory_bound", memory_constants());
  return all;
}

Constants architecture_constants() {
  Constants all;
  for (const std::string_view kernel : kAttentionKernelNames) {
    const std::string section = "attention_kernels." + std::string(kernel);
    add(all, section + ".forward", direction_constants());
    add(all, section + ".backward", direction_constants());
    add(all, section, flash_kernel_constants());
  }
  return all;
}

Constants collective_constants() {
  return {
      {"ll.base", "us", 0.5, 50.0, "start of a collective by LL"},
      {"ll.hop", "us", 0.3, 10.0, "dependent step inside a domain by LL"},
      {"ll.rate", "GB/s", 10.0, 2000.0,
       "of a rank by LL over all that it sends, receives or keeps"},
      {"simple.base", "us", 0.5, 400.0, "start of a collective by Simple"},
      {"simple.hop", "us", 2.0, 40.0, "dependent step inside a domain by Simple"},
      {"simple.ring_share", "", 0.3, 1.0, "of the wire rate that rings reach"},
      {"simple.own_rate", "GB/s", 100.0, 10'000.0, "at which a rank copies its own part"},
      {"in_switch.base", "us", 15.0, 100.0, "start of a reduction in the switch"},
      {"in_switch.share", "", 0.2, 1.0, "of the wire rate, over the tensor"},
      {"in_switch.ramp", "us", 0.0, 300.0, "lost on the way to full chunks"},
      {"in_switch.ramp_bytes", "MB", 1.0, 500.0, "of the tensor, from which on chunks are full"},
      {"message.base", "us", 1.0, 100.0, "start of point-to-point messages"},
      {"message.share", "", 0.3, 1.0, "of the wire rate that messages reach"},
      {"message.own_rate", "GB/s", 100.0, 10'000.0,
       "at which a rank copies its own part of an all-to-all"},
      {"message.ramp", "us", 0.0, 100.0, "lost on the way to full chunks"},
  };
}

Constants exchange_constants() {
  return {
      {"deepep.dispatch.start_up", "us", 1.0, 200.0,
       "layout, counts and barriers, whatever the tokens"},
      {"deepep.dispatch.first_row_rate", "GB/s", 0.1, 1000.0,
       "of a single row through the pipeline"},
      {"deepep.dispatch.token_time", "ns", 1.0, 3000.0,
       "of a unit for each token that it sends or reduces"},
      {"deepep.dispatch.token_rate", "GB/s", 1.0, 1000.0, "of a unit, over each token's row"},
      {"deepep.dispatch.row_time", "ns", 1.0, 3000.0, "of a unit for each row that it moves"},
      {"deepep.dispatch.row_rate", "GB/s", 1.0, 1000.0, "of a unit, over the rows"},
      {"deepep.dispatch.row_interval", "ns", 0.05, 100.0, "between rows, however many units"},
      {"deepep.dispatch.link_share", "", 0.3, 1.5, "of what collectives achieve on the links"},
      {"deepep.combine.start_up", "us", 1.0, 200.0, "the same of combine"},
      {"deepep.combine.first_row_rate", "GB/s", 0.1, 1000.0, "the same of combine"},
      {"deepep.combine.token_time", "ns", 1.0, 3000.0, "the same of combine"},
      {"deepep.combine.token_rate", "GB/s", 1.0, 1000.0, "the same of combine"},
      {"deepep.combine.row_time", "ns", 1.0, 3000.0, "the same of combine"},
      {"deepep.combine.row_rate", "GB/s", 1.0, 1000.0, "the same of combine"},
      {"deepep.combine.row_interval", "ns", 0.05, 100.0, "the same of combine"},
      {"deepep.combine.link_share", "", 0.3, 1.5, "the same of combine"},
  };
}

}  // namespace

std::span<const CalibratedConstant> calibrated_constants(ConstantsOf of) {
  static const Constants kernels = kernel_constants();
  static const Constants architectures = architecture_constants();
  static const Constants collectives = collective_constants();
  static const Constants exchanges = exchange_constants();
  switch (of) {
    case ConstantsOf::kKernels:
      return kernels;
    case ConstantsOf::kArchitectures:
      return architectures;
    case ConstantsOf::kCollectives:
      return collectives;
    case ConstantsOf::kExchanges:
      return exchanges;
  }
  return {};
}

}  // namespace stepcast
