// SPDX-License-Identifier: Apache-2.0
// Traces of both ranks of a pipeline, as `stepcast trace --ranks all` writes them, with one rank
// that is ready early.
#include <algorithm>
#include <sstream>

#include "catch.hpp"
#include "trace_reader/rank_waiting.hpp"
#include "trace_reader/step_comparison.hpp"
#include "unit/trace_writer/traced_step.hpp"

namespace stepcast::pipeline_waiting_test {
namespace {

using test::Json;
using test::TracedStep;

constexpr std::int64_t kMicroBatches = 8;

const std::string kPipeline =
    "model: llama3.2_1b\ncluster: {gpu: h200_sxm, nodes: 1, gpus_per_node: 2}\n"
    "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 8, dtype: bf16}\n"
    "plan: {pp: 2}\nsoftware: megatron\n";

const TracedStep& traced(std::int64_t rank) {
  static const TracedStep first(kPipeline, 0);
  static const TracedStep second(kPipeline, 1);
  return rank == 0 ? first : second;
}

MeasuredStep step_of(const std::string& text) {
  std::istringstream stream(text);
  return measured_step(read_recording(stream, "trace.json"), "trace.json");
}

// The trace of a rank whose clock is `shift` us ahead and whose receiving kernels begin `early` us
// before their senders'.
MeasuredStep shifted_step(std::int64_t rank, double shift, double early) {
  Json trace = Json::parse(traced(rank).text);
  for (Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") {
      continue;
    }
    const Json args = event.value("args", Json::object());
    const bool receives = test::category_of_event(event) == "kernel" && args.contains("Src Rank");
    event["ts"] = event.at("ts").get<double>() + shift - (receives ? early : 0.0);
    if (receives) {
      event["dur"] = event.at("dur").get<double>() + early;
    }
  }
  return step_of(trace.dump());
}

const ComparedRow& transfers_of(const std::vector<ComparedRow>& rows) {
  return *std::find_if(rows.begin(), rows.end(), [](const ComparedRow& row) {
    return row.category == StepCategory::kSendRecv;
  });
}

StepComparison comparison_of(MeasuredStep step, std::int64_t rank) {
  ComparisonInput input;
  input.measured = std::move(step);
  input.projection = traced(rank).projection;
  input.state = TraceState::kSteady;
  input.predicted = predicted_step(traced(rank).experiment, input.projection, traced(rank).cost,
                                   rank, input.state);
  return compare(std::move(input));
}

}  // namespace

TEST_CASE("transfers of a pipeline's trace are those of its projection", "[unit]") {
  for (const std::int64_t rank : {0, 1}) {
    const StepComparison comparison = comparison_of(step_of(traced(rank).text), rank);
    const ComparedRow& row = transfers_of(comparison.operators);
    CHECK(row.ours == std::vector<std::string>{"pipeline.send"});
    CHECK(row.traced_calls == 2 * kMicroBatches);
    CHECK(row.our_calls == 2 * kMicroBatches);
    CHECK(row.predicted > Seconds{});
    CHECK(row.measured.value() == Approx(row.predicted.value()).epsilon(1e-4));
    CHECK(row.waiting.value() == Approx(0.0).margin(1e-8));
    const ComparedRow& category = transfers_of(comparison.categories);
    CHECK(category.measured.value() == Approx(category.predicted.value()).epsilon(1e-4));
    CHECK(comparison.wall[2].measured.value() == Approx(0.0).margin(1e-8));
  }
}

TEST_CASE("ranks of a pipeline that are in step wait for nobody", "[unit]") {
  std::vector<MeasuredStep> steps = {step_of(traced(0).text), shifted_step(1, 3.6e9, 0)};
  const RankWaiting waiting = rank_waiting(steps, {"rank0.json", "rank1.json"});
  CHECK(waiting.alone == 0);
  REQUIRE(waiting.collectives.size() == 1);
  CHECK(waiting.collectives[0].calls == 2 * kMicroBatches);
  for (const RankTotals& rank : waiting.ranks) {
    CHECK(rank.waiting.value() == Approx(0.0).margin(1e-7));
  }
}

// Eight activations are received, 300 us early each; gradients go back as before.
TEST_CASE("a rank that is ready early waits for its sender, apart from the transfer", "[unit]") {
  std::vector<MeasuredStep> steps = {step_of(traced(0).text), shifted_step(1, 3.6e9, 300)};
  const RankWaiting waiting = rank_waiting(steps, {"rank0.json", "rank1.json"});
  CHECK(waiting.alone == 0);
  CHECK(waiting.ranks[1].waits_for[0].value() == Approx(300e-6 * kMicroBatches).epsilon(1e-3));
  CHECK(waiting.ranks[0].waits_for[1].value() == Approx(0.0).margin(1e-7));
  CHECK(waiting.ranks[0].waited_for == waiting.ranks[1].waits_for[0]);
  const StepComparison comparison = comparison_of(steps[1], 1);
  const ComparedRow& row = transfers_of(comparison.operators);
  CHECK(row.waiting.value() == Approx(300e-6 * kMicroBatches).epsilon(1e-3));
  CHECK((row.measured - row.waiting).value() == Approx(row.predicted.value()).epsilon(1e-3));
  // The first comes before anything is computed; later ones may lie beside computation.
  const WallTime& waits = comparison.wall[2];
  CHECK(waits.name == "waiting for other ranks");
  CHECK(waits.measured >= Seconds(299e-6));
  CHECK(waits.measured <= row.waiting);
}

}  // namespace stepcast::pipeline_waiting_test
