// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/lone_layer.hpp"

#include <algorithm>

#include "stepcast/schedule/pass_timeline.hpp"
#include "stepcast/schedule/step_clock.hpp"

namespace stepcast {
namespace {

// After so many the host is as far ahead as it gets.
constexpr int kRepetitions = 8;

bool is_of(const std::vector<Block>& blocks, Block block) {
  return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
}

OpList ops_of(const OpList& ops, const std::vector<Block>& blocks) {
  OpList chosen;
  std::ranges::copy_if(ops, std::back_inserter(chosen),
                       [&](const Op& op) { return is_of(blocks, op.block); });
  return chosen;
}

// What the experts multiply is theirs, also where they gather it from what a norm made.
bool is_kept_of(const SavedTensor& tensor, const OpList& forward) {
  return tensor.id == TensorId::kExpertsInput || tensor.id == TensorId::kExpertsWeightCasts ||
         (tensor.producer &&
          std::ranges::any_of(forward, [&](const Op& op) { return op.id == *tensor.producer; }));
}

std::vector<SavedTensor> tensors_of(const std::vector<SavedTensor>& tensors,
                                    const OpList& forward) {
  std::vector<SavedTensor> chosen;
  std::ranges::copy_if(tensors, std::back_inserter(chosen),
                       [&](const SavedTensor& tensor) { return is_kept_of(tensor, forward); });
  return chosen;
}

LonePass operator+(const LonePass& a, const LonePass& b) {
  LonePass sum = a;
  sum.spent += b.spent;
  sum.energy += b.energy;
  return sum;
}

enum class LayerPassKind { kForward, kBoth };

// The passes of a repeated layer at the clock of `context`.
LonePass repeated(const BlockOps& layer, const LoneRun& run, LayerPassKind passes,
                  const StepContext& context) {
  StageLayer lone;
  lone.ops = std::make_shared<const BlockOps>(layer);
  StepTasks tasks;
  tasks.layers.push_back(price_layer(lone, context, layer_load(lone, context)));
  tasks.sums.push_back(sums_of(tasks.layers.back()));
  const std::vector<LayerRun> runs = {{0, 1, run.recomputed}};
  const StageProgram program{tasks, runs, {}, context.expansion.software};
  LonePass last;
  PassPlace place;
  place.host_lead = Seconds{};
  const auto next = [&](const PassTime& pass) {
    place.host_lead = pass.host_lead;
    return LonePass{pass.spent, pass.energy};
  };
  for (int i = 0; i < kRepetitions; ++i) {
    last = next(forward_pass(program, place));
    if (passes == LayerPassKind::kBoth) {
      last = last + next(backward_pass(program, place));
    }
  }
  return last;
}

// What the passes draw over what they may, as of a step: the average, and while kernels run.
double drawn_share(const DeviceSpec& device, PowerState state, const LonePass& pass) {
  if (state == PowerState::kCool) {
    return power_share(device, state, {pass.duration(), pass.energy});
  }
  const Seconds busy = pass.spent.busy();
  return duty_cycle_share(device, busy / pass.duration(), {busy, pass.energy});
}

LoneTime timed(const BlockOps& layer, const LoneRun& run, LayerPassKind passes,
               const StepContext& context) {
  const DeviceSpec& device = context.cluster.device;
  const CostModel paced = run.locked ? context.cost : within_level(context.cost);
  const auto at = [&](Hertz clock) {
    return repeated(layer, run, passes, {context.expansion, context.cluster, paced, clock});
  };
  Hertz clock = run.locked.value_or(Hertz{});
  if (!run.locked) {
    clock = highest_clock(device,
                          [&](Hertz guess) { return drawn_share(device, run.state, at(guess)); });
    const double behind = clock_behind_mean(context.cluster, run.gpus);
    clock = clock < device.clock.peak ? (1.0 - behind) * clock : clock;
  }
  const LonePass pass = at(clock);
  return {clock, mean_power(device.power, {pass.duration(), pass.energy}), pass};
}

}  // namespace

BlockOps blocks_of(const BlockOps& layer, const std::vector<Block>& blocks) {
  if (blocks.empty()) {
    return layer;
  }
  BlockOps chosen;
  chosen.forward = ops_of(layer.forward, blocks);
  chosen.backward = ops_of(layer.backward, blocks);
  chosen.recompute = ops_of(layer.recompute, blocks);
  chosen.full_recompute = ops_of(layer.full_recompute, blocks);
  chosen.saved = tensors_of(layer.saved, chosen.forward);
  chosen.kept = tensors_of(layer.kept, chosen.forward);
  return chosen;
}

LoneTime forward_alone(const BlockOps& layer, const LoneRun& run, const StepContext& context) {
  return timed(layer, run, LayerPassKind::kForward, context);
}

LoneTime forward_and_backward(const BlockOps& layer, const LoneRun& run,
                              const StepContext& context) {
  return timed(layer, run, LayerPassKind::kBoth, context);
}

}  // namespace stepcast
