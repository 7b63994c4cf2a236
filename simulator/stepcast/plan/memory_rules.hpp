// SPDX-License-Identifier: Apache-2.0
// What the software holds in memory beside parameters, gradients, optimizer states and saved
// tensors.
//
// Each is a property of a framework, read off its code or off measured allocator peaks; the
// software set names its source.
#pragma once

#include <cstdint>
#include <optional>

#include "stepcast/base/dtype.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

struct MemoryRules {
  // --- loss ---
  // Bytes that each logit takes while the loss runs (logits, fp32 copies, softmax, gradient), and
  // while the output matrix' backward runs afterwards. Unset, they follow from cross_entropy: 4 and
  // 2 where it is one kernel over 16-bit logits, 12 and 2 where it is eager in fp32.
  std::optional<Bytes> logit_at_loss;
  std::optional<Bytes> logit_at_head;
  std::int64_t loss_chunks = 1;  // the loss takes the tokens in this many parts
  bool keeps_logits = false;     // a pipeline's last stage keeps the logits of every micro-batch
                                 // and joins them at the end of the step
  // --- gradients ---
  bool gradients_stay = true;  // in buffers that live all the time; else freed every step
  Bytes gradient_copy;         // a parameter, of a second copy beside them (16-bit buckets)
  Bytes dummy_gradients;       // an element of each distinct weight of a layer, kept for good
  Bytes gathered_copy;         // a parameter, when ZeRO gathers them after the optimizer
  bool scans_layers = false;   // layers are one loop of a program: it gathers one at a time, and
                               // reduces gradients as they are
  Bytes stacked_copies;  // a parameter as it is sharded, of copies of such layers' weights and
                         // gradients beside them
  // Master copy and moments are in the host's memory, if the recipe says nothing of its offload.
  bool optimizer_on_host = false;
  // --- experts ---
  // Where shapes are fixed when the step is compiled: the rows that experts' tensors have room for,
  // as a share of the worst case, W T min(k, experts of a rank); 0: as many as arrive.
  double static_rows = 0.0;
  // --- sharding ---
  bool root_holds_ends = false;     // FSDP: embedding, norm and head in one group for all the step
  bool keeps_expert_casts = false;  // 16-bit copies of fp32 expert weights stay for backward
  // --- pipeline ---
  bool receives_ahead = false;  // receive buffers for every micro-batch of the step
  // --- saved tensors ---
  bool keeps_projected_qkv = false;  // q, k and v as projected, beside the copies attention reads
  bool values_keep_projection = false;  // MLA's values are a view of what the up projection made of
                                        // keys and values, which stays whole
  bool weighs_in_activation = false;    // experts multiply their scores into the activation: rows
                                        // that come back one by one need not stay for them
  // Bytes of a kept value, where they are stored in fewer bits than they are computed in.
  Bytes activation_input = kSixteenBits;  // that an activation reads
  Bytes attention_output = kSixteenBits;
  bool keeps_unread_outputs =
      false;  // eager checkpointing keeps a saved product nobody reads again
  bool recompute_stops_early = false;  // recomputation ends with the last tensor that is needed
  // --- the device ---
  double fragmentation = 0.05;  // of the allocated peak, reserved beside it
  // Outside the allocator: what the driver keeps of the nominal capacity (an H100 of 80 GiB offers
  // 79.1) with the context's kernels and libraries, and the buffers of one communicator.
  Bytes context{1.5e9};
  Bytes communicator{0.3e9};
  // Of the device's memory, that the framework takes as one pool when it starts; 1: it allocates
  // what it needs from all of it.
  double pool_share = 1.0;
};

// Changes the rules that the mapping `memory` names; leaves the rest.
void read_memory_rules(MappingReader reader, MemoryRules& rules);

}  // namespace stepcast
