// SPDX-License-Identifier: Apache-2.0
// How many tokens the vocabulary of a file's model has. In this order: what the file says; the
// tokenizer's, by its path or else its type; GPT-2's, where there are a vocabulary and a file of
// merges; that of a shipped model of the same sizes; else an assumption, which is told with its
// range. A vocabulary is never missing.
#pragma once

#include <optional>

#include "frameworks/megatron_core.hpp"

namespace stepcast {

// Sets the vocabulary of a model of which all else is known; gives the range that it may lie in
// where it is a guess.
std::optional<VocabularyRange> read_megatron_vocabulary(const MegatronFields& fields,
                                                        ModelSpec& model);

}  // namespace stepcast
