// SPDX-License-Identifier: Apache-2.0
// The tile, split and cluster with which a library's product takes least.
//
// Among equal times, as of products that wait for memory, the one with less to do besides; among
// those, the first in the library's order.
#pragma once

#include "backends/gemm/tile_time.hpp"

namespace stepcast {

struct GemmPick {
  GemmChoice choice;
  GemmTime time;
};

GemmPick cheapest(const GemmProblem& problem, const GemmMachine& machine,
                  const KernelLibrary& library);

}  // namespace stepcast
