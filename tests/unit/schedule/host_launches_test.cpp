// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/host_launches.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/schedule/rank_streams.hpp"
#include "stepcast/schedule/step_clock.hpp"

namespace stepcast::host_launches_test {
namespace {

using test::nearly;

HostSpec host_of_round_times() {
  HostSpec host;
  host.eager_call = Seconds(10e-6);
  host.eager_kernel = Seconds(2e-6);
  host.dispatch_mode = Seconds(50e-6);
  host.compiled_region = Seconds(100e-6);
  host.compiled_kernel = Seconds(5e-6);
  host.collective = Seconds(20e-6);
  host.functional_forward = Seconds(300e-6);
  host.functional_backward = Seconds(90e-6);
  host.device_read = Seconds(30e-6);
  host.unit_forward = Seconds(1e-3);
  host.unit_backward = Seconds(3e-3);
  host.unit_entry = Seconds(1e-6);
  host.unit_update = Seconds(200e-6);
  host.jitter = 0.5;
  host.update_call = Seconds(80e-6);
  return host;
}

const Op kProduct{OpId::kMlpDown, Gemm{.m = 8, .n = 8, .k = 8}, Block::kDense};
const Op kRouting{OpId::kMoeRouter, Gemm{.m = 8, .n = 8, .k = 8}, Block::kRouter};

OpCost of_kernels(double launches, double calls) {
  OpCost cost;
  cost.launches = launches;
  cost.calls = calls;
  return cost;
}

double us(Seconds time) { return 1e6 * time.value(); }

TEST_CASE("An eager operator is a call, and more for each further kernel that it launches",
          "[unit]") {
  const HostSpec host = host_of_round_times();
  SoftwareSpec software;
  TrainingRecipe training;
  const HostLaunches launches(host, software, training);
  const auto took = [&](const OpCost& cost) {
    return us(launches.launching(kProduct, cost, Direction::kForward));
  };
  CHECK(took(of_kernels(1, 1)) == 0.0);  // the step is one program unless the software says more
  software.host.layers = LaunchMode::kEager;
  CHECK(took(of_kernels(1, 1)) == nearly(10.0));
  CHECK(took(of_kernels(21, 1)) == nearly(10.0 + 20 * 2.0));
  software.host.calls = 3.0;
  CHECK(took(of_kernels(1, 1)) == nearly(30.0));
}

TEST_CASE("An eager bias of experts is launched for each of them", "[unit]") {
  const HostSpec host = host_of_round_times();
  SoftwareSpec software;
  software.host.layers = LaunchMode::kEager;
  software.host.experts = LaunchMode::kEager;
  const TrainingRecipe training;
  const HostLaunches launches(host, software, training);
  Op bias{OpId::kExpertsBias, MemoryBound{.kind = MemoryBoundKind::kExpertBias},
          Block::kRoutedExperts};
  const auto took = [&] {
    return us(launches.launching(bias, of_kernels(3, 3), Direction::kForward, 16));
  };
  CHECK(took() == nearly(3 * 10.0));  // in one kernel each
  std::get<MemoryBound>(bias.work).implementation = Implementation::kEager;
  CHECK(took() == nearly(16 * 3 * 10.0));
}

// A product has a transpose and two views around it: four operators. What only moves memory has 0.7
// of them for each call.
TEST_CASE("A mode that sees every operator slows what is called in forward and recomputed",
          "[unit]") {
  const HostSpec host = host_of_round_times();
  SoftwareSpec software;
  software.host.layers = LaunchMode::kEager;
  TrainingRecipe training;
  training.recompute.kind = RecomputeKind::kOperators;
  const HostLaunches launches(host, software, training);
  CHECK(us(launches.launching(kProduct, of_kernels(1, 1), Direction::kForward)) ==
        nearly(10.0 + 4 * 50.0));
  CHECK(us(launches.launching(kProduct, of_kernels(1, 1), Direction::kBackward)) == nearly(10.0));
  const Op copy{OpId::kMlpResidual, MemoryBound{}, Block::kDense};
  CHECK(us(launches.launching(copy, of_kernels(2, 2), Direction::kForward)) ==
        nearly(2 * (10.0 + 1.7 * 50.0)));
  // What is kept is seen again where the rest is recomputed.
  CHECK(us(launches.passing_over({kProduct, copy, kProduct}, {copy, kProduct})) ==
        nearly(4 * 50.0));
  CHECK(us(launches.passing_over({kProduct}, {})) == 0.0);
}

TEST_CASE("Compiled code is entered once a layer, and in pieces around eager experts", "[unit]") {
  const HostSpec host = host_of_round_times();
  SoftwareSpec software;
  software.host.layers = LaunchMode::kCompiled;
  software.host.experts = LaunchMode::kEager;
  const TrainingRecipe training;
  const HostLaunches launches(host, software, training);
  CHECK(us(launches.launching(kProduct, of_kernels(1, 1), Direction::kForward)) == nearly(5.0));
  CHECK(us(launches.launching(kRouting, of_kernels(1, 1), Direction::kForward)) == nearly(10.0));
  const auto entering = [&launches](const OpList& ops) {
    return us(launches.entering(ops, Direction::kForward));
  };
  CHECK(entering({kProduct}) == nearly(100.0));
  CHECK(entering({kProduct, kRouting}) == nearly(300.0));
  CHECK(entering({}) == 0.0);
}

// Around them a norm, attention and a norm; the router, the order of rows, the experts' products,
// and the shared expert where there is one.
TEST_CASE("Experts' products and routers may be compiled each by itself", "[unit]") {
  const HostSpec host = host_of_round_times();
  SoftwareSpec software;
  software.host.layers = LaunchMode::kCompiled;
  software.host.experts = LaunchMode::kEager;
  software.host.expert_regions = true;
  TrainingRecipe training;
  const HostLaunches launches(host, software, training);
  CHECK(us(launches.launching(kRouting, of_kernels(1, 1), Direction::kForward)) == nearly(5.0));
  MemoryBound rows;
  rows.implementation = Implementation::kEager;
  const Op moved{OpId::kMoeSort, rows, Block::kRoutedExperts};
  CHECK(us(launches.launching(moved, of_kernels(1, 1), Direction::kForward)) == nearly(10.0));
  CHECK(us(launches.entering({kProduct, kRouting}, Direction::kForward)) == nearly(600.0));
  const Op shared{OpId::kMlpDown, Gemm{.m = 8, .n = 8, .k = 8}, Block::kSharedExpert};
  CHECK(us(launches.entering({kProduct, kRouting, shared}, Direction::kForward)) == nearly(700.0));
  // A mode sees their products, but not the layer that is one graph.
  training.recompute.kind = RecomputeKind::kOperators;
  CHECK(us(launches.entering({kProduct, kRouting}, Direction::kForward)) == nearly(700.0));
  CHECK(us(launches.entering({kProduct}, Direction::kForward)) == nearly(100.0));
}

// The larger of two normal variables lies 0.56 deviations above their mean; the asymptotic form,
// which clocks of GPUs use as well, says 0.75.
TEST_CASE("Hosts that wait for each other keep the pace of the last of them", "[unit]") {
  const HostSpec host = host_of_round_times();
  SoftwareSpec software;
  const TrainingRecipe training;
  const HostLaunches launches(host, software, training);
  CHECK(launches.behind_mean(1) == 1.0);
  CHECK(launches.behind_mean(2) == nearly(1.0 + 0.5 * expected_extreme(2)));
  CHECK(launches.behind_mean(64) > launches.behind_mean(8));
  software.host.kernel = Seconds(7e-6);  // a number that the software gives has it in it
  CHECK(launches.behind_mean(8) == 1.0);
}

TEST_CASE("A host that takes longer also takes longer for what the software states of its calls",
          "[unit]") {
  HostSpec host = host_of_round_times();
  host.pace = 1.5;
  SoftwareSpec software;
  software.host.layers = LaunchMode::kEager;
  software.host.kernel = Seconds(8e-6);
  const TrainingRecipe training;
  const HostLaunches launches(host, software, training);
  CHECK(us(launches.launching(kProduct, of_kernels(2, 1), Direction::kForward)) == nearly(24.0));
}

TEST_CASE("A unit's gradients are concatenated by a table with an entry for 512 of a rank",
          "[unit]") {
  const HostSpec host = host_of_round_times();
  SoftwareSpec software;
  const TrainingRecipe training;
  const HostLaunches launches(host, software, training);
  MemoryBound gradients;
  gradients.kind = MemoryBoundKind::kConcatenate;
  gradients.rows = 1;
  gradients.cols = 512 * 2000;
  const Op concatenation{OpId::kFsdpConcatenate, gradients, Block::kDataParallel};
  CHECK(us(launches.writing_table(concatenation, 1)) == 0.0);
  software.host.unit_hooks = true;
  CHECK(us(launches.writing_table(concatenation, 1)) == nearly(2000.0));
  CHECK(us(launches.writing_table(concatenation, 4)) == nearly(500.0));
  CHECK(us(launches.writing_table(kProduct, 1)) == 0.0);
}

TEST_CASE("An exchange that is an operator of the framework takes its host longer", "[unit]") {
  const HostSpec host = host_of_round_times();
  SoftwareSpec software;
  software.host.layers = LaunchMode::kCompiled;
  software.host.experts = LaunchMode::kEager;
  software.host.reads_per_exchange = 2;
  const TrainingRecipe training;
  const HostLaunches launches(host, software, training);
  const Op exchange{OpId::kMoeDispatch, ExpertExchange{}, Block::kRoutedExperts};
  const auto took = [&](Direction direction) {
    return us(launches.launching(exchange, of_kernels(1, 1), direction));
  };
  CHECK(took(Direction::kForward) == nearly(20.0));
  CHECK(us(launches.learning_rows()) == nearly(60.0));
  software.host.functional_collectives = true;
  CHECK(took(Direction::kForward) == nearly(300.0));
  CHECK(took(Direction::kBackward) == nearly(90.0));
  CHECK(us(launches.learning_rows()) == nearly(90.0 + 60.0));  // counts go first
  // Also where it is an all-to-all of a library.
  const Op plain{OpId::kMoeCombine,
                 Collective{CollectiveOp::kAllToAll, Bytes(8), {}, Axis::kExpert},
                 Block::kRoutedExperts};
  CHECK(us(launches.launching(plain, of_kernels(1, 1), Direction::kForward)) == nearly(300.0));
}

TEST_CASE("Units of FSDP2 cost hooks in both passes and in the update", "[unit]") {
  const HostSpec host = host_of_round_times();
  SoftwareSpec software;
  software.host.layers = LaunchMode::kEager;
  const TrainingRecipe training;
  const HostLaunches launches(host, software, training);
  ParallelPlan plan;
  plan.zero = 3;
  CHECK(us(launches.unit_hooks()) == 0.0);
  CHECK(us(launches.updating(plan, 4)) == nearly(4 * 80.0));
  software.host.unit_hooks = true;
  CHECK(us(launches.unit_hooks()) == nearly(1000.0));
  CHECK(us(launches.backward_hooks()) == nearly(2000.0));
  CHECK(us(launches.updating(plan, 4)) == nearly(4 * 200.0));
  plan.zero = 1;
  CHECK(us(launches.updating(plan, 4)) == nearly(4 * 80.0));
}

TEST_CASE("A time that the software gives stands instead of the host's own", "[unit]") {
  const HostSpec host = host_of_round_times();
  SoftwareSpec software;
  software.host.layers = LaunchMode::kEager;
  software.host.kernel = Seconds(7e-6);
  software.host.synchronise = Seconds(11e-6);
  const TrainingRecipe training;
  const HostLaunches launches(host, software, training);
  CHECK(us(launches.launching(kProduct, of_kernels(3, 1), Direction::kForward)) == nearly(21.0));
  CHECK(us(launches.learning_rows()) == nearly(11.0));
}

// --- on the streams ---------------------------------------------------------------------------

StreamTask kernel(double microseconds, double host) {
  StreamTask task;
  task.duration = Seconds(1e-6 * microseconds);
  task.contended = task.duration;
  task.host = Seconds(1e-6 * host);
  return task;
}
StreamTask message(double microseconds, double host) {
  StreamTask task = kernel(microseconds, host);
  task.axis = Axis::kExpert;
  task.fabric = Fabric::kScaleUp;
  return task;
}

TEST_CASE("Communication starts no earlier than its host has launched it", "[unit]") {
  RankStreams streams(Seconds{});
  streams.run(TaskList{kernel(10, 5), message(20, 30), kernel(1, 5)});
  // The kernel runs from 5 to 15 us, the message from 35 to 55, the last kernel behind it.
  CHECK(us(streams.totals().now) == nearly(56.0));
  CHECK(us(streams.totals().spent.host) == nearly(5.0 + 20.0));
  CHECK(us(streams.totals().spent.exposed[slot(Axis::kExpert)]) == nearly(20.0));
}

TEST_CASE("What is posted waits for its launch beside what runs", "[unit]") {
  RankStreams streams(Seconds{});
  StreamTask gather = message(20, 30);
  gather.axis = Axis::kData;
  const std::int64_t ticket = streams.post(TaskList{gather});
  streams.wait(ticket);
  CHECK(us(streams.totals().now) == nearly(50.0));
  CHECK(us(streams.totals().spent.host) == nearly(30.0));
  CHECK(us(streams.totals().spent.exposed[slot(Axis::kData)]) == nearly(20.0));
}

TEST_CASE("A host that is ahead holds nothing up", "[unit]") {
  RankStreams streams(Seconds(1.0));
  streams.run(TaskList{kernel(10, 5), message(20, 30), kernel(1, 5)});
  CHECK(us(streams.totals().now) == nearly(31.0));
  CHECK(us(streams.totals().spent.host) == 0.0);
}

}  // namespace
}  // namespace stepcast::host_launches_test
