// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/measured_step.hpp"

#include "catch.hpp"

namespace stepcast::exposed_waiting_test {
namespace {

TracedCollective call(double start, double time, double waiting) {
  TracedCollective made;
  made.start = Seconds(start);
  made.time = Seconds(time);
  made.waiting = Seconds(waiting);
  return made;
}

}  // namespace

TEST_CASE("waiting is exposed where nothing computes and nothing is transferred", "[unit]") {
  // Computation until 40; a collective that waits from 30 to 80 and transfers until 100.
  const BusyTimes computing = {{0.0, 40.0}};
  CHECK(exposed_waiting(computing, {call(30, 70, 50)}).value() == Approx(40));
  // Another one transfers from 60 to 70 meanwhile.
  CHECK(exposed_waiting(computing, {call(30, 70, 50), call(60, 10, 0)}).value() == Approx(30));
  // Two that wait at once wait once.
  CHECK(exposed_waiting(computing, {call(30, 70, 50), call(30, 70, 50)}).value() == Approx(40));
  CHECK(exposed_waiting(computing, {call(10, 20, 15)}) == Seconds{});
  CHECK(exposed_waiting({}, {}) == Seconds{});
}

}  // namespace stepcast::exposed_waiting_test
