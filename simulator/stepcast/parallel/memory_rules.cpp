// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/memory_rules.hpp"

namespace stepcast {
namespace {

constexpr Range<std::int64_t> kChunks{1, 4096};

void read_bytes(MappingReader& reader, std::string_view key, Bytes& value) {
  value = reader.optional_quantity<Bytes>(key, value);
}

void read_bytes(MappingReader& reader, std::string_view key, std::optional<Bytes>& value) {
  const ConfigNode* written = reader.take(key);
  if (written != nullptr) {
    value = reader.quantity<Bytes>(key, *written);
  }
}

void read_flag(MappingReader& reader, std::string_view key, bool& value) {
  value = reader.optional_flag(key, value);
}

}  // namespace

void read_memory_rules(MappingReader reader, MemoryRules& rules) {
  read_bytes(reader, "logit_at_loss", rules.logit_at_loss);
  read_bytes(reader, "logit_at_head", rules.logit_at_head);
  rules.loss_chunks = reader.optional_count("loss_chunks", rules.loss_chunks, kChunks);
  read_flag(reader, "keeps_logits", rules.keeps_logits);
  read_flag(reader, "gradients_stay", rules.gradients_stay);
  read_bytes(reader, "gradient_copy", rules.gradient_copy);
  read_bytes(reader, "dummy_gradients", rules.dummy_gradients);
  read_bytes(reader, "gathered_copy", rules.gathered_copy);
  read_flag(reader, "root_holds_ends", rules.root_holds_ends);
  read_flag(reader, "keeps_expert_casts", rules.keeps_expert_casts);
  read_flag(reader, "receives_ahead", rules.receives_ahead);
  read_flag(reader, "keeps_projected_qkv", rules.keeps_projected_qkv);
  read_flag(reader, "keeps_unread_outputs", rules.keeps_unread_outputs);
  read_flag(reader, "recompute_stops_early", rules.recompute_stops_early);
  rules.fragmentation = reader.optional_number("fragmentation", rules.fragmentation, kFraction);
  read_bytes(reader, "context", rules.context);
  read_bytes(reader, "communicator", rules.communicator);
  reader.finish();
}

}  // namespace stepcast
