// SPDX-License-Identifier: Apache-2.0
// The canonical records, one JSON object a line, read strictly.
//
//   a run       {"id", "experiment": {model, cluster, training, plan, software as in YAML},
//                "measured": {"tokens_per_second_per_gpu", "step_time_s", "peak_memory_bytes",
//                "peak_reserved_memory_bytes", "peak_device_memory_bytes",
//                "peak_memory_bytes_by_rank": [], "tflops_per_gpu" and "mfu" (of the model's own
//                FLOPs), "flops_per_token", "fits": false}}
//   a layer     a run with "layer": {"layer", "block", "state", "forward_only"}, as the options of
//               `stepcast layer`: what was measured is one layer by itself, "forward_s",
//               "backward_s", "dispatch_s", "combine_s", "saved_bytes" of the experts
//   an operator {"id", "gpu", "operator": {as for `stepcast cost`},
//                "measured": {"time_s", "forward_s", "clock_mhz", "power_w", "tensor_bytes",
//                "wire_bytes", "effective_interconnect_tbps" (of the tensor), ...}}; also
//                "before": an operator that the time holds besides, or a list of them, "duty": the
//                share of the time that it runs in bursts, "beside": {"collective": {an operator},
//                "collectives", "kernels"}: how many of it run on another stream beside how many
//                calls
//
// A run also takes "source_id": who published it (measured_row.hpp).
// Both take "source", "group" (a text, or one for each metric), "hold_out" (what it is held out by;
// its id without it), "assumed" (what its source does not state, with the reason), "notes", and
// "skipped" (why it, or one of its metrics, is not compared). A key that is not known is an error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "stepcast/config/config_node.hpp"
#include "stepcast/validation/measured_row.hpp"

namespace stepcast {

using MeasuredRow = std::variant<MeasuredRun, MeasuredKernel>;

bool is_canonical(const ConfigNode& record);

// What a record says. Throws ConfigError with all of its problems.
MeasuredRow read_record(const ConfigNode& record, ProfileCache& profiles);

// The objects of a text with one a line; every line that is none is a problem.
std::vector<ConfigNode> parse_records(const std::string& text, const std::string& file,
                                      Diagnostics& diagnostics);

using Record = nlohmann::ordered_json;

// A record that an importer wrote and the line of the foreign file that it comes from.
struct RecordLine {
  Record record;
  std::string file;
  int line = 0;
};

// What it says; one that cannot be read is a row that is skipped.
MeasuredRow read_imported(const RecordLine& line, ProfileCache& profiles);

}  // namespace stepcast
