// SPDX-License-Identifier: Apache-2.0
// All described constants of a folder of hardware_profiles, or of its file of libraries, by their
// place in its files, and the numbers that were read by them.
#pragma once

#include <variant>
#include <vector>

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/hardware/constant.hpp"
#include "stepcast/hardware/dispatcher.hpp"

namespace stepcast {

enum class ProfileFolder {
  kGpus,
  kKernels,
  kArchitectures,
  kCollectives,
  kExchange,
  kHosts,
  kLibraries
};

// In the order of the files, whether or not a file gives them.
std::vector<PlacedConstant> placed_constants(ProfileFolder folder);

// Those of one dispatcher of hardware_profiles/exchange.
std::vector<PlacedConstant> placed_constants(Dispatcher dispatcher);

// What a number of a GPU's profile, or of a file that the profile names, is; empty where no table
// has it. `key` is that of its provenance: "clock.sustained.bf16".
std::string_view meaning_of(std::string_view key);

// The numbers of profiles inside the values that they were read into, each with where it comes
// from: for whoever asks how far a price follows each of them (cost/price_slopes.hpp).
//
// They are found through the descriptions that read them (constant.hpp), so that a constant that is
// added to a profile is here as well. Counts (units, links, GPUs of a domain) are not: they are
// shapes, which nobody measures or fits. Neither is a number that no profile states.
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
