// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/nearest_name.hpp"

#include <vector>

#include "catch.hpp"

namespace stepcast::nearest_name_test {
namespace {

TEST_CASE("edit distance counts insertions, deletions, substitutions and swaps", "[unit]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("bandwith", "bandwidth") == 1);  // d inserted
  CHECK(edit_distance("capacityy", "capacity") == 1);  // y deleted
  CHECK(edit_distance("hbn", "hbm") == 1);             // n for m
  CHECK(edit_distance("lastency", "latency") == 1);    // s deleted
  CHECK(edit_distance("seuqence", "sequence") == 1);   // uq swapped
  CHECK(edit_distance("kitten", "sitting") == 3);      // the textbook's
}

TEST_CASE("edit distance ignores case and is symmetric", "[unit]") {
  CHECK(edit_distance("MI300X", "mi300x") == 0);
  for (const char* a : {"", "tp", "sequence_length", "qk"}) {
    for (const char* b : {"pt", "sequence", "", "kq1"}) {
      CHECK(edit_distance(a, b) == edit_distance(b, a));
    }
  }
}

TEST_CASE("the nearest name is suggested if a third of the letters or fewer are wrong", "[unit]") {
  const std::vector<std::string> names = {"sequence_length", "micro_batch_size", "dtype", "tp"};
  CHECK(nearest_name("sequence_lenght", names) == "sequence_length");
  CHECK(nearest_name("sqnc_lngt", names).empty());  // 6 of 9 letters differ
  CHECK(nearest_name("dtyp", names) == "dtype");
  CHECK(nearest_name("pt", names) == "tp");  // one swap, of a name of two letters
  CHECK(nearest_name("xyz", names).empty());
  CHECK(nearest_name("dtype", {}).empty());
}

TEST_CASE("a name that differs in capitals alone is suggested before longer ones", "[unit]") {
  const std::vector<std::string> names = {"deepep_v2", "deepep", "--gpu-clock-mhz", "--gpu"};
  CHECK(nearest_name("DeepEP", names) == "deepep");
  CHECK(nearest_name("--GPU", names) == "--gpu");
}

TEST_CASE("a short form leads to the whole, and a long one to the short", "[unit]") {
  const std::vector<std::string> names = {"project", "global_batch_size", "sequence_length",
                                          "bf16"};
  CHECK(nearest_name("proj", names) == "project");
  CHECK(nearest_name("gbs", names) == "global_batch_size");
  CHECK(nearest_name("seq_length", names) == "sequence_length");
  CHECK(nearest_name("bfloat16", names) == "bf16");
  CHECK(nearest_name("pr", names).empty());  // of two letters much would be the beginning
}

TEST_CASE("a name too long to be a typo gets no suggestion", "[unit]") {
  const std::vector<std::string> names = {std::string(65, 'a')};
  CHECK(nearest_name(std::string(65, 'a'), names).empty());
}

TEST_CASE("a few names that go on after what is given are all suggested", "[unit]") {
  const std::vector<std::string> parts = {"a100_40gb", "a100_80gb", "h100_sxm", "b200"};
  CHECK(did_you_mean("a100", parts) == "; did you mean 'a100_40gb' or 'a100_80gb'?");
  CHECK(did_you_mean("h100", parts) == "; did you mean 'h100_sxm'?");
  const std::vector<std::string> many = {"m_a", "m_b", "m_c", "m_d", "m_e"};
  CHECK(did_you_mean("m", many) == "; did you mean 'm_a'?");
}

TEST_CASE("a suggestion ends the message as a question", "[unit]") {
  const std::vector<std::string> names = {"capacity"};
  CHECK(did_you_mean("capcity", names) == "; did you mean 'capacity'?");
  CHECK(did_you_mean("rate", names).empty());
}

}  // namespace
}  // namespace stepcast::nearest_name_test
