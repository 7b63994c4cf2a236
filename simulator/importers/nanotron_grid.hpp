// SPDX-License-Identifier: Apache-2.0
// Runs of nanotron's grid on H100 (nanotron_h100_grid.csv) as records.
//
// A row is a Llama-shaped model with the figures of its own columns, on nodes of 8 H100 SXM 80 GB.
// Every run measured its own network, over all of its ranks and inside a node; the cluster is one
// on which collectives take as long (nanotron_network.hpp).
// Where a run ended without a measurement its network is not known, and only its memory is judged.
//
// Metrics: `tokens_per_second_per_gpu` of runs that ended well, and `fits` (1 or 0) of those and of
// the ones that ran out of memory. Rates of pipelines from before a fault of the framework was
// mended (`after_pp_fix`) are not trusted, and skipped in a group of their own. Pipelines on nodes
// whose GPUs did not reach each other over NVLink took up to half a second a message, a fault of
// that cluster: they have a group of their own too.
#pragma once

#include "importers/foreign_row.hpp"

namespace stepcast {

void read_nanotron_run(ForeignRow& row, std::vector<Record>& records);

}  // namespace stepcast
