// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/layer_prices.hpp"

#include <algorithm>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/schedule/step_time.hpp"

namespace stepcast::layer_prices_test {
namespace {

using test::nearly;
using test::Sample;

// 16 experts over 8 ranks: two a rank, two products forward and four backward.
Sample experts_sample() {
  Sample sample = test::moe_sample();
  sample.plan.dp = 8;
  sample.plan.ep = 8;
  return sample;
}

struct Launching {
  Seconds forward;
  Seconds backward;
};

Seconds sum(const TaskList& tasks) {
  Seconds total;
  for (const StreamTask& task : tasks) {
    total += task.host;
  }
  return total;
}

// What the host takes for one layer of `sample`.
Launching launching(const Sample& sample, const HostSpec& host = {}) {
  ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 1);
  cluster.host = host;
  const CostModel cost = default_cost_model();
  const ExpansionContext expansion = sample.context();
  const StepOperators operators = step_operators(expansion);
  const StepTasks tasks = price_step(operators, {expansion, cluster, cost, Hertz(1.4e9)});
  for (const LayerRun& run : operators.stages.front()) {
    if (run.count > 1) {
      return {sum(tasks.layers[run.layer].forward), sum(tasks.layers[run.layer].backward)};
    }
  }
  FAIL("no layers");
  return {};
}

TEST_CASE("experts launched one by one cost the host each product", "[case]") {
  Sample sample = experts_sample();
  sample.software.host.expert = Seconds(1.0);
  SECTION("not at all as one kernel") {
    const Launching host = launching(sample);
    CHECK(host.forward == Seconds{});
    CHECK(host.backward == Seconds{});
  }
  for (const GroupedGemmMode mode : {GroupedGemmMode::kLegacy, GroupedGemmMode::kStreams}) {
    sample.software.grouped_gemm = mode;
    sample.training.dtype = Dtype::kBf16;
    CHECK(launching(sample).forward.value() == nearly(2.0 * 2.0));
    CHECK(launching(sample).backward.value() == nearly(2.0 * 4.0));
    sample.training.dtype = Dtype::kFp8;  // each quantises its rows
    CHECK(launching(sample).forward.value() == nearly(2.0 * 2.0 * 2.0));
  }
}

TEST_CASE("a graph launches the step, or all of it but the experts", "[case]") {
  Sample sample = experts_sample();
  sample.software.grouped_gemm = GroupedGemmMode::kStreams;
  sample.software.host.kernel = Seconds(1.0);
  sample.software.host.expert = Seconds(1.0);
  const Launching eager = launching(sample);
  sample.software.cuda_graph = true;
  const Launching whole = launching(sample);
  CHECK(whole.forward == Seconds{});
  CHECK(whole.backward == Seconds{});
  sample.software.cuda_graph_scope = CudaGraphScope::kWithoutExperts;
  // Permutation, activation and unpermutation, which lie between the exchanges or beside them,
  // with the sort and its reverse; two experts' two products; and a launch of the graph before
  // and one behind.
  HostSpec replays;
  replays.graph_replay = Seconds(1.0);
  const Launching partly = launching(sample, replays);
  CHECK(partly.forward.value() == nearly(5.0 + 4.0 + 2.0));
  CHECK(partly.forward < eager.forward);
  CHECK(partly.backward < eager.backward);
}

TEST_CASE("a transpose that another kernel writes is no launch", "[case]") {
  Sample sample = test::dense_sample();
  sample.software.host.kernel = Seconds(1.0);
  const Launching bf16 = launching(sample);
  sample.training.dtype = Dtype::kFp8;
  // qkv, o, gate and up, down: x and the weight forward, dy backward.
  CHECK((launching(sample).forward - bf16.forward).value() == nearly(8.0));
  CHECK((launching(sample).backward - bf16.backward).value() == nearly(4.0));
}

TEST_CASE("Launches that block leave the device nothing to run ahead of its host", "[case]") {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 1);
  const CostModel cost = default_cost_model();
  Sample sample = test::dense_sample();
  sample.software.host.kernel = Seconds(1e-6);
  sample.software.host.launches_block = true;
  const auto waiting = [&] {
    const ExpansionContext expansion = sample.context();
    const StepTasks tasks =
        price_step(step_operators(expansion), {expansion, cluster, cost, Hertz(1.4e9)});
    std::ptrdiff_t waits = 0;
    std::size_t all = 0;
    for (const LayerTasks& layer : tasks.layers) {
      for (const TaskList* list : {&layer.forward, &layer.backward}) {
        waits += std::ranges::count_if(*list, &StreamTask::host_waits);
        all += list->size();
      }
    }
    return static_cast<double>(waits) / static_cast<double>(all);
  };
  CHECK(waiting() == 1.0);
  sample.software.cuda_graph = true;  // which is launched as a whole
  CHECK(waiting() == 0.0);
}

// The host of a dispatcher that counts on the device is idle until what arrived is known, and only
// then launches the experts.
TEST_CASE("the host waits for what HybridEP brings, and for what all-to-all will send", "[case]") {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 1);
  const CostModel cost = default_cost_model();
  for (const Dispatcher dispatcher : {Dispatcher::kHybridEp, Dispatcher::kAllToAll}) {
    Sample sample = experts_sample();
    sample.plan.exchange.dispatcher = dispatcher;
    const ExpansionContext expansion = sample.context();
    const StepTasks tasks =
        price_step(step_operators(expansion), {expansion, cluster, cost, Hertz(1.4e9)});
    std::size_t waits = 0;
    for (const LayerTasks& layer : tasks.layers) {
      for (const StreamTask& task : layer.forward) {
        if (task.host_waits) {
          ++waits;
          CHECK(task.axis.has_value() == (dispatcher == Dispatcher::kHybridEp));
        }
      }
    }
    CHECK(waits == 1);
  }
}

// Beside the wait for what all-to-all will send; a captured graph has neither the wait nor the
// copy.
TEST_CASE("the host waits for the offset of a clamped activation", "[case]") {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 1);
  const CostModel cost = default_cost_model();
  Sample sample = experts_sample();
  sample.model.moe->clamped_activation = true;
  const auto waits = [&] {
    const ExpansionContext expansion = sample.context();
    const StepTasks tasks =
        price_step(step_operators(expansion), {expansion, cluster, cost, Hertz(1.4e9)});
    std::ptrdiff_t count = 0;
    for (const LayerTasks& layer : tasks.layers) {
      count += std::ranges::count_if(layer.forward, &StreamTask::host_waits);
    }
    return count;
  };
  CHECK(waits() == 1);
  sample.software.activation_clamp = Implementation::kEager;
  CHECK(waits() == 2);
  sample.software.cuda_graph = true;
  CHECK(waits() == 1);
}

// A host that takes long enough is all that a step waits for.
TEST_CASE("a step of many experts lasts as long as its host takes to launch them", "[case]") {
  Sample sample = experts_sample();
  sample.software.grouped_gemm = GroupedGemmMode::kStreams;
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 1);
  const CostModel cost = default_cost_model();
  const auto time = [&] { return step_time({sample.context(), cluster, cost, Hertz(1.4e9)}); };
  const Seconds at_once = time().step;
  sample.software.host.expert = Seconds(0.01);
  const StepTime slow = time();
  // 8 micro-batches, 8 layers, 2 experts, 6 products.
  const double host = 0.01 * 8 * 8 * 2 * 6;
  CHECK(slow.step.value() >= host);
  CHECK(slow.step.value() <= host + at_once.value());
  CHECK(slow.breakdown.host.value() > 0.9 * host - at_once.value());
  CHECK(slow.breakdown.total().value() == nearly(slow.step.value()));
}

TEST_CASE("kernels of one list are slowed alike, and HBM by the mean of what gathers and reduces",
          "[unit]") {
  Sample sample = test::dense_sample();
  sample.plan.dp = 8;
  sample.plan.fsdp = 8;
  sample.plan.zero = 3;
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 1);
  const CostModel cost = default_cost_model();
  const ExpansionContext expansion = sample.context();
  const StepContext context{expansion, cluster, cost, Hertz(1.4e9)};
  const StepOperators operators = step_operators(expansion);
  for (const StageLayer& layer : operators.layers) {
    if (layer.traffic.empty() || layer.ops->forward.empty()) {
      continue;
    }
    const CommunicationLoad load = layer_load(layer, context);
    Bytes moved;
    Seconds lasted;
    for (const OpList* ops : {&layer.traffic.gather, &layer.traffic.reduce}) {
      for (const Op& op : *ops) {
        const OpCost own = cost.cost(op, kernel_context(context), cluster);
        moved += communication_load(op, own, cluster.device).hbm * own.duration;
        lasted += own.duration;
      }
    }
    CHECK(load.units > 0);
    CHECK(load.hbm.value() == nearly((moved / lasted).value()));
    const LayerTasks tasks = price_layer(layer, context, load);
    const double slower = tasks.forward.front().contended / tasks.forward.front().duration;
    CHECK(slower > 1.0);
    for (const StreamTask& task : tasks.forward) {
      CHECK(task.contended.value() == nearly(slower * task.duration.value()));
    }
  }
}

}  // namespace
}  // namespace stepcast::layer_prices_test
