// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/lone_layer.hpp"

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::lone_layer_test {
namespace {

using test::nearly;
using test::Sample;

struct Lone {
  Sample sample = test::moe_sample();
  ClusterSpec cluster = cluster_of(test::shipped_gpu("h200_sxm"), 1);
  CostModel cost = default_cost_model();
  LoneRun run;

  [[nodiscard]] BlockOps ops() const { return expand_layer(sample.context(), {.moe = true}); }
  [[nodiscard]] LoneTime forward() const {
    const ExpansionContext expansion = sample.context();
    return forward_alone(ops(), run, {expansion, cluster, cost, Hertz{}});
  }
  [[nodiscard]] LoneTime both() const {
    const ExpansionContext expansion = sample.context();
    return forward_and_backward(ops(), run, {expansion, cluster, cost, Hertz{}});
  }
  // The kernels of a list, one after the other at the locked clock.
  [[nodiscard]] Seconds sum(const OpList& list) const {
    const ExpansionContext expansion = sample.context();
    const KernelContext kernel = kernel_context({expansion, cluster, cost, *run.locked});
    Seconds time;
    for (const Op& op : list) {
      time += cost.cost(op, kernel, cluster).duration;
    }
    return time;
  }
};

TEST_CASE("a layer by itself takes what its kernels take, one after the other", "[unit]") {
  Lone lone;
  lone.run.locked = Hertz(1.5e9);
  CHECK(lone.forward().pass.duration().value() == nearly(lone.sum(lone.ops().forward).value()));
  CHECK(lone.both().pass.duration().value() ==
        nearly((lone.sum(lone.ops().forward) + lone.sum(lone.ops().backward)).value()));
  CHECK(lone.forward().clock == Hertz(1.5e9));
}

TEST_CASE("a layer recomputed in full runs its forward once more before backward", "[unit]") {
  Lone lone;
  lone.run.locked = Hertz(1.5e9);
  lone.sample.training.recompute.kind = RecomputeKind::kFull;
  const Seconds once = lone.both().pass.duration();
  lone.run.recomputed = true;
  CHECK((lone.both().pass.duration() - once).value() ==
        Approx(lone.sum(lone.ops().full_recompute).value()));
}

TEST_CASE("a layer by itself has the clock that its own kernels leave it", "[unit]") {
  Lone lone;
  lone.sample.model.hidden = 4096;
  lone.sample.model.moe = test::experts(16, 2, 4096);
  lone.sample.training.micro_batch_size = 64;
  const LoneTime warm = lone.forward();
  const DeviceSpec& device = lone.cluster.device;
  CHECK(warm.clock < device.clock.peak);
  CHECK(warm.power.value() == Approx(device.power.limit.value()).epsilon(0.01));
  lone.run.state = PowerState::kCool;
  CHECK(lone.forward().clock > warm.clock);
  lone.run.state = PowerState::kWarm;
  lone.run.gpus = 64;  // which wait for the slowest of them
  CHECK(lone.forward().clock < warm.clock);
}

TEST_CASE("a host that launches slower than the layer's kernels run sets its pace", "[unit]") {
  Lone lone;
  lone.run.locked = Hertz(1.5e9);
  lone.sample.software.host.layers = LaunchMode::kEager;
  lone.sample.software.host.experts = LaunchMode::kEager;
  lone.sample.software.host.kernel = Seconds(1e-2);
  const LoneTime slow = lone.forward();
  Seconds launching;
  const ExpansionContext expansion = lone.sample.context();
  const KernelContext kernel = kernel_context({expansion, lone.cluster, lone.cost, Hertz(1.5e9)});
  for (const Op& op : lone.ops().forward) {
    launching += lone.cost.cost(op, kernel, lone.cluster).launches * Seconds(1e-2);
  }
  CHECK(slow.pass.duration().value() == Approx(launching.value()));
  CHECK(slow.pass.spent.host > 0.9 * slow.pass.duration());
}

TEST_CASE("blocks of a layer are its operators of those blocks, with what is kept of them",
          "[unit]") {
  const Lone lone;
  const BlockOps all = lone.ops();
  const BlockOps experts = blocks_of(all, {Block::kRouter, Block::kRoutedExperts});
  const BlockOps rest = blocks_of(all, {Block::kResidualStream, Block::kAttention});
  CHECK(blocks_of(all, {}).forward.size() == all.forward.size());
  CHECK(experts.forward.size() + rest.forward.size() == all.forward.size());
  CHECK(experts.backward.size() + rest.backward.size() == all.backward.size());
  for (const Op& op : experts.forward) {
    CHECK((op.block == Block::kRouter || op.block == Block::kRoutedExperts));
  }
  for (const SavedTensor& tensor : experts.kept) {
    CAPTURE(name(tensor.id));
    CHECK((name(tensor.id).starts_with("experts.") || name(tensor.id).starts_with("moe.") ||
           name(tensor.id).starts_with("mlp.activation")));
  }
  CHECK_FALSE(experts.kept.empty());
}

}  // namespace
}  // namespace stepcast::lone_layer_test
