// SPDX-License-Identifier: Apache-2.0
// Which ranks talk to each other, and where they sit.
//
// Ranks are numbered as in Megatron: tensor parallelism varies fastest, then context, then data,
// then pipeline. A group is `size` ranks that are `stride` apart, so on a fabric whose domains hold
// D GPUs it has min(size, max(1, D / stride)) members in a domain.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stepcast {

struct ProcessGroup {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  auto operator<=>(const ProcessGroup&) const = default;
};

// Members of the group in one domain of `domain_size` neighbouring GPUs.
constexpr std::int64_t members_in_domain(ProcessGroup group, std::int64_t domain_size) {
  return std::min(group.size, std::max<std::int64_t>(1, domain_size / group.stride));
}

// Domains that the group touches.
constexpr std::int64_t domains_spanned(ProcessGroup group, std::int64_t domain_size) {
  const std::int64_t members = members_in_domain(group, domain_size);
  return (group.size + members - 1) / members;
}

}  // namespace stepcast
