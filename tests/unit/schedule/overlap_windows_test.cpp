// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/overlap_windows.hpp"

#include <algorithm>
#include <string>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/schedule/layer_prices.hpp"
#include "stepcast/schedule/step_time.hpp"

namespace stepcast::overlap_windows_test {
namespace {

using test::Sample;

// 16 experts over 8 ranks, tensor-parallel pairs, and a shared expert of `shared` values if any.
Sample exchanging(std::int64_t shared) {
  Sample sample = test::moe_sample();
  sample.model.moe->shared_expert_ffn_hidden = shared;
  sample.plan.tp = 2;
  sample.plan.sequence_parallel = true;
  sample.plan.dp = 8;
  sample.plan.ep = 8;
  sample.software.fused_gate_up = false;
  sample.software.tp_relayout = true;
  return sample;
}

// Each task with its place in the list as what it takes, so that it is known wherever it goes.
TaskList numbered(const OpList& ops) {
  TaskList tasks(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    tasks[i].duration = Seconds(static_cast<double>(i));
    tasks[i].axis = communication_axis(ops[i]);
  }
  return tasks;
}

const Op& op_of(const OpList& ops, const StreamTask& task) {
  return ops[static_cast<std::size_t>(task.duration.value())];
}

void check_only_the_shared_expert_moves(const OpList& ops) {
  TaskList tasks = numbered(ops);
  overlap_shared_expert(ops, tasks);
  std::vector<double> others;
  std::size_t moved = 0;
  std::size_t windows = 0;
  bool inside = false;
  for (const StreamTask& task : tasks) {
    if (task.mode == TaskMode::kJoin) {
      inside = false;
      continue;
    }
    const bool shared = op_of(ops, task).block == Block::kSharedExpert;
    CAPTURE(name(op_of(ops, task).id));
    CHECK(shared == inside);
    moved += shared ? 1 : 0;
    if (!shared) {
      others.push_back(task.duration.value());
    }
    if (task.mode == TaskMode::kStart) {
      CHECK(task.axis == Axis::kExpert);
      inside = true;
      ++windows;
    }
  }
  CHECK(windows == 2);
  CHECK(moved > 4);
  CHECK(others.size() + moved == ops.size());
  CHECK(std::is_sorted(others.begin(), others.end()));
}

// 16 experts over 8 ranks by SonicMoE's kernels, tokens gathered once more in backward.
OpList redispatching() {
  Sample sample = test::moe_sample();
  sample.plan.dp = 8;
  sample.plan.ep = 8;
  sample.plan.exchange.dispatcher = Dispatcher::kSonic;
  sample.plan.exchange.redispatch_in_backward = true;
  return expand_layer(sample.context(), {.moe = true}).backward;
}

TEST_CASE(
    "tokens gathered again run beside the second product's gradients, up to the first's weights",
    "[unit]") {
  const OpList ops = redispatching();
  TaskList tasks = numbered(ops);
  overlap_redispatch(ops, tasks);
  REQUIRE(tasks.size() == ops.size() + 1);
  std::vector<OpId> beside;
  bool inside = false;
  for (const StreamTask& task : tasks) {
    if (task.mode == TaskMode::kJoin) {
      inside = false;
    } else if (inside) {
      beside.push_back(op_of(ops, task).id);
    }
    if (task.mode == TaskMode::kStart) {
      CHECK(op_of(ops, task).id == OpId::kMoeRedispatch);
      inside = true;
    }
  }
  CHECK_FALSE(inside);
  CHECK(beside ==
        std::vector<OpId>{OpId::kExpertsDown, OpId::kExpertsDown, OpId::kExpertsActivation});
}

TEST_CASE("a layer that gathers its tokens once is left as it is", "[unit]") {
  const Sample sample = exchanging(0);
  const OpList ops = expand_layer(sample.context(), {.moe = true}).backward;
  TaskList tasks = numbered(ops);
  overlap_redispatch(ops, tasks);
  CHECK(tasks.size() == ops.size());
  CHECK(std::none_of(tasks.begin(), tasks.end(),
                     [](const StreamTask& task) { return task.mode == TaskMode::kStart; }));
}

TEST_CASE("the shared expert's own kernels run beside the exchange, and nothing else does",
          "[unit]") {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp8, Dtype::kFp8Block}) {
    for (const Dispatcher dispatcher :
         {Dispatcher::kAllToAll, Dispatcher::kAllGather, Dispatcher::kDeepEp, Dispatcher::kSonic}) {
      CAPTURE(name(dtype), name(dispatcher));
      Sample sample = exchanging(512);
      sample.training.dtype = dtype;
      sample.plan.exchange.dispatcher = dispatcher;
      const BlockOps ops = expand_layer(sample.context(), {.moe = true});
      check_only_the_shared_expert_moves(ops.forward);
      check_only_the_shared_expert_moves(ops.backward);
    }
  }
}

// gate, up and down each quantise what they multiply and its transpose: two operands forward, one
// backward.
TEST_CASE("what quantises for the shared expert belongs to it", "[unit]") {
  Sample sample = exchanging(512);
  sample.training.dtype = Dtype::kFp8;
  const BlockOps ops = expand_layer(sample.context(), {.moe = true});
  const auto quantised = [](const OpList& list) {
    return std::count_if(list.begin(), list.end(), [](const Op& op) {
      return op.block == Block::kSharedExpert &&
             (op.id == OpId::kQuantize || op.id == OpId::kQuantizeTranspose);
    });
  };
  CHECK(quantised(ops.forward) == 12);
  CHECK(quantised(ops.backward) == 6);
}

TEST_CASE("without a shared expert or without an exchange there is no window", "[unit]") {
  const auto windows = [](const Sample& sample, LayerKind kind) {
    return shared_expert_windows(expand_layer(sample.context(), kind).forward);
  };
  CHECK(windows(exchanging(512), {.moe = true}).size() == 2);
  CHECK(windows(exchanging(512), {.moe = false}).empty());
  CHECK(windows(exchanging(0), {.moe = true}).empty());
  Sample alone = exchanging(512);
  alone.plan.ep = 1;
  CHECK(windows(alone, {.moe = true}).empty());
}

Sample shipped(const std::string& name) {
  Sample sample = exchanging(0);
  sample.model = test::shipped_model(name);
  test::set_pipeline(sample, 1, 1);
  sample.plan.stages.front().layers = sample.model.layers;
  return sample;
}

StepTime time_of(const Sample& sample) {
  const ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), 2);
  const CostModel cost = default_cost_model();
  return step_time({sample.context(), cluster, cost, Hertz(1.4e9)});
}

TEST_CASE("overlap of the shared expert changes nothing where there is none", "[property]") {
  for (const char* model : {"mixtral_8x7b", "qwen3_30b_a3b", "gpt_oss_20b", "llama3.1_8b",
                            "deepseek_v2_lite", "llama4_17b16e"}) {
    for (const RecomputeKind recompute : {RecomputeKind::kNone, RecomputeKind::kFull}) {
      CAPTURE(model, recompute);
      Sample sample = shipped(model);
      sample.training.recompute.kind = recompute;
      sample.training.dtype = Dtype::kFp8;
      const StepTime without = time_of(sample);
      sample.software.shared_expert_overlap = true;
      const StepTime with = time_of(sample);
      const MoeSpec moe = sample.model.moe.value_or(MoeSpec{});
      CHECK((with.step == without.step) == (moe.shared_expert_ffn_hidden == 0));
      CHECK(with.step <= without.step);
      if (moe.shared_expert_ffn_hidden == 0) {
        CHECK(with.breakdown.exposed == without.breakdown.exposed);
        CHECK(with.breakdown.contention == without.breakdown.contention);
      } else {
        CHECK(with.breakdown.exposed[slot(Axis::kExpert)] <
              without.breakdown.exposed[slot(Axis::kExpert)]);
      }
    }
  }
}

// Of ring attention: s a send that is started, w the wait for it, a a step of attention, g the sum
// of gradients of keys.
std::string ring_order(const OpList& given) {
  OpList ops = given;
  TaskList tasks = numbered(ops);
  overlap_ring_attention(ops, tasks);
  CHECK(ops.size() == tasks.size());
  std::string order;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (tasks[i].mode == TaskMode::kStart) {
      order += "s";
    } else if (tasks[i].mode == TaskMode::kJoin) {
      order += "w";
    } else if (std::holds_alternative<Attention>(ops[i].work)) {
      order += "a";
    } else if (ops[i].id == OpId::kAttentionKvSum) {
      order += "g";
    }
  }
  return order;
}

TEST_CASE("a ring sends beside the step that reads what is there", "[unit]") {
  Sample sample = test::dense_sample();
  sample.plan.cp = 4;
  BlockOps ops = expand_layer(sample.context(), {});
  CHECK(ring_order(ops.forward) == "sawsawsawa");
  CHECK(ring_order(ops.backward) == "sawgsawgsawgsawg");
  sample.software.ring_attention = Implementation::kCompiled;
  ops = expand_layer(sample.context(), {});
  CHECK(ring_order(ops.forward) == "sawsawsawa");
  CHECK(ring_order(ops.backward) == "asawsawsawg");
}

TEST_CASE("delayed gradients of weights run beside the exchange of gradients and at the end",
          "[unit]") {
  Sample sample = test::moe_sample();
  sample.plan.dp = 8;
  sample.plan.ep = 8;
  const OpList given = expand_layer(sample.context(), {.moe = true}).backward;
  OpList ops = given;
  TaskList tasks = numbered(given);
  delay_weight_gradients(ops, tasks);
  REQUIRE(ops.size() == given.size() + 1);
  REQUIRE(tasks.size() == ops.size());
  bool inside = false;
  int beside = 0;
  std::vector<double> others;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (tasks[i].mode == TaskMode::kJoin) {
      inside = false;
      continue;
    }
    const bool experts = gives_weights(ops[i]) && ops[i].block == Block::kRoutedExperts;
    CHECK(experts == inside);
    beside += experts ? 1 : 0;
    if (!gives_weights(ops[i])) {
      others.push_back(tasks[i].duration.value());
    }
    if (tasks[i].mode == TaskMode::kStart) {
      CHECK(ops[i].id == OpId::kMoeDispatch);
      inside = true;
    }
  }
  CHECK(beside == 2);  // gate and up as one, and down
  CHECK(std::is_sorted(others.begin(), others.end()));
  // qkv and o.
  CHECK((gives_weights(ops.back()) && ops.back().block == Block::kAttention));
  CHECK((gives_weights(ops[ops.size() - 2]) && ops[ops.size() - 2].block == Block::kAttention));
}

}  // namespace
}  // namespace stepcast::overlap_windows_test
