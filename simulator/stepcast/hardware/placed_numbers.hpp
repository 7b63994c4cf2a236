// SPDX-License-Identifier: Apache-2.0
// The numbers of profiles inside the values that they were read into, each with where it comes
// from: for whoever asks how far a price follows each of them (cost/price_slopes.hpp).
//
// They are found through the descriptions that read them (constant.hpp), so that a constant that is
// added to a profile is here as well. Counts (units, links, GPUs of a domain) are not: they are
// shapes, which nobody measures or fits. Neither is a number that no profile states.
#pragma once

#include <variant>
#include <vector>

#include "stepcast/hardware/cluster_spec.hpp"

namespace stepcast {

struct PlacedNumber {
  const Provenance* origin = nullptr;
  std::variant<double*, Seconds*, Bytes*, BytesPerSecond*, Joules*, Hertz*, Watts*, Flops*> number;

  [[nodiscard]] double value() const;  // in base units
  void set(double value) const;
};

// Of the part with its kernels, collectives and exchanges, and of the network, but not of the host.
// `cluster` must outlive them and stay where it is.
std::vector<PlacedNumber> placed_numbers(ClusterSpec& cluster);
// Of a host, which must do the same.
std::vector<PlacedNumber> placed_numbers(HostSpec& host);

}  // namespace stepcast
