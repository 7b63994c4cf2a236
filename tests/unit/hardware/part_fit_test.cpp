// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/part_fit.hpp"

#include <cmath>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "text_file.hpp"

namespace stepcast::part_fit_test {
namespace {

using test::config_error;
using test::contains_text;

// A part of a user's own, based on the H100 of 132 units, 1830 MHz rated and 700 W.
DeviceSpec own_part(const std::string& numbers) {
  const test::TextFile file("own_part.yaml", "name: own\ntitle: own\nbase: h100_sxm\n" + numbers);
  return load_gpu(file.path().string(), test::data_root(), {"test", 1, 1});
}
std::string problem(const std::string& numbers) {
  return config_error([&] { own_part(numbers); });
}
std::string doubts(const std::string& numbers) {
  std::string text;
  for (const std::string& doubt : own_part(numbers).doubts) {
    text += doubt + "\n";
  }
  return text;
}

TEST_CASE("No part that ships takes over what does not fit it", "[unit]") {
  int based = 0;
  for (const std::string& name : names_in(test::data_root().gpus())) {
    const DeviceSpec part = test::shipped_gpu(name);
    CHECK_FALSE(part.is_own);
    CHECK((part.distance == PartDistance::kNone) == part.stand_in.empty());
    if (part.bases.empty()) {
      continue;
    }
    ++based;
    for (const Misfit& misfit : misfits(part, test::shipped_gpu(part.bases.front()))) {
      CAPTURE(name, misfit.key, misfit.text);
      CHECK_FALSE(misfit.decides);
    }
  }
  CHECK(based > 3);
}

TEST_CASE("Units that do less a cycle draw less, or say what they draw", "[unit]") {
  // 5.88 nJ a cycle of 4096 FLOP are 1.47 nJ of 1024.
  const std::string slower = "matrix_rate: {bf16: {value: 1024 FLOP/clk, assumed: a}}\n";
  const std::string said = problem(slower);
  CHECK_THAT(said, contains_text("own_part.yaml:4:15: error: 'matrix_rate.bf16'"));
  CHECK_THAT(said, contains_text("bf16: {value: 1.47 nJ, assumed: the energy a FLOP of h100_sxm}"));
  const DeviceSpec part = own_part(
      slower +
      "kernels: {base: gh100, power: {matrix_energy: {bf16: {value: 1.47 nJ, assumed: a}}}}\n");
  CHECK(part.kernels.power.matrix_energy[slot(Dtype::kBf16)]->value() == Approx(1.47e-9));
  CHECK(part.kernels.power.matrix_energy[slot(Dtype::kFp8)]->value() == Approx(5.881e-9));
  CHECK(part.kernels.name == "gh100");
  CHECK(part.distance == PartDistance::kArchitecture);
}

TEST_CASE("A rated clock of another die is told with the peak that it makes", "[unit]") {
  // 78 x 4096 FLOP/clk x 1830 MHz = 585 TFLOP/s.
  CHECK_THAT(doubts("compute_units: {value: 78, assumed: a}\n"),
             contains_text("the dense bf16 peak is 585 TFLOP/s: state the clock"));
  // A peak of 2100 MHz in the place of 1980: 1830 x 2100 / 1980 = 1941.
  CHECK_THAT(doubts("clock: {peak: {value: 2100 MHz, assumed: a}}\n"),
             contains_text("1.94 GHz, the same share of clock.peak, would give 1.05 PFLOP/s"));
  CHECK_THAT(problem("clock: {peak: {value: 1700 MHz, assumed: a}}\n"),
             contains_text("own_part.yaml:4:9: error: 'clock.peak' is the part's own and "
                           "clock.rated, 1.83 GHz, still that of h100_sxm"));
}

TEST_CASE("A clock at the limit follows the power that the limit leaves", "[unit]") {
  // (350 - 70) / (700 - 70) to the power 1 / 2.989, of 1500 MHz.
  const double fits = 1500.0 * std::pow(280.0 / 630.0, 1.0 / 2.989);
  CHECK(fits == Approx(1143.6).epsilon(0.001));
  CHECK_THAT(doubts("power: {limit: {value: 350 W, assumed: a}}\n"),
             contains_text("clock.sustained.bf16, 1.5 GHz, still that of h100_sxm; by its power "
                           "1.14 GHz would fit"));
}

TEST_CASE("Memory achieves no more than its own peak, told where the peak stands", "[unit]") {
  CHECK_THAT(problem("hbm:\n  peak: {value: 2 TB/s, assumed: a}\n"),
             contains_text("own_part.yaml:5:3: error: 'hbm.peak' is the part's own and "
                           "hbm.achieved, 2.9 TB/s, still that of h100_sxm; 1.73 TB/s would"));
  CHECK_THAT(doubts("hbm: {peak: {value: 4 TB/s, assumed: a}}\n"),
             contains_text("3.46 TB/s would be the same share"));
}

TEST_CASE("Links of another rate are told with the rates of collectives that would fit", "[unit]") {
  // 18 x 50 GB/s in the place of 18 x 25: 537.6 and 195.8 GB/s twice.
  CHECK_THAT(doubts("scale_up: {link_rate: {value: 50 GB/s, assumed: a}}\n"),
             contains_text("simple.own_rate would be 1.02 TB/s and ll.rate 392 GB/s"));
}

TEST_CASE("A die with other memory is nearer than another die, and that than no base", "[unit]") {
  CHECK(own_part("hbm: {capacity: {value: 120 GB, assumed: a}}\n").distance == PartDistance::kGpu);
  CHECK(own_part("compute_units: {value: 114, assumed: a}\n").distance ==
        PartDistance::kArchitecture);
  CHECK(own_part("clock: {rated: {value: 1755 MHz, assumed: a}}\n").distance ==
        PartDistance::kArchitecture);
}

TEST_CASE("A part that was never measured is as far as the one whose kernels it has", "[unit]") {
  const auto distance = [](const std::string& name) { return test::shipped_gpu(name).distance; };
  CHECK(distance("h100_sxm") == PartDistance::kNone);
  CHECK(distance("gh200") == PartDistance::kGpu);          // the die of H100
  CHECK(distance("h20") == PartDistance::kArchitecture);   // 78 units of a quarter of the rate
  CHECK(distance("l40s") == PartDistance::kArchitecture);  // Ada on kernels of Ampere
  CHECK(distance("vr200") == PartDistance::kArchitecture);
}

TEST_CASE("A part based on announced figures is an estimate like its base", "[unit]") {
  CHECK(test::shipped_gpu("vr200").standing == PartStanding::kAnnounced);
  CHECK(test::shipped_gpu("mi455x").standing == PartStanding::kAnnounced);
  CHECK(own_part("").standing == PartStanding::kShipped);
  CHECK(own_part("standing: announced\n").standing == PartStanding::kAnnounced);
  CHECK_THAT(problem("standing: rumoured\n"),
             contains_text("own_part.yaml:4:11: error: 'standing'"));
  const test::TextFile file("own_part.yaml", "name: own\ntitle: own\nbase: vr200\n");
  const DeviceSpec part = load_gpu(file.path().string(), test::data_root(), {"test", 1, 1});
  CHECK(part.standing == PartStanding::kAnnounced);
  CHECK_THAT(estimate_note(part), contains_text("own is an estimate from announced figures"));
  CHECK(estimate_note(own_part("")).empty());
}

TEST_CASE("A fabric joins whole nodes", "[unit]") {
  CHECK(domain_fault(8, 8).empty());
  CHECK(domain_fault(72, 4).empty());
  CHECK_THAT(domain_fault(4, 8), contains_text("gpus_per_node: {value: 4, ...}"));
  CHECK_THAT(domain_fault(10, 8), contains_text("give a multiple"));
  CHECK_THAT(problem("scale_up: {domain_size: {value: 2, assumed: a}}\n"),
             contains_text("own_part.yaml:4:11: error: 'scale_up' has a domain_size of 2, and a "
                           "node has 8 GPUs"));
}

TEST_CASE("Constants of a base that is not there are refused at their place", "[unit]") {
  CHECK_THAT(problem("kernels: {base: gh10}\n"),
             contains_text("'kernels' is 'gh10', which names no file of the folder kernels; did "
                           "you mean 'gh100'?"));
  CHECK_THAT(problem("kernels: {base: gh100, gemm: {start: {value: 1 us, assumed: a}}}\n"),
             contains_text("own_part.yaml:4:31: error: unknown key 'start'"));
}

TEST_CASE("a part of one's own is no nearer to measured kernels than its base", "[unit]") {
  const test::TextFile file("own_part.yaml",
                            "name: own\ntitle: own\nbase: h20\n"
                            "hbm: {capacity: {value: 141 GB, assumed: a later card}}\n");
  const DeviceSpec own = load_gpu(file.path().string(), test::data_root(), {"test", 0, 0});
  CHECK(own.distance == test::shipped_gpu("h20").distance);
  CHECK(own.distance == PartDistance::kArchitecture);
  CHECK(own.stand_in == test::shipped_gpu("h20").stand_in);
}

}  // namespace
}  // namespace stepcast::part_fit_test
