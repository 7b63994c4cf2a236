// SPDX-License-Identifier: Apache-2.0
// What a published text says of the network between nodes: "8 x ConnectX-7 400 Gb/s per node",
// "AWS EFA 3200 Gb/s per node", "NVLink; RDMA 400Gb/s (CX-7) per GPU".
//
// A rate is a number with its unit, or the generation of a port of InfiniBand ("8 x NDR"). A count
// before it, "8 x", with words between them, is of the NICs of a node. What stands beside NVLink,
// xGMI, PCIe or HBM is no network's. Parts of a text end at a comma, a semicolon, a plus or "and".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepcast/base/units.hpp"

namespace stepcast {

struct StatedNetwork {
  std::optional<BytesPerSecond> of_gpu;  // nothing where the text states no rate
  std::string question;                  // what the text leaves open; empty: nothing
};

// Of nodes of so many GPUs, whose usual NIC has the rate `usual` for each. A lone rate that says
// neither whose it is nor how many there are is taken where it is the usual one.
StatedNetwork stated_network(std::string_view text, std::int64_t gpus_per_node,
                             BytesPerSecond usual);

}  // namespace stepcast
