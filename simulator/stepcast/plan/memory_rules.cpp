// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/memory_rules.hpp"

#include "stepcast/config/settings.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast {
namespace {

constexpr Range<std::int64_t> kChunks{1, 4096};
// Of each value, and of all that a library holds.
constexpr UnitRange kOfValue{{0.0, 1024.0}, "B"};
constexpr UnitRange kHeld{{0.0, 1e6}, "GB"};

template <typename Settings>
void memory_settings(Settings& memory) {
  memory.quantity("logit_at_loss", &MemoryRules::logit_at_loss, kOfValue);
  memory.quantity("logit_at_head", &MemoryRules::logit_at_head, kOfValue);
  memory.count("loss_chunks", &MemoryRules::loss_chunks, kChunks);
  memory.flag("keeps_logits", &MemoryRules::keeps_logits);
  memory.flag("gradients_stay", &MemoryRules::gradients_stay);
  memory.quantity("gradient_copy", &MemoryRules::gradient_copy, kOfValue);
  memory.quantity("dummy_gradients", &MemoryRules::dummy_gradients, kOfValue);
  memory.quantity("gathered_copy", &MemoryRules::gathered_copy, kOfValue);
  memory.number("static_rows", &MemoryRules::static_rows, kFraction);
  memory.flag("scans_layers", &MemoryRules::scans_layers);
  memory.quantity("stacked_copies", &MemoryRules::stacked_copies, kOfValue);
  memory.flag("optimizer_on_host", &MemoryRules::optimizer_on_host);
  memory.flag("root_holds_ends", &MemoryRules::root_holds_ends);
  memory.flag("keeps_expert_casts", &MemoryRules::keeps_expert_casts);
  memory.flag("receives_ahead", &MemoryRules::receives_ahead);
  memory.flag("keeps_projected_qkv", &MemoryRules::keeps_projected_qkv);
  memory.flag("weighs_in_activation", &MemoryRules::weighs_in_activation);
  memory.quantity("activation_input", &MemoryRules::activation_input, kOfValue);
  memory.quantity("attention_output", &MemoryRules::attention_output, kOfValue);
  memory.flag("values_keep_projection", &MemoryRules::values_keep_projection);
  memory.flag("keeps_unread_outputs", &MemoryRules::keeps_unread_outputs);
  memory.flag("recompute_stops_early", &MemoryRules::recompute_stops_early);
  memory.number("fragmentation", &MemoryRules::fragmentation, kFraction);
  memory.quantity("context", &MemoryRules::context, kHeld);
  memory.quantity("communicator", &MemoryRules::communicator, kHeld);
  memory.number("pool_share", &MemoryRules::pool_share, kFraction);
}

}  // namespace

void read_memory_rules(MappingReader reader, MemoryRules& rules) {
  SettingReader memory(reader, rules);
  memory_settings(memory);
  reader.finish();
}

ConfigNode written_changes(const MemoryRules& rules, const MemoryRules& base) {
  ConfigWriter writer;
  SettingWriter memory(writer, rules, base);
  memory_settings(memory);
  return writer.take();
}

}  // namespace stepcast
