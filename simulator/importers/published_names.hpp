// SPDX-License-Identifier: Apache-2.0
// What sources call models, GPUs and frameworks, as the names of our profiles, and the sources
// themselves. Nothing is taken for its nearest relative: a name that is not known gives an empty
// text.
#pragma once

#include <string>
#include <string_view>

#include "stepcast/experiment/profile_cache.hpp"

namespace stepcast {

// A shipped model.
std::string model_for(std::string_view published);

// The part that a source names (part_names.hpp says how); empty where it names none, and where what
// it says leaves a question.
std::string gpu_for(const std::string& published, ProfileCache& profiles);

// A pipeline schedule as a plan has it.
std::string schedule_for(std::string_view published);

// Of the frameworks whose runs need more than a name to find their set.
enum class SourceFamily {
  kOther,
  kTorchtitan,
  kPytorch,
  kPrimus,
  kNemo,
  kMegatronBridge,
  kMegatron,
  kMaxtext,
  kHuggingFace,
  kMlperf
};

// Of a shipped set.
SourceFamily family_of(std::string_view software);

struct SoftwareName {
  std::string software;  // a shipped set; empty: none describes the framework
  std::string assumed;   // why that set, where it is not the framework's own

  [[nodiscard]] SourceFamily family() const { return family_of(software); }
};
SoftwareName software_for(std::string_view framework);
// The set of a framework that runs Hugging Face's Trainer, by itself or with DeepSpeed; empty for
// another (trainer_rows.cpp).
std::string_view trainer_set(std::string_view framework);

// Throws RefusedRow for a framework that is known and whose steps are none that a set describes.
void refuse_framework(const std::string& framework);

// --- sources ----------------------------------------------------------------------------------
// The sources of published runs by the key that their rows have for them.

// How a source launched all of its runs, where its scripts say so.
struct SourceSoftware {
  std::string_view dense;
  std::string_view latent;  // of models with latent attention
  std::string_view reason;
  // The newest release that its runs can have had, and why; empty: as the set has it.
  std::string_view cudnn{};
  std::string_view cudnn_reason{};
};

// What a source's figures mean where they are not what its rows take them for.
//
//   TRL's benchmark (huggingface/trl, branch benchmark-sft-moe, 413ea6fb, benchmark/):
//     memory      "Peak GPU Mem" is NVML's memory in use, by trackio's gpu/*/allocated_memory
//                 (fetch_peak_gpu_mem.py), in GiB: full GPUs stand at 79.4 of the 79.6 that an H100
//                 has. Rows have it as 1e9 bytes, of tensors
//     rates       rows divide tokens by the degrees of context parallelism and Ulysses, because the
//                 source holds that each sequence is counted on every rank. So it is in its first
//                 runs, of the 4B model under FSDP2. With Ulysses a rank's loader hands it its own
//                 part (DeepSpeed's UlyssesSPDataLoaderAdapter): undivided, steps of 2 to 16 ranks
//                 all take 2.1 s, divided 4 to 35. Nor is it so in later runs: of 4B, 32k tokens
//                 and 2 ranks the first table has 7,615 tokens/s a GPU before division, a later one
//                 with Liger's kernels 4,120, where one rank has 4,321. Rates of long contexts,
//                 which rows have from the source's MFU, are left as they are
//     tensor parallelism   none: no tp_plan reaches from_pretrained (trl/scripts/sft.py), so that
//                 ranks of a group hold and compute the same, and tokens count once for each
//   Primus-Turbo's ladder of Qwen3-30B-A3B says behind "variant:" what exchanges tokens,
//                 on how many compute units ("num_cu 160"), and that routing is even: Primus sends
//                 all choices of a token to one rank
//   GB300 against VR200, Megatron Bridge: presets whose dispatcher the remark changes ("alltoall
//                 dispatcher"); what it calls a fallback runs attention that no kernel fuses, and
//                 no graphs
//   Megatron Bridge's library recipes, without a performance preset: what rows leave out is as
//   those have it (source_figures.cpp)
//   Primus' commit messages: DeepSeek-V4 as its configuration of that model has it; dispatcher and
//                 routing by the row's remark
//   Primus' recipes of MaxText: weights and moments in 16 bits by its preset, a pool of 0.9 of the
//                 device, and with experts FSDP over their axis and one-hot masks, by the remark
//   Primus' notes on GPT-OSS in MLPerf: one change a row by its remark, each on top of those before
enum class SourceFigures {
  kAsStated,
  kTrlBenchmark,
  kBridgeLibrary,
  kBridgeMatrix,
  kPrimusLadder,
  kPrimusCommits,
  kPrimusGptOss,
  kPrimusMaxtext
};

struct PublishedSource {
  // Who published: releases, branches and reports of one project are one source, whose runs share
  // machines and habits, so that their errors are held out together.
  std::string_view id;
  bool in_view = false;  // constants were chosen with its runs in view: none of them is held out
  SourceSoftware software = {};
  SourceFigures figures = SourceFigures::kAsStated;
  bool uses = false;  // what others make, of which it states what it found
};

// Of a key that is not known a source of its own, which is called by it.
PublishedSource published_source(std::string_view key);

}  // namespace stepcast
