// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/attention_constants.hpp"

namespace stepcast {

AttentionConstants read_attention_constants(SourcedReader reader) {
  constexpr Range<double> kShare{0.05, 1.0};
  constexpr Range<double> kCycles{0.0, 100'000.0};
  AttentionConstants attention;
  attention.forward_efficiency = reader.number("forward_efficiency", kShare);
  attention.backward_efficiency = reader.number("backward_efficiency", kShare);
  attention.group_cycles = reader.number("group_cycles", kCycles);
  attention.reduction_rate = reader.optional_quantity<BytesPerSecond>("reduction_rate");
  reader.finish();
  return attention;
}

}  // namespace stepcast
