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
#include "stepcast/graph/model_spec.hpp"

namespace stepcast {

void read_nanotron_run(ForeignRow& row, std::vector<Record>& records);

// How nanotron divides a Llama among pipeline ranks, as a text of plan.stage_layout.
//
//   cost(layer) = 4 h^2 + 3 h f,  cost(head) = h V,  others 0
//
// Blocks go to a rank until their cumulative cost is above the rank's part of the whole; the block
// that crosses it stays (src/nanotron/models/base.py, llama.py). 16 layers with a head that costs
// as much as four of them, on four ranks: Et*6|t*5|t*5|L.
//
// The loss is taken to lie with the head on the last rank. Where the head is so large that nothing
// is left for the ranks after it, nanotron leaves those empty and these have the head.
std::string nanotron_stages(const ModelSpec& model, std::int64_t ranks);

}  // namespace stepcast
