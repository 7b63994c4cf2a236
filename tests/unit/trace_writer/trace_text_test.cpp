// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/trace_text.hpp"

#include <cstdlib>
#include <random>

#include "catch.hpp"

namespace stepcast::trace_text_test {
namespace {

double read_as_double(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

std::string microseconds(std::int64_t nanoseconds) {
  std::string text;
  append_microseconds(text, nanoseconds);
  return text;
}

std::string duration(std::int64_t begin, std::int64_t end) {
  std::string text;
  append_duration(text, begin, end);
  return text;
}

}  // namespace

TEST_CASE("a duration has three decimals where its sum with the begin is the end", "[unit]") {
  CHECK(duration(1'000'000'000, 1'000'000'500) == "0.500");
  CHECK(duration(1'000'000'000, 1'002'000'000) == "2000.000");
  CHECK(duration(5'000, 5'000) == "0.000");
}

TEST_CASE("a begin and a duration add up to the end in doubles", "[unit]") {
  // Steps of up to an hour, kernels of up to a second; three decimals alone miss some of them.
  std::mt19937_64 random(7);
  std::uniform_int_distribution<std::int64_t> begins(1'000'000'000, 3'600'000'000'000);
  std::uniform_int_distribution<std::int64_t> lengths(0, 1'000'000'000);
  int long_ones = 0;
  int missed = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t begin = begins(random);
    const std::int64_t end = begin + lengths(random);
    const std::string written = duration(begin, end);
    const double sum = read_as_double(microseconds(begin)) + read_as_double(written);
    missed += sum == read_as_double(microseconds(end)) ? 0 : 1;
    long_ones += written == microseconds(end - begin) ? 0 : 1;
  }
  CHECK(missed == 0);
  CHECK(long_ones > 100);
  CHECK(long_ones < 10'000);
}

TEST_CASE("a slice many times as long as its begin ends to the last bit too", "[unit]") {
  std::mt19937_64 random(11);
  std::uniform_int_distribution<std::int64_t> begins(1, 1'000'000);
  std::uniform_int_distribution<std::int64_t> lengths(1, 3'600'000'000'000);
  int missed = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t begin = begins(random);
    const std::int64_t end = begin + lengths(random);
    const double sum = read_as_double(microseconds(begin)) + read_as_double(duration(begin, end));
    missed += sum == read_as_double(microseconds(end)) ? 0 : 1;
  }
  CHECK(missed == 0);
}

}  // namespace stepcast::trace_text_test
