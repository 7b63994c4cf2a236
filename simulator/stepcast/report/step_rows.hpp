// SPDX-License-Identifier: Apache-2.0
// What the time of a step and the memory of a pipeline rank consist of, a row each: every report
// prints these rows and no others, so that the lines of a time add up to the step, and text, JSON
// and CSV cannot disagree.
#pragma once

#include <array>
#include <string_view>

#include "stepcast/base/sum.hpp"
#include "stepcast/memory/stage_memory.hpp"
#include "stepcast/schedule/time_breakdown.hpp"

namespace stepcast {

// Rows that follow each other with the same key are one number where keys are printed.
struct TimeRow {
  std::string_view title;
  std::string_view key;  // in JSON and CSV
  Seconds (*of)(const TimeBreakdown&);
  bool always = false;  // printed also where it takes no time
};

template <Axis kAxis>
Seconds exposed_time(const TimeBreakdown& time) {
  return time.exposed[slot(kAxis)];
}

// Their sum is TimeBreakdown::total().
inline constexpr std::array kTimeRows = {
    TimeRow{"computation", "compute_s", [](const TimeBreakdown& time) { return time.compute; },
            true},
    TimeRow{"slowed by communication", "compute_s",
            [](const TimeBreakdown& time) { return time.contention; }},
    TimeRow{"tp communication, exposed", "tp_communication_s", exposed_time<Axis::kTensor>},
    TimeRow{"ep communication, exposed", "ep_communication_s", exposed_time<Axis::kExpert>},
    TimeRow{"cp communication, exposed", "cp_communication_s", exposed_time<Axis::kContext>},
    TimeRow{"dp communication, exposed", "dp_communication_s", exposed_time<Axis::kData>},
    TimeRow{"pp communication, exposed", "pp_communication_s", exposed_time<Axis::kPipeline>},
    TimeRow{"pipeline bubble", "pipeline_bubble_s",
            [](const TimeBreakdown& time) { return time.bubble; }},
    TimeRow{"optimizer", "optimizer_s", [](const TimeBreakdown& time) { return time.optimizer; },
            true},
    TimeRow{"host", "host_s", [](const TimeBreakdown& time) { return time.host; }},
};

// Of all rows with this key.
inline Seconds time_of_key(const TimeBreakdown& time, std::string_view key) {
  return sum_over(kTimeRows,
                  [&](const TimeRow& row) { return row.key == key ? row.of(time) : Seconds{}; });
}

// Calls `visit` with the first row of each key.
template <typename Visit>
void for_each_time_key(const Visit& visit) {
  std::string_view before;
  for (const TimeRow& row : kTimeRows) {
    if (row.key != before) {
      visit(row);
    }
    before = row.key;
  }
}

// The keys of the time of a step, for a writer of plan_fields.hpp.
template <typename Writer>
void write_time(const TimeBreakdown& time, Writer& writer) {
  for_each_time_key(
      [&](const TimeRow& row) { writer.field(row.key, time_of_key(time, row.key).value()); });
}

// A part of the memory of a pipeline rank, with its title for people and its key in JSON and CSV.
struct MemoryRow {
  std::string_view title;
  std::string_view column;  // in the table of all ranks
  std::string_view key;
  Bytes (*of)(const StageMemory&);
  std::string_view other_key{};  // by which JSON calls the same number too
  bool in_parts = false;         // the buffers, which have rows of their own
};

inline constexpr std::array kMemoryRows = {
    MemoryRow{"parameters", "parameters", "parameters_bytes",
              [](const StageMemory& stage) { return stage.parameters; }},
    MemoryRow{"gradients", "gradients", "gradients_bytes",
              [](const StageMemory& stage) { return stage.gradients; }},
    MemoryRow{"optimizer states", "optimizer", "optimizer_bytes",
              [](const StageMemory& stage) { return stage.optimizer; }},
    MemoryRow{"activations", "activations", "activations_bytes",
              [](const StageMemory& stage) { return stage.activations; }},
    MemoryRow{"buffers", "buffers", "buffers_bytes",
              [](const StageMemory& stage) { return stage.buffers(); }, "", true},
    MemoryRow{"total (allocated)", "allocated", "allocated_bytes",
              [](const StageMemory& stage) { return stage.total(); }, "total_bytes"},
    MemoryRow{"reserved", "reserved", "reserved_bytes",
              [](const StageMemory& stage) { return stage.reserved; }},
    MemoryRow{"driver, communicators", "outside", "outside_bytes",
              [](const StageMemory& stage) { return stage.outside; }},
};

// What the buffers are, by kind.
struct BufferRow {
  std::string_view title;
  std::string_view key;
  Bytes StageMemory::*of;
};

inline constexpr std::array kBufferRows = {
    BufferRow{"logits and loss", "loss_bytes", &StageMemory::loss},
    BufferRow{"backward workspace", "workspace_bytes", &StageMemory::workspace},
    BufferRow{"gathered weights", "gathered_bytes", &StageMemory::gathered},
    BufferRow{"gradients to reduce", "reduced_bytes", &StageMemory::reduced},
    BufferRow{"expert exchange", "exchange_bytes", &StageMemory::exchange},
    BufferRow{"pipeline receives", "received_bytes", &StageMemory::received},
};

}  // namespace stepcast
