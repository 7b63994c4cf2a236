// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/axis_order.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/trace_writer/process_groups.hpp"

namespace stepcast::axis_order_test {
namespace {

std::vector<AxisOrder> all_orders() {
  std::vector<AxisOrder> orders;
  AxisOrder order;
  std::sort(order.axes.begin(), order.axes.end());
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.axes.begin(), order.axes.end()));
  return orders;
}

ParallelPlan in_order(ParallelPlan plan, const AxisOrder& order) {
  plan.order = order;
  plan.strides = rank_strides(order, plan.degrees());
  return plan;
}

ParallelPlan in_order(const ParallelPlan& plan, std::string_view order) {
  return in_order(plan, parse_axis_order(order).value());
}

// Of 64 ranks: tp 2, cp 2, dp 4, pp 4; of the experts etp 1, ep 8, edp 2.
ParallelPlan plan_of_64() {
  ParallelPlan plan;
  plan.tp = 2;
  plan.cp = 2;
  plan.dp = 4;
  plan.pp = 4;
  plan.ep = 8;
  plan.edp = 2;
  plan.fsdp = 4;
  return plan;
}

}  // namespace

TEST_CASE("an order is read as it is written", "[unit]") {
  CHECK(text_of(AxisOrder{}) == "tp-cp-ep-dp-pp");
  const std::vector<AxisOrder> orders = all_orders();
  CHECK(orders.size() == 120);
  for (const AxisOrder& order : orders) {
    CHECK(parse_axis_order(text_of(order)) == order);
  }
  for (const char* text :
       {"", "-", "tp", "tp-cp-ep-dp", "tp-cp-ep-dp-pp-", "-tp-cp-ep-dp-pp", "tp-cp-ep-dp-dp",
        "tp-cp-ep-dp-pp-tp", "tp_cp_ep_dp_pp", "tp-cp-ep-dp-xp", "tp--cp-ep-dp-pp"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_axis_order(text).has_value());
  }
}

// The example of Megatron's initialize_model_parallel: 16 ranks, tp 2, pp 4 and so dp 2.
TEST_CASE("groups of the usual order are those of Megatron's example", "[unit]") {
  ParallelPlan plan;
  plan.tp = 2;
  plan.pp = 4;
  plan.dp = 2;
  using Ranks = std::vector<std::int64_t>;
  CHECK(ranks_of(plan.tp_group(), 6) == Ranks{6, 7});
  CHECK(ranks_of(plan.dp_group(), 5) == Ranks{5, 7});
  CHECK(ranks_of({plan.pp, plan.pp_group().stride}, 2) == Ranks{2, 6, 10, 14});
  const ParallelPlan within = in_order(plan, kPipelinesWithinReplicas);
  CHECK(ranks_of(within.tp_group(), 6) == Ranks{6, 7});
  CHECK(ranks_of({within.pp, within.pp_group().stride}, 2) == Ranks{0, 2, 4, 6});
  CHECK(ranks_of(within.dp_group(), 5) == Ranks{5, 13});
}

TEST_CASE("the usual order is the same written out and left out", "[unit]") {
  const ParallelPlan plan = plan_of_64();
  const ParallelPlan written = in_order(plan, AxisOrder{});
  CHECK(plan.apart() == *written.strides);
  CHECK(plan.dp_group() == ProcessGroup{8, 2});
  CHECK(plan.shard_group() == ProcessGroup{4, 2});
  CHECK(plan.replicate_group() == ProcessGroup{2, 8});
  CHECK(plan.ep_group() == ProcessGroup{8, 1});
  CHECK(plan.edp_group() == ProcessGroup{2, 8});
}

TEST_CASE("experts furthest apart have their replicas beside them", "[unit]") {
  const ParallelPlan plan = in_order(plan_of_64(), "tp-cp-dp-ep-pp");
  CHECK(plan.ep_group() == ProcessGroup{8, 2});
  CHECK(plan.edp_group() == ProcessGroup{2, 1});
  CHECK(plan.dp_group() == ProcessGroup{8, 2});
}

TEST_CASE("replicas apart from context ranks are groups with gaps", "[unit]") {
  const ParallelPlan plan = in_order(plan_of_64(), "cp-tp-ep-dp-pp");
  CHECK(plan.dp_group() == ProcessGroup{8, 1, 2, 4});
  CHECK(ranks_of(plan.dp_group(), 6) == std::vector<std::int64_t>{2, 3, 6, 7, 10, 11, 14, 15});
  CHECK(plan.shard_group() == ProcessGroup{4, 1, 2, 4});
  CHECK(plan.replicate_group() == ProcessGroup{2, 8});
}

TEST_CASE("in every order each kind of group cuts the ranks into equal parts", "[property]") {
  const ParallelPlan usual = plan_of_64();
  for (const AxisOrder& order : all_orders()) {
    CAPTURE(text_of(order));
    const ParallelPlan plan = in_order(usual, order);
    const ProcessGroup pipeline{plan.pp, plan.pp_group().stride};
    for (const ProcessGroup& group :
         {plan.tp_group(), plan.cp_group(), plan.dp_group(), plan.shard_group(),
          plan.replicate_group(), plan.ep_group(), plan.edp_group(), pipeline}) {
      std::set<std::vector<std::int64_t>> groups;
      std::set<std::int64_t> members;
      for (std::int64_t rank = 0; rank < plan.world(); ++rank) {
        std::vector<std::int64_t> ranks = ranks_of(group, rank);
        CHECK(std::find(ranks.begin(), ranks.end(), rank) != ranks.end());
        members.insert(ranks.begin(), ranks.end());
        groups.insert(std::move(ranks));
      }
      CHECK(std::ssize(groups) == plan.world() / group.size);
      CHECK(std::ssize(members) == plan.world());
      CHECK(*members.rbegin() == plan.world() - 1);
    }
    // A shard and the ranks that have the same one are the replicas, each once.
    std::set<std::int64_t> replicas;
    for (const std::int64_t first : ranks_of(plan.replicate_group(), 0)) {
      const std::vector<std::int64_t> shard = ranks_of(plan.shard_group(), first);
      replicas.insert(shard.begin(), shard.end());
    }
    const std::vector<std::int64_t> all = ranks_of(plan.dp_group(), 0);
    CHECK(replicas == std::set<std::int64_t>(all.begin(), all.end()));
  }
}

}  // namespace stepcast::axis_order_test
