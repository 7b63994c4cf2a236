// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_order.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "catch.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"

namespace stepcast::pipeline_order_test {
namespace {

// F forward, B backward, b gradient of the input, W of the weights; an apostrophe is the second
// chunk; F0&B1 is an overlapped pair.
std::string letters(char kind, std::int32_t micro_batch, std::int32_t chunk) {
  return kind + std::to_string(micro_batch) + (chunk > 0 ? "'" : "");
}

std::string text(const RankOrder& tasks) {
  std::string text;
  for (const PipelineTask& task : tasks) {
    const char kind = "FBbWF"[static_cast<std::size_t>(task.kind)];
    text += (text.empty() ? "" : " ") + letters(kind, task.micro_batch, task.chunk);
    if (task.kind == TaskKind::kOverlapped) {
      text += "&" + letters('B', task.backward_micro_batch, task.backward_chunk);
    }
  }
  return text;
}

TEST_CASE("1F1B warms up with p - 1 - rank forwards, alternates and drains", "[unit]") {
  const PipelineShape shape{3, 1, 4};
  CHECK(text(pipeline_order(Schedule::kOneFOneB, shape, 0)) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(text(pipeline_order(Schedule::kOneFOneB, shape, 1)) == "F0 F1 B0 F2 B1 F3 B2 B3");
  CHECK(text(pipeline_order(Schedule::kOneFOneB, shape, 2)) == "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST_CASE("1F1B with fewer micro-batches than ranks runs all forwards first", "[unit]") {
  CHECK(text(pipeline_order(Schedule::kOneFOneB, {4, 1, 2}, 0)) == "F0 F1 B0 B1");
  CHECK(text(pipeline_order(Schedule::kOneFOneB, {4, 1, 2}, 2)) == "F0 F1 B0 B1");
}

// Narayanan et al., figure 4: p = 2, v = 2, m = 4. An apostrophe is the second chunk.
TEST_CASE("the interleaved schedule takes groups of p micro-batches through all chunks", "[unit]") {
  // Warm-up of rank 0: 2 (p - 1) + (v - 1) p = 4 forwards; of rank 1: 2.
  CHECK(text(pipeline_order(Schedule::kInterleaved, {2, 2, 4}, 0)) ==
        "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
  CHECK(text(pipeline_order(Schedule::kInterleaved, {2, 2, 4}, 1)) ==
        "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
}

TEST_CASE("GPipe runs all forwards, then all backwards", "[unit]") {
  CHECK(text(pipeline_order(Schedule::kGpipe, {3, 1, 3}, 1)) == "F0 F1 F2 B0 B1 B2");
}

// Qi et al., arXiv 2401.10241, figure 3 for p = 4: rank r runs the gradient of weights r
// micro-batches after that of the input, so that every rank holds p.
TEST_CASE("ZB-H1 is 1F1B with gradients of weights as late as the memory of 1F1B allows",
          "[unit]") {
  const PipelineShape shape{4, 1, 6};
  CHECK(text(pipeline_order(Schedule::kZbH1, shape, 0)) ==
        "F0 F1 F2 F3 b0 W0 F4 b1 W1 F5 b2 W2 b3 W3 b4 W4 b5 W5");
  CHECK(text(pipeline_order(Schedule::kZbH1, shape, 3)) ==
        "F0 b0 F1 b1 F2 b2 F3 b3 W0 F4 b4 W1 F5 b5 W2 W3 W4 W5");
}

// Three forwards warm up rank 0 and two rank 1, which runs gradients of weights one task later.
TEST_CASE("interleaved zero bubble splits the backwards of interleaved 1F1B", "[unit]") {
  const PipelineShape shape{2, 2, 4};
  CHECK(text(pipeline_order(Schedule::kInterleavedZeroBubble, shape, 0)) ==
        "F0 F1 F0' F1' b0' W0' F2 b1' W1' F3 b0 W0 F2' b1 W1 F3' b2' W2' b3' W3' b2 W2 b3 W3");
  CHECK(text(pipeline_order(Schedule::kInterleavedZeroBubble, shape, 1)) ==
        "F0 F1 F0' b0' F1' b1' W0' F2 b0 W1' F3 b1 W0 F2' b2' W1 F3' b3' W2' b2 W3' b3 W2 W3");
}

TEST_CASE("ZB-H2 warms up with twice as many forwards as 1F1B", "[unit]") {
  // 2 (p - r) - 1 forwards before the first input gradient: 5, 3 and 1.
  const PipelineShape shape{3, 1, 7};
  CHECK_THAT(text(pipeline_order(Schedule::kZbH2, shape, 0)),
             test::contains_text("F0 F1 F2 F3 F4 b0"));
  CHECK_THAT(text(pipeline_order(Schedule::kZbH2, shape, 1)), test::contains_text("F0 F1 F2 b0"));
  CHECK_THAT(text(pipeline_order(Schedule::kZbH2, shape, 2)), test::contains_text("F0 b0"));
}

TEST_CASE("a V turns round on the last rank", "[unit]") {
  // Rank 1 of 2 holds stages 1 and 2: the second chunk follows the first there at once.
  CHECK(text(pipeline_order(Schedule::kZbV, {2, 2, 2}, 1)) ==
        "F0 F0' F1 F1' b0' b0 b1' b1 W0' W0 W1' W1");
}

// The phases of dual_pipe.cpp for p = 4, 4 micro-batches a direction (0 to 3 up, 4 to 7 down).
TEST_CASE("DualPipe runs forwards of one direction beside backwards of the other", "[unit]") {
  const PipelineShape shape{4, 1, 8};
  CHECK(text(pipeline_order(Schedule::kDualPipe, shape, 0)) ==
        "F0 F1 F2 F4' b4' W4' F5' F3&B5' F6'&B0 B6' F7'&B1 B7' b2 W2 b3 W3");
  CHECK(text(pipeline_order(Schedule::kDualPipe, shape, 1)) ==
        "F0 F4' F1 F5' F2 B4' F6'&B0 F3&B5' F7'&B1 B6' B2 b7' b3 W7' W3");
  // The other end does the same with the directions swapped.
  CHECK(text(pipeline_order(Schedule::kDualPipe, shape, 3)) ==
        "F4' F5' F6' F0 b0 W0 F1 F7'&B1 F2&B4' B2 F3&B5' B3 b6' W6' b7' W7'");
}

TEST_CASE("DualPipeV is the first half of the ranks of DualPipe", "[unit]") {
  // p = 2 as the first ranks of 4; what entered at the other end is the second chunk.
  CHECK(text(pipeline_order(Schedule::kDualPipeV, {2, 2, 4}, 0)) ==
        "F0 F1 F2 F0' b0' W0' F1' F3&B1' F2'&B0 B2' F3'&B1 B3' b2 W2 b3 W3");
}

TEST_CASE("DualPipe with fewer micro-batches leaves the missing ones out", "[unit]") {
  CHECK(text(pipeline_order(Schedule::kDualPipe, {4, 1, 3}, 0)) == "F0 F1 F2' b2' W2' B0 B1");
}

TEST_CASE("activations are held from the forward to the gradient of the weights", "[unit]") {
  CHECK(peak_in_flight({{TaskKind::kForward, 0, 0},
                        {TaskKind::kInputGradient, 0, 0},
                        {TaskKind::kForward, 0, 1},
                        {TaskKind::kWeightGradient, 0, 0}},
                       {2, 1, 2}) == 2.0);
  // A pair holds both: its forward begins when its backward does.
  CHECK(peak_in_flight({{TaskKind::kForward, 0, 0}, {TaskKind::kOverlapped, 1, 1, 0, 0}},
                       {2, 2, 2}) == 1.0);  // two chunks of half a share
}

// Counts what an order does to each chunk and micro-batch.
class TaskCounter {
 public:
  // The fault of `task`, coming next; empty if there is none.
  std::string add(const PipelineTask& task) {
    switch (task.kind) {
      case TaskKind::kForward:
        return step(task.chunk, task.micro_batch, 0, kForwardDone);
      case TaskKind::kBackward:
        return step(task.chunk, task.micro_batch, kForwardDone, kAllDone);
      case TaskKind::kInputGradient:
        return step(task.chunk, task.micro_batch, kForwardDone, kInputDone);
      case TaskKind::kWeightGradient:
        return step(task.chunk, task.micro_batch, kInputDone, kAllDone);
      case TaskKind::kOverlapped:
        return step(task.chunk, task.micro_batch, 0, kForwardDone) +
               step(task.backward_chunk, task.backward_micro_batch, kForwardDone, kAllDone);
    }
    return "a task of no kind";
  }

  [[nodiscard]] std::string fault(Schedule schedule, const PipelineShape& shape) const {
    std::int64_t wanted = 0;
    for (std::int64_t chunk = 0; chunk < chunks_per_rank(schedule, shape); ++chunk) {
      wanted += micro_batches_through(schedule, shape, chunk);
    }
    for (const auto& [task, state] : states_) {
      if (state != kAllDone) {
        return "a backward is missing";
      }
    }
    return static_cast<std::int64_t>(states_.size()) == wanted ? "" : "a task is missing";
  }

 private:
  static constexpr int kForwardDone = 1;
  static constexpr int kInputDone = 2;
  static constexpr int kAllDone = 3;

  std::string step(std::int32_t chunk, std::int32_t micro_batch, int from, int to) {
    int& state = states_[{chunk, micro_batch}];
    const bool right = state == from;
    state = to;
    return right ? "" : "a task runs twice, or before what it follows";
  }

  std::map<std::pair<std::int32_t, std::int32_t>, int> states_;
};

std::string fault_of(Schedule schedule, const PipelineShape& shape) {
  for (const RankOrder& order : pipeline_orders(schedule, shape)) {
    TaskCounter counter;
    for (const PipelineTask& task : order) {
      if (std::string fault = counter.add(task); !fault.empty()) {
        return fault;
      }
    }
    if (std::string fault = counter.fault(schedule, shape); !fault.empty()) {
      return fault;
    }
  }
  return "";
}

TEST_CASE("every rank runs every task exactly once, a forward before its backward", "[property]") {
  for (const ScheduleInfo& info : schedule_infos()) {
    for (std::int64_t p = 1; p <= 8; ++p) {
      for (std::int64_t v = 1; v <= 4; ++v) {
        if (info.schedule != Schedule::kInterleaved && v != chunks_for(info.schedule, 1)) {
          continue;
        }
        if (info.schedule == Schedule::kDualPipe && p % 2 != 0) {
          continue;
        }
        for (std::int64_t m = 1; m <= 20; ++m) {
          const std::string fault = fault_of(info.schedule, {p, v, m});
          if (!fault.empty()) {
            CAPTURE(name(info.schedule), p, v, m);
            CHECK(fault == "");
          }
        }
      }
    }
  }
  SUCCEED();
}

// 1F1B's p, and what Qi et al. give for their building blocks.
TEST_CASE("no schedule holds more activations than its paper says", "[property]") {
  for (std::int64_t p = 1; p <= 16; ++p) {
    for (const std::int64_t m : {std::int64_t{1}, p, 2 * p + 1, 4 * p}) {
      const auto most = [&](Schedule schedule) {
        const PipelineShape shape{p, chunks_for(schedule, 1), m};
        double peak = 0.0;
        for (const RankOrder& order : pipeline_orders(schedule, shape)) {
          peak = std::max(peak, peak_in_flight(order, shape));
        }
        return peak;
      };
      CAPTURE(p, m);
      const auto ranks = static_cast<double>(p);
      const auto batches = static_cast<double>(m);
      CHECK(most(Schedule::kGpipe) == batches);
      CHECK(most(Schedule::kOneFOneB) == std::min(ranks, batches));
      CHECK(most(Schedule::kZbH1) == std::min(ranks, batches));
      CHECK(most(Schedule::kZbH2) <= std::min(2.0 * ranks - 1.0, batches));
      CHECK(most(Schedule::kZbV) <= std::min(ranks, batches));
      CHECK(most(Schedule::kVHalf) <= static_cast<double>((p + 2) / 2));
      CHECK(most(Schedule::kVMin) <= static_cast<double>((p + 4) / 3));
      const double remainder = 0.5 * static_cast<double>(m % p);
      CHECK(most(Schedule::kInterleavedZeroBubble) <= std::min(ranks + remainder, batches));
      CHECK(most(Schedule::kDualPipeV) <= std::min(ranks + 0.5, batches));
      if (p % 2 == 0) {
        CHECK(most(Schedule::kDualPipe) <= std::min(ranks + 1.0, batches));
      }
    }
  }
}

// PyTorch's schedules of one stage a rank send and receive in pairs of neighbours.
TEST_CASE("only ranks of several stages have transfers in order", "[unit]") {
  SoftwareSpec software;
  software.pipeline_transfers = PipelineTransfers::kInOrder;
  ParallelPlan plan;
  plan.pp = 4;
  plan.schedule = Schedule::kOneFOneB;
  CHECK(pipeline_runtime(plan, {}, software).transfers == PipelineTransfers::kFree);
  plan.vpp = 2;
  plan.schedule = Schedule::kInterleaved;
  CHECK(pipeline_runtime(plan, {}, software).transfers == PipelineTransfers::kInOrder);
}

}  // namespace
}  // namespace stepcast::pipeline_order_test
