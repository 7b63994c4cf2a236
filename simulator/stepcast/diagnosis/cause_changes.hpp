// SPDX-License-Identifier: Apache-2.0
// The changes of an experiment by which each cause would show, through keys that every experiment
// has: a diagnosis is repeated by `stepcast project --set` with them.
//
//   cause               form, size                                          bounds of the size
//   link_between_nodes  rate of a GPU's NICs                                a 10 GbE port a node,
//   to
//                                                                           the cluster's own
//   link_within_node    rate of a GPU's links                               a quarter of PCIe 3.0
//                                                                           x16, to the part's own
//   message_latency     least time of a step of a ring: between nodes, or   2 us, that of RDMA, to
//                       within one where there is one alone                 1 ms, that of a network
//                                                                           of several sites
//   overlap_off         all switches of overlap
//   host_slow           times as long for each call; a wait of every        1 to 4 times; 1 ms to
//                       micro-batch, as of a loader                         10 s
//   launches_unfused    no CUDA graph; eager calls; eager kernels too;
//                       launches that block; a product an expert
//   attention_not_flash another kernel of attention
//   precision_not_used  16 bits for 8 or 4, 8 for 4; fp32 or TF32 for 16:
//                       products at their rates, half the elements a
//                       second from memory and over links, no flash
//                       attention; that tensors are larger is left out
//   recomputation       selective, full
//   expert_imbalance    load of the fullest expert over the mean, less 1    0.05 to 3
//   offload             of the optimizer, of parameters, of activations
//   clock_or_power      a locked clock; a power limit                       that of the projection,
//                                                                           to two fifths of it
//   slow_rank           every part of a GPU slower: a step waits for its    1 to 4 times
//                       slowest rank; data-parallel ranks of unequal      0.005 to 0.6 of the
//                       work, which wait for the one with most            mean
//   software_version    another set of the family
//   documents_or_padding  length of documents that are kept apart; a mask   that of the experiment,
//                       as a tensor, of documents or padding, where the   to the sequence
//                       software makes one
//
// The bounds are the line rates of 10 GbE and PCIe 3.0 (8 GT/s, 16 lanes, 15.75 GB/s, shared by
// four), the NUMA binding of published runs (1.4 to 2.1 times) twice over, and else what reports
// have shown with room around it. How much of a batch is padding has no key: a sequence takes as
// long whatever lies in it, but for the mask that padding asks for (diagnose.cpp counts the share,
// where tokens/s are of the other tokens alone).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/config/config_node.hpp"
#include "stepcast/diagnosis/size_fit.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

// A form whose size is to be solved.
struct SizedForm {
  std::string unit;  // "GB/s a GPU"
  SizeRange range;
  std::function<KeySettings(double size)> settings;
};

// Where a cause shows: on every rank alike, or on one, for which all others wait.
enum class SeenBy { kEveryRank, kOneRank };

struct CauseChange {
  Cause cause = Cause::kLinkBetweenNodes;
  std::string form;
  KeySettings settings;            // of a form that is there or not
  std::optional<SizedForm> sized;  // else
  SeenBy seen_by = SeenBy::kEveryRank;

  [[nodiscard]] KeySettings at(double size) const {
    return sized ? sized->settings(size) : settings;
  }
};

struct DiagnosedExperiment {
  const ConfigNode& tree;  // as it was given
  const Experiment& experiment;
  const Projection& projection;
  // Other software sets that the run may have had, by their names.
  std::vector<std::string> software;
};

// Those that say something else than the experiment does; some of them its readers may refuse.
std::vector<CauseChange> changes_of(const DiagnosedExperiment& run);

}  // namespace stepcast
