// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/dispatcher_map.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/report/step_reports.hpp"

namespace stepcast::dispatcher_map_test {
namespace {

using test::contains_text;

Experiment experiment(const std::vector<Override>& overrides = {}) {
  return load_experiment(test::data_root().folder / "tests/cli/layer/sonic_moe.yaml", overrides,
                         test::data_root());
}

DispatcherMap mapped(const MapAxes& axes, const std::vector<Override>& overrides = {}) {
  return dispatcher_map(experiment(overrides), axes, default_cost_model());
}

TEST_CASE("a map has a row for each combination that divides, and names the fastest", "[unit]") {
  // 3 ranks do not divide the 128 experts, 8 do not fit into one node of 4.
  const DispatcherMap map =
      mapped({.ranks = {3, 4, 8}, .nodes = {1, 2}, .topk = {2, 8}, .tokens = {1024, 4096}});
  CHECK(map.rows.size() == 12);  // 4 over 1 and 2 nodes, 8 over 2; times 2 and 2
  for (const MapRow& row : map.rows) {
    REQUIRE(row.times.size() == kDispatchers);
    REQUIRE(row.winner() != nullptr);
    for (const DispatcherTime& entry : row.times) {
      CHECK((!entry.time || *entry.time >= *row.winner()->time));
    }
  }
}

TEST_CASE("a dispatcher that cannot carry an exchange is left out by name with the reason",
          "[unit]") {
  const DispatcherMap map = mapped({.ranks = {4}, .nodes = {1}, .topk = {8}, .tokens = {4096}});
  const auto minimal = std::find_if(map.left_out.begin(), map.left_out.end(), [](const auto& out) {
    return out.dispatcher == Dispatcher::kMinimalAsyncEp;
  });
  REQUIRE(minimal != map.left_out.end());
  CHECK(minimal->points == 1);
  CHECK_THAT(minimal->reason, contains_text("needs recompute full"));
  CHECK_FALSE(map.rows.front().times[slot(Dispatcher::kMinimalAsyncEp)].time);
  CHECK_THAT(to_text(map), contains_text("minimal_async_ep in 1 of 1 rows: dispatcher"));
  const DispatcherMap recomputed = mapped(
      {.ranks = {4}, .nodes = {1}, .topk = {8}, .tokens = {4096}}, {"training.recompute=full"});
  CHECK(recomputed.rows.front().times[slot(Dispatcher::kMinimalAsyncEp)].time);
}

TEST_CASE("more tokens and more choices take longer in every dispatcher", "[unit]") {
  const DispatcherMap map =
      mapped({.ranks = {8}, .nodes = {2}, .topk = {2, 8}, .tokens = {4096, 16384}});
  REQUIRE(map.rows.size() == 4);
  for (std::size_t place = 0; place < kDispatchers; ++place) {
    if (!map.rows[0].times[place].time) {
      continue;
    }
    CAPTURE(name(static_cast<Dispatcher>(place)));
    CHECK(map.rows[1].times[place].time > map.rows[0].times[place].time);   // tokens
    CHECK(map.rows[2].times[place].time >= map.rows[0].times[place].time);  // choices
  }
}

TEST_CASE("sonic gathers in its products, and crosses domains by node_dedup", "[unit]") {
  const DispatcherMap map = mapped({.ranks = {16}, .nodes = {1, 2}, .topk = {8}, .tokens = {4096}},
                                   {"cluster.gpu=h100_sxm", "cluster.gpus_per_node=8",
                                    "cluster.nodes=2", "training.global_batch_size=128"});
  REQUIRE(map.rows.size() == 1);
  const DispatcherTime& sonic = map.rows[0].times[slot(Dispatcher::kSonic)];
  REQUIRE(sonic.time);
  CHECK(sonic.dispatch == ExchangePrimitive::kNodeDedup);
  const nlohmann::ordered_json json = to_json(map);
  CHECK(json["map"][0]["times"]["sonic"]["dispatch_primitive"] == "node_dedup");
  CHECK(json["map"][0]["fastest"].is_string());
}

TEST_CASE("a model without experts, or with fewer than a token takes, has no map", "[unit]") {
  CHECK_THAT(map_problem(test::shipped_model("llama3.1_8b"), {}), contains_text("has none"));
  CHECK_THAT(map_problem(test::shipped_model("mixtral_8x7b"), {.topk = {2, 16}}),
             contains_text("16 choices a token, but mixtral_8x7b has 8 experts"));
}

}  // namespace
}  // namespace stepcast::dispatcher_map_test
