// SPDX-License-Identifier: Apache-2.0
// What sources call models, GPUs and frameworks, as the names of our profiles, and the sources
// themselves. Nothing is taken for its nearest relative: a name that is not known gives an empty
// text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

// A shipped model.
std::string model_for(std::string_view published);

// A part: one of `profiles` by its own name, else by how makers and sources write it. A remark in
// parentheses counts only where the name before it names no part.
std::string gpu_for(std::string_view published, const std::vector<std::string>& profiles);

// A pipeline schedule as a plan has it.
std::string schedule_for(std::string_view published);

// Of the frameworks whose runs need more than a name to find their set.
enum class FrameworkFamily {
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
FrameworkFamily family_of(std::string_view software);

struct SoftwareName {
  std::string software;  // a shipped set; empty: none describes the framework
  std::string assumed;   // why that set, where it is not the framework's own

  [[nodiscard]] FrameworkFamily family() const { return family_of(software); }
};
SoftwareName software_for(std::string_view framework);
// The set of a framework that runs Hugging Face's Trainer, by itself or with DeepSpeed; empty for
// another (trainer_rows.cpp).
std::string_view trainer_set(std::string_view framework);

// --- sources ----------------------------------------------------------------------------------
// The sources of published runs by the key that their rows have for them.

// How a source launched all of its runs, where its scripts say so.
struct SourceSoftware {
  std::string_view dense;
  std::string_view latent;  // of models with latent attention
  std::string_view reason;
};

struct PublishedSource {
  // Who published: releases, branches and reports of one project are one source, whose runs share
  // machines and habits, so that their errors are held out together.
  std::string_view id;
  bool in_view = false;  // constants were chosen with its runs in view: none of them is held out
  SourceSoftware software = {};
};

// Of a key that is not known a source of its own, which is called by it.
PublishedSource published_source(std::string_view key);

}  // namespace stepcast
