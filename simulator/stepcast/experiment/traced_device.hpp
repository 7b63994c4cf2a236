// SPDX-License-Identifier: Apache-2.0
// Whether a trace was taken on the GPU that is asked for.
#pragma once

#include <string>

#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/hardware/part_names.hpp"

namespace stepcast {

enum class DeviceMatch {
  kSame,
  kPerhaps,  // what the device says of itself leaves a question that the GPU asked for answers
  kUnsaid,   // the trace does not say
  kOther,    // another part, or none that is known
};

struct ComparedDevice {
  DeviceMatch match = DeviceMatch::kSame;
  // "was taken on 'NVIDIA A100', which may be a100_40gb or a100_80gb"; empty of the same.
  std::string text;
};

// `asked` may be a part of the user's own, which is the same as any that it is based on.
ComparedDevice compared_device(const DeviceIdentity& traced, const DeviceSpec& asked,
                               ProfileCache& profiles);

}  // namespace stepcast
