// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/error_model.hpp"

#include <cmath>
#include <numbers>

#include "catch.hpp"
#include "stepcast/experiment/accuracy.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast::error_model_test {
namespace {

RunTraits traits(const std::string& source = "") {
  return {.gpu = "h100_sxm",
          .architecture = "sm90",
          .vendor = "nvidia",
          .family = AccuracyFamily::kDense,
          .dtype = Dtype::kBf16,
          .software = "nemo",
          .gpus = 64,
          .source = source};
}

HeldOutRun run(const std::string& source, double error) { return {traits(source), error}; }

// As many sources, each with one run; errors change their sign from one to the next.
std::vector<HeldOutRun> sources(int count, double error) {
  std::vector<HeldOutRun> runs;
  for (int i = 0; i < count; ++i) {
    runs.push_back(run("source " + std::to_string(i), i % 2 == 0 ? error : -error));
  }
  return runs;
}

RunTraits on(const std::string& gpu, const std::string& architecture, const std::string& vendor) {
  RunTraits other = traits();
  other.gpu = gpu;
  other.architecture = architecture;
  other.vendor = vendor;
  return other;
}

double half_width(const RunTraits& of, const std::vector<HeldOutRun>& known) {
  return error_distribution(of, known)->interval(Certainty::k80).half_width();
}

const double kPrior = std::hypot(0.028, 0.064);

}  // namespace

TEST_CASE("Quantiles of Student's distribution are those of its tables", "[unit]") {
  constexpr double kOf80 = 1.2815515655446004;
  constexpr double kOf90 = 1.6448536269514722;
  CHECK(student_quantile(kOf80, 10.0) == Approx(1.372).epsilon(0.001));
  CHECK(student_quantile(kOf90, 10.0) == Approx(1.812).epsilon(0.001));
  CHECK(student_quantile(kOf80, 4.0) == Approx(1.533).epsilon(0.003));
  CHECK(student_quantile(kOf90, 4.0) == Approx(2.132).epsilon(0.003));
  CHECK(student_quantile(kOf90, 1e9) == Approx(kOf90));
}

TEST_CASE("A run says less of another for each way in which they differ", "[unit]") {
  CHECK(kinship(traits(), traits("any")) == 1.0);
  CHECK(kinship(traits(), on("h200_sxm", "sm90", "nvidia")) == Approx(0.7));
  CHECK(kinship(traits(), on("b200", "sm100", "nvidia")) == Approx(0.7 * 0.7));
  CHECK(kinship(traits(), on("mi300x", "gfx942", "amd")) == Approx(0.7 * 0.7 * 0.7));
  RunTraits other = traits();
  other.software = "torchtitan";
  other.dtype = Dtype::kFp8Block;
  other.gpus = 6400;
  CHECK(kinship(traits(), other) == Approx(0.5 * 0.7 * 0.7 * 0.7));
  CHECK(kinship(other, traits()) == kinship(traits(), other));
  other = traits();
  other.dtype = Dtype::kFp16;
  CHECK(kinship(traits(), other) == 1.0);
  other.family = AccuracyFamily::kMoe;
  CHECK(kinship(traits(), other) == 0.05);
  RunTraits latent = other;
  latent.family = AccuracyFamily::kMla;
  CHECK(kinship(other, latent) == 0.5);
}

TEST_CASE("Runs of other mixers say nothing of full attention, which says a little of them",
          "[unit]") {
  RunTraits full = traits();
  RunTraits linear = traits();
  linear.family = AccuracyFamily::kLinearAttention;
  RunTraits sparse = traits();
  sparse.family = AccuracyFamily::kSparseAttention;
  CHECK(kinship(full, linear) == 0.0);
  CHECK(kinship(linear, full) == 0.05);
  CHECK(kinship(linear, sparse) == 0.5);
  CHECK(kinship(linear, linear) == 1.0);
  CHECK_FALSE(error_distribution(full, {HeldOutRun{linear, 0.5}}).has_value());
}

TEST_CASE("Without runs, or with those of its own source alone, nothing is known", "[unit]") {
  CHECK_FALSE(error_distribution(traits(), {}).has_value());
  CHECK_FALSE(error_distribution(traits("a"), {run("a", 0.1)}).has_value());
  CHECK(error_distribution(traits("b"), {run("a", 0.1)}).has_value());
}

TEST_CASE("One run of one source moves the centre by a third of its error", "[unit]") {
  const ErrorDistribution error = *error_distribution(traits(), {run("a", 0.3)});
  CHECK(error.centre == Approx(0.1));  // 0.3 / (1 + 2)
  const double pooled = (4.0 * kPrior + std::sqrt(std::numbers::pi / 2.0) * 0.2) / 5.0;
  CHECK(error.spread == Approx(pooled * std::sqrt(1.0 + 1.0 / 3.0)));
  CHECK(error.degrees == Approx(5.0));
  CHECK(error.within == Approx(kPrior));  // a run alone says nothing of it
  CHECK(error.between_gpus == 0.0);
  CHECK(error.between_software == 0.0);
}

TEST_CASE("Sources that agree narrow the spread as their number grows", "[unit]") {
  const ErrorDistribution error = *error_distribution(traits(), sources(8, 0.0));
  CHECK(error.centre == 0.0);
  CHECK(error.spread == Approx(4.0 / 12.0 * kPrior * std::sqrt(1.1)));
  CHECK(error.degrees == Approx(12.0));
  const RateInterval interval = error.interval(Certainty::k90);
  CHECK(interval.low * interval.high == Approx(1.0));
}

TEST_CASE("A hundred runs of one source count as five of as many sources", "[unit]") {
  const std::vector<HeldOutRun> runs(100, run("a", 0.06));
  const ErrorDistribution error = *error_distribution(traits(), runs);
  const double count = 100.0 / (1.0 + 99.0 * 0.2);  // 4.81
  CHECK(error.degrees == Approx(4.0 + count));
  CHECK(error.centre == Approx(0.06 * count / (count + 2.0)));
  CHECK(error.within < 0.5 * kPrior);  // they agree with one another
}

TEST_CASE("Fewer runs never make an interval narrower", "[unit]") {
  // Errors as large as is believed before any run is seen.
  for (const double error : {0.0, 0.02, 0.05}) {
    double last = 0.0;
    for (int count = 12; count >= 2; count -= 2) {
      CAPTURE(error, count);
      const double half = half_width(traits(), sources(count, error));
      CHECK(half > last);
      last = half;
    }
  }
}

TEST_CASE("What nobody ran has no narrower interval than what somebody did", "[unit]") {
  std::vector<HeldOutRun> runs = sources(6, 0.05);
  const double own = half_width(traits(), runs);
  double last = own;
  for (const RunTraits& kin : {on("h200_sxm", "sm90", "nvidia"), on("b200", "sm100", "nvidia"),
                               on("mi300x", "gfx942", "amd")}) {
    CAPTURE(kin.gpu);
    CHECK(half_width(kin, runs) > last);
    last = half_width(kin, runs);
    CHECK(error_distribution(kin, runs)->between_gpus == Approx(0.02));  // one kin: the least
  }
  RunTraits other = traits();
  other.software = "torchtitan";
  CHECK(half_width(other, runs) > own);
  CHECK(error_distribution(other, runs)->between_software == Approx(0.02));
  other = traits();
  other.family = AccuracyFamily::kMoe;
  CHECK(half_width(other, runs) > own);
}

TEST_CASE("Kin that lie far apart widen the interval of a GPU that nobody ran", "[unit]") {
  std::vector<HeldOutRun> runs;
  for (int i = 0; i < 6; ++i) {
    HeldOutRun fast = run("source " + std::to_string(i), 0.15);
    HeldOutRun slow = run("source " + std::to_string(i), -0.15);
    fast.traits.gpu = "h200_sxm";
    slow.traits.gpu = "h800";
    runs.insert(runs.end(), {fast, slow});
  }
  // Two kin 0.15 from their mean and none of the spread inside: 2 * 0.15^2 between them.
  const ErrorDistribution error = *error_distribution(traits(), runs);
  CHECK(error.between_gpus == Approx(std::sqrt(2.0) * 0.15));
  CHECK(error.centre == Approx(0.0).margin(1e-12));
}

TEST_CASE("A part of one's own stands like a GPU that was held out whole", "[unit]") {
  std::vector<HeldOutRun> runs;
  for (int i = 0; i < 6; ++i) {
    HeldOutRun fast = run("source " + std::to_string(i), 0.15);
    HeldOutRun slow = run("source " + std::to_string(i), -0.15);
    fast.traits = on("h200_sxm", "sm90", "nvidia");
    slow.traits = on("b200", "sm100", "nvidia");
    fast.traits.source = slow.traits.source = "source " + std::to_string(i);
    runs.insert(runs.end(), {fast, slow});
  }
  RunTraits own = on("mine", "sm90", "nvidia");
  const double shipped = half_width(own, runs);
  own.distance = PartDistance::kGpu;
  // Either GPU is 0.3 off the other.
  const ErrorDistribution error = *error_distribution(own, runs);
  CHECK(error.held_out_spread == Approx(0.3));
  CHECK(error.between_gpus == Approx(std::hypot(0.3, ErrorPriors{}.same_die)));
  CHECK(error.held_out_units == 2);
  CHECK(half_width(own, runs) > shipped);
  const double near = half_width(own, runs);
  own.distance = PartDistance::kArchitecture;
  CHECK(error_distribution(own, runs)->between_gpus ==
        Approx(std::hypot(0.3, ErrorPriors{}.other_die)));
  CHECK(half_width(own, runs) > near);
  // All that was held out is of one vendor.
  own.distance = PartDistance::kVendor;
  CHECK_FALSE(error_distribution(own, runs));
  CHECK_THAT(expected_error(runs, own).basis, test::contains_text("no two vendors"));
  own.distance = PartDistance::kArchitecture;
  // Of one architecture alone nobody knows how far another is off.
  std::erase_if(runs, [](const HeldOutRun& known) { return known.traits.gpu == "b200"; });
  CHECK_FALSE(error_distribution(own, runs));
  CHECK_THAT(expected_error(runs, own).basis, test::contains_text("no two architectures"));
}

TEST_CASE("A part of one's own is never nearer than its kind, whatever it is called", "[unit]") {
  RunTraits own = traits();
  CHECK(steps_apart(own, traits()) == 0);
  own.distance = PartDistance::kGpu;
  CHECK(steps_apart(own, traits()) == 1);
  own.distance = PartDistance::kVendor;
  CHECK(steps_apart(own, traits()) == kMostSteps);
}

TEST_CASE("A part whose figures are only announced is less sure than one that is sold", "[unit]") {
  const std::vector<HeldOutRun> runs = [] {
    std::vector<HeldOutRun> all = sources(6, 0.05);
    for (int i = 0; i < 6; ++i) {
      all.push_back({on("b200", "sm100", "nvidia"), 0.1});
      all.back().traits.source = "other source " + std::to_string(i);
    }
    return all;
  }();
  RunTraits part = on("next", "sm107", "nvidia");
  part.distance = PartDistance::kArchitecture;
  const ErrorDistribution sold = *error_distribution(part, runs);
  CHECK_THAT(
      expected_error(runs, part).basis,
      test::contains_text("; wider for a part that was never measured: 2 whole architectures"));
  part.standing = PartStanding::kAnnounced;
  const ErrorDistribution announced = *error_distribution(part, runs);
  CHECK(announced.announced_spread == ErrorPriors{}.announced);
  CHECK(announced.between_gpus == Approx(std::hypot(sold.between_gpus, ErrorPriors{}.announced)));
  CHECK(announced.spread > sold.spread);
  CHECK_THAT(expected_error(runs, part).basis,
             test::contains_text("; wider for an estimate from announced figures: 2 whole ") &&
                 test::contains_text("came out 4.7 % off the announced ones"));
}

TEST_CASE("Runs on a part that ships take the place of its distance", "[unit]") {
  std::vector<HeldOutRun> runs = sources(4, 0.05);
  RunTraits part = on("h20", "sm90", "nvidia");
  part.distance = PartDistance::kGpu;
  CHECK(placed_among(part, runs).distance == PartDistance::kGpu);
  runs.push_back({part, 0.0});
  runs.back().traits.source = "its own";
  CHECK(placed_among(part, runs).distance == PartDistance::kNone);
  // A part of the user's own may have the name of one that ships.
  part.own_part = true;
  CHECK(placed_among(part, runs).distance == PartDistance::kGpu);
}

TEST_CASE("An error is stated with the runs that it rests on", "[unit]") {
  std::vector<HeldOutRun> runs = {run("a", 0.1), run("a", 0.0), run("b", -0.1)};
  const ExpectedError own = expected_error(runs, traits());
  CHECK(own.basis == "3 runs of 2 sources on h100_sxm, dense");
  CHECK(own.runs == 3);
  CHECK(own.sources == 2);
  CHECK(own.median == Approx(1.0 - std::exp(-0.1)));
  const ExpectedError kin = expected_error(runs, on("h200_sxm", "sm90", "nvidia"));
  CHECK(kin.basis ==
        "nearest kin: h100_sxm (3 runs of 2 sources, dense); wider, for no run is on h200_sxm");
  RunTraits other = traits();
  other.software = "new";
  CHECK(expected_error(runs, other).basis ==
        "3 runs of 2 sources on h100_sxm, dense; wider, for no run is of new");
  other = traits();
  other.family = AccuracyFamily::kMla;
  CHECK(expected_error(runs, other).basis == "3 runs of 2 sources on h100_sxm, no run of mla");
  CHECK(expected_error_text(expected_error({}, traits())) ==
        "not known: no measured run was held out");
}

TEST_CASE("Kin are those of the architecture, and more where one source is all they have",
          "[unit]") {
  HeldOutRun near = run("a", 0.0);
  near.traits = on("mi325x", "gfx942", "amd");
  near.traits.source = "a";
  HeldOutRun far = near;
  far.traits.gpu = "mi355x";
  far.traits.architecture = "gfx950";
  far.traits.source = "b";
  const RunTraits mi300x = on("mi300x", "gfx942", "amd");
  CHECK(expected_error({near, far, run("c", 0.0)}, mi300x)
            .basis.starts_with("nearest kin: mi325x, mi355x (2 runs of 2 sources, dense)"));
  HeldOutRun own = near;
  own.traits.gpu = "mi300x";
  CHECK(expected_error({own, near, far}, mi300x)
            .basis.starts_with("1 run on mi300x and nearest kin: mi325x, mi355x (3 runs of 2 "
                               "sources, dense)"));
  CHECK(expected_error({own, own, own, own, own, near, far}, mi300x).basis ==
        "5 runs of 1 source on mi300x, dense");
  HeldOutRun second = near;
  second.traits.source = "c";
  CHECK(expected_error({near, far, second}, mi300x)
            .basis.starts_with("nearest kin: mi325x (2 runs of 2 sources, dense)"));
}

TEST_CASE("Plans of one GPU and one software set share a source's error", "[unit]") {
  // Sources far apart, whose own runs agree.
  std::vector<HeldOutRun> runs;
  for (const HeldOutRun& first : sources(6, 0.2)) {
    runs.insert(runs.end(), 5, first);
  }
  const ExpectedError one = expected_error(runs, traits());
  const double within = one.distribution->within;
  REQUIRE(within < 0.5 * one.distribution->spread);
  const double t = student_quantile(1.2815515655446004, one.distribution->degrees);
  const double least = std::exp(t * within * std::sqrt(2.0));
  CHECK(can_be_told_apart(least * 1.001, one, one));
  CHECK(can_be_told_apart(1.0 / least * 0.999, one, one));
  CHECK_FALSE(can_be_told_apart(least * 0.999, one, one));
  CHECK_FALSE(can_be_told_apart(1.0, one, one));
  const ExpectedError other = expected_error(runs, on("b200", "sm100", "nvidia"));
  CHECK_FALSE(can_be_told_apart(least * 1.001, one, other));
  CHECK(can_be_told_apart(3.0, one, other));
  CHECK_FALSE(can_be_told_apart(3.0, one, ExpectedError{}));
}

}  // namespace stepcast::error_model_test
