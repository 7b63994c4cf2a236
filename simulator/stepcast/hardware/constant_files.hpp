// SPDX-License-Identifier: Apache-2.0
// Reads the files of constants that the profile of a GPU names, and that of libraries. Each adds
// its file's sources to the shared `sources`, where each number comes from to `provenance`, and its
// problems to `diagnostics`.
#pragma once

#include <vector>

#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/collective_constants.hpp"
#include "stepcast/hardware/exchange_constants.hpp"
#include "stepcast/hardware/kernel_constants.hpp"
#include "stepcast/hardware/library_constants.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

KernelConstants read_kernel_constants(const ConfigNode& root, SourceTable& sources,
                                      std::vector<Provenance>& provenance,
                                      Diagnostics& diagnostics);
CollectiveConstants read_collective_constants(const ConfigNode& root, SourceTable& sources,
                                              std::vector<Provenance>& provenance,
                                              Diagnostics& diagnostics);
ExchangeConstants read_exchange_constants(const ConfigNode& root, SourceTable& sources,
                                          std::vector<Provenance>& provenance,
                                          Diagnostics& diagnostics);
LibraryConstants read_library_constants(const ConfigNode& root, SourceTable& sources,
                                        std::vector<Provenance>& provenance,
                                        Diagnostics& diagnostics);

}  // namespace stepcast
