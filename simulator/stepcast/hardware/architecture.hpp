// SPDX-License-Identifier: Apache-2.0
// The architectures that kernels are known for, and what each runs natively.
#pragma once

#include <span>
#include <string_view>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/attention_kernel.hpp"

namespace stepcast {

// Architectures whose libraries have the same kernels.
enum class KernelFamily { kAmpere, kHopper, kBlackwell, kCdna3, kCdna4 };

struct Architecture {
  std::string_view name;  // as a profile writes it
  KernelFamily family = KernelFamily::kCdna3;
  // What the usual libraries of the part take, and what runs where the kernel that a software set
  // names does not exist on the part.
  AttentionKernel attention = AttentionKernel::kAiter;
};

// The one table of what an architecture has.
std::span<const Architecture> architectures();

// The architecture that `key` of a profile names. An unknown one is an error with the nearest name
// or, where the number is another one, with all that there are.
Architecture read_architecture(MappingReader& reader, std::string_view key);

}  // namespace stepcast
