// SPDX-License-Identifier: Apache-2.0
// A part of which nobody knows more than its data sheet: a peak rate by format, memory, links, a
// power limit, and what share of each rate programs reach.
//
// Everything else is taken from a part that is known, named by `like`: the die is one of that
// part's compute units, as many as reach the peak in bf16 at about its rated clock, so that tiles,
// pipelines and latencies, which are stated by unit and by cycle, keep their meaning. What is
// stated of the whole part (caches, what a collective's kernel holds) grows with the units, and
// rates of libraries with the links that they were measured on. The efficiencies are what programs
// hold for long, so the power limit never lowers the clock below that: a product at its full rate
// draws kProductShare of what the limit leaves above idle, and memory at its full rate the rest.
#pragma once

#include <cstdint>
#include <string>

#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {

// `generic` of a part's profile. Rates of links are of one part in one direction.
struct GenericPart {
  std::string like;               // a part of the folder gpus
  PerDtype<FlopsPerSecond> peak;  // dense, of the whole part
  Bytes capacity;
  BytesPerSecond memory;
  BytesPerSecond scale_up;
  std::int64_t domain_size = 1;  // parts that the fabric joins
  BytesPerSecond scale_out;
  Watts power_limit;
  std::int64_t gpus_per_node = 1;
  double matrix_efficiency = 1.0;   // of the peak, that a large product holds
  double memory_efficiency = 1.0;   // of the memory rate, that a long copy reaches
  double network_efficiency = 1.0;  // of the links' rates, that large collectives reach
};

inline constexpr double kProductShare = 0.75;

// Reads the mapping `generic`, and where each of its numbers comes from into `provenance`.
GenericPart read_generic_part(MappingReader generic, const SourceTable& sources,
                              std::vector<Provenance>& provenance);

// `like` with the numbers of `part` in the place of its own, and what follows from them. Its names
// stay. A number that follows from one of `stated` has the source of that one, and any other is
// assumed.
DeviceSpec device_of(const GenericPart& part, const DeviceSpec& like,
                     const std::vector<Provenance>& stated);

}  // namespace stepcast
