// SPDX-License-Identifier: Apache-2.0
// The sources of published runs by the key that their rows have for them.
#pragma once

#include <string>
#include <string_view>

#include "stepcast/validation/canonical_record.hpp"

namespace stepcast {

// How a source launched all of its runs, where its scripts say so.
struct SourceSoftware {
  std::string_view dense;
  std::string_view latent;  // of models with latent attention
  std::string_view reason;
};

struct PublishedSource {
  std::string_view key;
  // Who published: releases, branches and reports of one project are one source, whose runs share
  // machines and habits, so that their errors are held out together.
  std::string_view id;
  bool in_view = false;  // constants were chosen with its runs in view: none of them is held out
  SourceSoftware software = {};
};

// Of a key that is not known a source of its own, which is called by it.
PublishedSource published_source(std::string_view key);

}  // namespace stepcast
