// SPDX-License-Identifier: Apache-2.0
// A collective written as a JSON object (operator_line.hpp has the form of a line), and what it
// takes where a host launches one after the other.
#pragma once

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

// Problems are recorded in `fields`, and what is returned then is of no use.
Collective read_collective(MappingReader& fields, const DeviceSpec& device);

// Makes `cost` that of one of many calls: a kernel comes after the one before, and after the call
// by the machine's host.
void wait_for_host(const Collective& op, const ClusterSpec& machine, Detail detail, OpCost& cost);

}  // namespace stepcast
