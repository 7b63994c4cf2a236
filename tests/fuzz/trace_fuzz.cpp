// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "fuzz/step_promise.hpp"
#include "fuzz/targets.hpp"
#include "stepcast/base/error.hpp"
#include "trace_reader/measured_step.hpp"
#include "trace_reader/rank_waiting.hpp"

namespace stepcast::fuzz {
int fuzz_trace(const std::uint8_t* data, std::size_t size) {
  std::istringstream stream{std::string(text_of(data, size))};
  MeasuredStep step;
  try {
    step = measured_step(read_recording(stream, "fuzz"), "fuzz");
  } catch (const ConfigError& error) {
    promise(!error.diagnostics().empty(), "an error says nothing");
    return 0;
  }
  check_summary(step.summary);
  check_operators(step);
  std::vector<MeasuredStep> ranks = {step, step};
  const RankWaiting waiting = rank_waiting(ranks, {"a", "b"});
  promise(waiting.ranks.size() == 2, "a rank was lost");
  for (const WaitedCollective& row : waiting.collectives) {
    promise(row.waiting[0] == Seconds{} && row.waiting[1] == Seconds{}, "a rank waits for itself");
  }
  return 0;
}

}  // namespace stepcast::fuzz
