// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/trace_evidence.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"

namespace stepcast::trace_evidence_test {
namespace {

// A step of a second, of which gathers take 0.5 s where 0.1 are projected.
TracedStep traced() {
  return {"rank0.json",
          Seconds(1.0),
          {{"gemm", Seconds(0.4), Seconds(0.4), false},
           {"all_gather", Seconds(0.5), Seconds(0.1), false},
           {"waiting", Seconds(0.0), Seconds(0.0), true},
           {"optimizer", Seconds(0.0), Seconds(0.2), false},
           {"copies", Seconds(0.1), Seconds(0.0), false}},
          {}};
}

TEST_CASE("the evidence of a traced step is Student's t of each part", "[unit]") {
  TracedStep trace{"", Seconds(1.0), {{"gemm", Seconds(0.4), Seconds(0.4), false}}, {}};
  CHECK(log_evidence(trace, std::vector<Seconds>{Seconds(0.4)}) ==
        Approx(-std::log(std::hypot(0.03, 0.08))));
  // s = hypot(0.03, 0.2 * 0.2) = 0.05, so that z = 4: ln of (1 + 16 / 4)^(-5/2) / s
  CHECK(log_evidence(trace, std::vector<Seconds>{Seconds(0.2)}) ==
        Approx(-2.5 * std::log(5.0) - std::log(0.05)));
}

TEST_CASE("a part is told by what the trace has of it beside the projection", "[unit]") {
  const TracedStep trace = traced();
  CHECK(state_of(trace, trace.parts[0]) == PartState::kAsProjected);
  CHECK(state_of(trace, trace.parts[1]) == PartState::kLonger);
  CHECK(state_of(trace, trace.parts[2]) == PartState::kAsProjected);
  CHECK(state_of(trace, trace.parts[3]) == PartState::kMissing);
  CHECK(state_of(trace, trace.parts[4]) == PartState::kUnexpected);
  CHECK(state_of(trace, {"idle", Seconds(0.1), Seconds(0.3), false}) == PartState::kShorter);
}

TEST_CASE("a cause moves the parts that it changes, of which the trace has some", "[unit]") {
  const TracedStep trace = traced();
  CauseFit fit;
  fit.traced = {Seconds(0.5), Seconds(0.45), Seconds(0.0), Seconds(0.2), Seconds(0.005)};
  const std::vector<MovedPart> moved = moved_parts(trace, fit);
  REQUIRE(moved.size() == 2);  // the copies move by half of a hundredth
  CHECK(moved[0].part->name == "all_gather");
  CHECK(moved[0].projected == Seconds(0.45));
  CHECK(moved[0].seen);
  CHECK(moved[1].part->name == "gemm");
  CHECK_FALSE(moved[1].seen);
}

TEST_CASE("a convention moves no part of a trace", "[unit]") {
  CHECK(moved_parts(traced(), CauseFit{}).empty());
}

}  // namespace
}  // namespace stepcast::trace_evidence_test
