// SPDX-License-Identifier: Apache-2.0
// Choices among what there is, from any source of numbers: a generator with a seed, or the bytes of
// a fuzzer.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stepcast::test {

using NumberSource = std::function<std::uint64_t()>;

class RandomChoice {
 public:
  explicit RandomChoice(NumberSource numbers) : numbers_(std::move(numbers)) {}
  explicit RandomChoice(std::uint64_t seed) : numbers_(std::mt19937_64(seed)) {}

  std::size_t below(std::size_t n) { return numbers_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::string any(const std::vector<std::string>& values) { return values[below(values.size())]; }
  std::int64_t any_of(const std::vector<std::int64_t>& values) {
    return values[below(values.size())];
  }

 private:
  NumberSource numbers_;
};

}  // namespace stepcast::test
