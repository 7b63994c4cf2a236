// SPDX-License-Identifier: Apache-2.0
// Documents in a training sequence, and the pairs of tokens that a causal mask leaves where tokens
// of different documents do not see each other.
//
// A token at position t of its sequence that is the a-th of its document sees min(a, t) tokens
// before it, and itself; with a window no more than the window.
//
//   fixed      documents of one length from the start of the sequence, the last one cut at its end:
//              sum over documents of l (l + 1) / 2
//   geometric  a document ends after a token with probability 1 / length, and sequences are cut out
//              of an endless row of documents: sum over t and a <= t of (1 - 1 / length)^a
//
// Not packed: a sequence is one document and padding, which no token sees. One document that fills
// the sequence is the causal mask itself.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

enum class DocumentLengths { kFixed, kGeometric };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<DocumentLengths> = {"fixed", "geometric"};

struct Documents {
  std::int64_t length = 0;  // mean tokens of a document; 0: every sequence is one document
  DocumentLengths lengths = DocumentLengths::kFixed;
  bool packed = true;
  auto operator<=>(const Documents&) const = default;
};

// Whether the mask takes any pair away from causal attention over `sequence` tokens.
bool shortens(const Documents& documents, std::int64_t sequence);

// Pairs of a query and a key, the token itself included, of one head over a sequence. `window`
// tokens are seen at most, 0: all.
double causal_pairs(const Documents& documents, std::int64_t sequence, std::int64_t window);

// Tokens of its own document that the token at `position` has before it in the sequence.
double tokens_before(const Documents& documents, std::int64_t position);

}  // namespace stepcast
