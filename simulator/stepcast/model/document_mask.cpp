// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/document_mask.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

// Of one document without anything around it.
double pairs_of_document(double length, double window) {
  return window > 0.0 && window < length ? window * length - window * (window - 1.0) / 2.0
                                         : length * (length + 1.0) / 2.0;
}

double fixed_pairs(const Documents& documents, std::int64_t sequence, double window) {
  const std::int64_t length = std::min(documents.length, sequence);
  const double whole = pairs_of_document(real(length), window);
  if (!documents.packed) {
    return whole;
  }
  return real(sequence / length) * whole + pairs_of_document(real(sequence % length), window);
}

// (1 - 1 / mean)^tokens, the share of documents that go on for that long.
double survival(double mean, double tokens) {
  return mean > 1.0 ? std::exp(tokens * std::log1p(-1.0 / mean)) : (tokens > 0.0 ? 0.0 : 1.0);
}

// Tokens up to position n - 1 see those of their document, at most n of them:
// sum over t < n and a <= t of q^a, with q = 1 - 1 / mean.
double rising_pairs(double mean, double n) {
  const double q = 1.0 - 1.0 / mean;
  const double ended = mean > 1.0 ? -std::expm1(n * std::log1p(-1.0 / mean)) : 1.0;
  return std::max(n, mean * (n - q * mean * ended));
}

double geometric_pairs(const Documents& documents, std::int64_t sequence, double window) {
  const double mean = real(documents.length);
  const double tokens = real(sequence);
  const double seen = window > 0.0 && window < tokens ? window : tokens;
  if (documents.packed) {
    const double plateau = (tokens - seen) * mean * (1.0 - survival(mean, seen));
    return rising_pairs(mean, seen) + plateau;
  }
  // The t-th token exists with probability q^t and then sees all before it.
  double pairs = 0.0;
  for (std::int64_t t = 0; t < sequence; ++t) {
    const double exists = survival(mean, real(t));
    if (exists < 1e-12) {
      break;
    }
    pairs += exists * std::min(real(t) + 1.0, seen);
  }
  return pairs;
}

}  // namespace

bool shortens(const Documents& documents, std::int64_t sequence) {
  const bool one = documents.lengths == DocumentLengths::kFixed && documents.length >= sequence;
  return documents.length > 0 && !one;
}

double causal_pairs(const Documents& documents, std::int64_t sequence, std::int64_t window) {
  const double all = pairs_of_document(real(sequence), real(window));
  if (!shortens(documents, sequence)) {
    return all;
  }
  const double pairs = documents.lengths == DocumentLengths::kFixed
                           ? fixed_pairs(documents, sequence, real(window))
                           : geometric_pairs(documents, sequence, real(window));
  return std::min(all, pairs);
}

double tokens_before(const Documents& documents, std::int64_t position) {
  if (documents.length == 0) {
    return real(position);
  }
  if (documents.lengths == DocumentLengths::kFixed) {
    return documents.packed ? real(position % documents.length) : real(position);
  }
  const double mean = real(documents.length);
  return std::min(real(position), (mean - 1.0) * (1.0 - survival(mean, real(position))));
}

}  // namespace stepcast
