// SPDX-License-Identifier: Apache-2.0
// What a pipeline rank's memory consists of, a row each, with its title for people and its key in
// JSON and CSV: text, JSON and CSV print these rows, so that they cannot disagree.
#pragma once

#include <array>
#include <string_view>

#include "stepcast/result/projection.hpp"

namespace stepcast {

// Of a pipeline rank.
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
