// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/exchange_rules.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/plan/software_spec.hpp"

namespace stepcast::exchange_rules_test {
namespace {

using test::contains_text;

ExchangeSpec read(const std::string& text) {
  const ConfigNode root = parse_config(text, "test");
  Diagnostics diagnostics;
  ExchangeSpec spec;
  read_exchange(MappingReader(root, "expert_exchange", diagnostics), spec);
  diagnostics.throw_if_any();
  return spec;
}

std::string problems(const ExchangeSpec& spec, const std::optional<MoeSpec>& moe = {}) {
  std::string text;
  for (const ExchangeProblem& problem : exchange_problems(spec, moe)) {
    text += std::string(problem.key) + " " + problem.message + "\n";
  }
  return text;
}

TEST_CASE("copies of experts need a routing that makes some hot, and no padding to a capacity",
          "[unit]") {
  MoeSpec moe;
  moe.experts = 16;
  moe.experts_per_token = 2;
  CHECK_THAT(problems(read("{redundant_experts: 4}"), moe),
             contains_text("redundant_experts must be 0 with routing: uniform"));
  CHECK(
      problems(read("{redundant_experts: 4, routing: learned, max_violation: 0.5}"), moe).empty());
  CHECK_THAT(problems(read("{redundant_experts: 4, routing: learned, max_violation: 0.5, "
                           "receive_buffer: capacity, capacity_factor: 1.25}"),
                      moe),
             contains_text("pads all experts alike"));
}

TEST_CASE("every switch of the exchange is read", "[unit]") {
  const ExchangeSpec spec = read(
      "{dispatch_dtype: fp8, num_sms: 20, dispatch_primitive: ag, combine_primitive: rs, "
      "routing: group_limited, groups: 8, groups_per_token: 4, receive_buffer: capacity, "
      "capacity_factor: 1.25, pad_multiple: 128, redispatch_in_backward: true, cpu_sync: none, "
      "collective_only: true, moe_all_to_all: hierarchical}");
  CHECK(spec.dispatch_dtype == Dtype::kFp8);
  CHECK(spec.compute_units == 20);
  CHECK(spec.dispatch_primitive == ExchangePrimitive::kAllGather);
  CHECK(spec.combine_primitive == ExchangePrimitive::kReduceScatter);
  REQUIRE(spec.routing.has_value());
  CHECK(spec.routing->kind == RoutingKind::kGroupLimited);
  CHECK(spec.routing->groups == 8);
  CHECK(spec.routing->groups_per_token == 4);
  CHECK(spec.receive_buffer == ReceiveBuffer::kCapacity);
  CHECK(spec.capacity_factor == 1.25);
  CHECK(spec.pad_multiple == 128);
  CHECK(spec.redispatch_in_backward);
  CHECK(spec.cpu_sync == CpuSync::kNone);
  CHECK(spec.collective_only);
  CHECK(spec.all_to_all == CollectiveAlgorithm::kHierarchical);
  CHECK(read("{}") == ExchangeSpec{});
}

TEST_CASE("settings of another routing are refused, all at once", "[unit]") {
  const std::string errors = test::config_error([] {
    return read("{routing: uniform, groups: 8, zipf_exponent: 1, counts: [1], num_sms: -1}");
  });
  CHECK_THAT(errors, contains_text("belongs to routing: group_limited"));
  CHECK_THAT(errors, contains_text("belongs to routing: zipf"));
  CHECK_THAT(errors, contains_text("belongs to routing: counts"));
  CHECK_THAT(errors, contains_text("give both or neither"));
  CHECK_THAT(errors, contains_text("num_sms"));
}

TEST_CASE("a routing needs what defines it", "[unit]") {
  CHECK_THAT(test::config_error([] { return read("{routing: learned}"); }),
             contains_text("'expert_exchange.max_violation' is needed"));
  CHECK_THAT(test::config_error([] { return read("{routing: zipf}"); }),
             contains_text("'expert_exchange.zipf_exponent' is needed"));
  CHECK_THAT(test::config_error([] { return read("{routing: counts}"); }),
             contains_text("'expert_exchange.counts' is needed"));
  CHECK_THAT(test::config_error([] { return read("{routing: counts, counts: [0, 0]}"); }),
             contains_text("at least one token"));
}

TEST_CASE("routing follows the model's router unless it is given", "[unit]") {
  MoeSpec moe = test::experts(256, 8, 2048);
  CHECK(routing_of({}, moe).kind == RoutingKind::kUniform);
  moe.router.groups = 8;
  moe.router.topk_groups = 4;
  const Routing routing = routing_of({}, moe);
  CHECK(routing.kind == RoutingKind::kGroupLimited);
  CHECK(routing.groups == 8);
  CHECK(routing.groups_per_token == 4);
  CHECK(routing_of(read("{routing: uniform}"), moe).kind == RoutingKind::kUniform);
  CHECK(routing_of(read("{routing: group_limited}"), moe) == routing);
}

TEST_CASE("the host waits for the size of a dynamic receive buffer only", "[unit]") {
  ExchangeSpec spec;
  for (const auto& [dispatcher, buffer, sync] :
       {std::tuple{Dispatcher::kAllToAll, ReceiveBuffer::kDynamic, CpuSync::kBlocking},
        std::tuple{Dispatcher::kDeepEp, ReceiveBuffer::kDynamic, CpuSync::kBlocking},
        std::tuple{Dispatcher::kDeepEpLowLatency, ReceiveBuffer::kWorstCase, CpuSync::kNone},
        std::tuple{Dispatcher::kSonic, ReceiveBuffer::kWorstCase, CpuSync::kNone},
        std::tuple{Dispatcher::kMinimalAsyncEp, ReceiveBuffer::kWorstCase, CpuSync::kNone}}) {
    spec.dispatcher = dispatcher;
    CAPTURE(name(dispatcher));
    CHECK(receive_buffer_of(spec) == buffer);
    CHECK(cpu_sync_of(spec) == sync);
    CHECK(problems(spec).empty());
  }
  spec.dispatcher = Dispatcher::kSonic;
  spec.cpu_sync = CpuSync::kBlocking;
  CHECK(receive_buffer_of(spec) == ReceiveBuffer::kDynamic);
  spec.dispatcher = Dispatcher::kHybridEp;
  spec.cpu_sync = CpuSync::kNone;
  CHECK(receive_buffer_of(spec) == ReceiveBuffer::kWorstCase);
}

TEST_CASE("what a dispatcher cannot do is refused with what it can", "[unit]") {
  ExchangeSpec spec = read(
      "{dispatch_dtype: fp8, num_sms: 8, dispatch_primitive: a2a, "
      "redispatch_in_backward: true, receive_buffer: worst_case}");
  const std::string text = problems(spec);
  CHECK_THAT(text, contains_text("dispatch_dtype must be bf16: the dispatcher alltoall"));
  CHECK_THAT(text, contains_text("num_sms must be left out"));
  CHECK_THAT(text, contains_text("dispatch_primitive must be auto"));
  CHECK_THAT(text, contains_text("redispatch_in_backward must be false"));
  CHECK_THAT(text, contains_text("its receive buffer is dynamic or capacity"));
  spec = read("{cpu_sync: none}");
  CHECK_THAT(problems(spec), contains_text("cpu_sync must be blocking"));
  spec = read("{cpu_sync: blocking}");
  spec.dispatcher = Dispatcher::kMinimalAsyncEp;
  CHECK_THAT(problems(spec), contains_text("cpu_sync must be none"));
  spec = read("{receive_buffer: capacity}");
  CHECK_THAT(problems(spec), contains_text("give both or neither"));
  spec = read("{moe_all_to_all: pxn}");
  CHECK(problems(spec).empty());
  spec.dispatcher = Dispatcher::kHybridEp;
  CHECK_THAT(problems(spec), contains_text("moe_all_to_all must be auto"));
  spec.collective_only = true;
  CHECK(problems(spec).empty());
}

TEST_CASE("a routing must fit the model's experts", "[unit]") {
  const MoeSpec moe = test::experts(16, 4, 512);
  CHECK_THAT(problems(read("{routing: counts, counts: [1, 2]}"), moe),
             contains_text("has 2 entries, but the model 16 experts"));
  CHECK_THAT(problems(read("{routing: group_limited, groups: 3, groups_per_token: 1}"), moe),
             contains_text("must divide the 16 experts"));
  CHECK_THAT(problems(read("{routing: group_limited, groups: 8, groups_per_token: 1}"), moe),
             contains_text("fewer experts than the 4"));
}

// A plan that exchanges by `spec` on a GPU whose profile gives DeepEP 24 and HybridEP 16 units.
ParallelPlan exchanging(const ExchangeSpec& spec, std::int64_t deepep_units = 24) {
  ExchangeConstants constants;
  constants.of(Dispatcher::kDeepEp).units = deepep_units;
  constants.of(Dispatcher::kHybridEp).units = 16;
  ParallelPlan plan;
  plan.exchange = spec;
  plan.exchange_units = exchange_units(spec, constants);
  return plan;
}

TEST_CASE("an exchange holds the profile's units of its dispatcher, or those that it is given",
          "[unit]") {
  CHECK(units_held(exchanging({}), 18) == 18);
  ExchangeSpec spec{.dispatcher = Dispatcher::kDeepEp};
  CHECK(units_held(exchanging(spec), 18) == 24);
  CHECK(units_held(exchanging(spec, 32), 18) == 32);
  spec.compute_units = 20;
  CHECK(units_held(exchanging(spec), 18) == 20);
  CHECK(units_held(exchanging({.dispatcher = Dispatcher::kHybridEp}), 18) == 16);
  CHECK(units_held(exchanging({.dispatcher = Dispatcher::kDeepEpLowLatency}), 18) == 0);
  // DeepEP V2 chooses its units by formula, but has the buffers of V1.
  CHECK(exchanging({.dispatcher = Dispatcher::kDeepEpV2}, 32).exchange_units == 32);
  CHECK(units_held(exchanging({.dispatcher = Dispatcher::kDeepEpV2}), 18) == 18);
}

TEST_CASE("a dispatcher that no row describes is a fault of the program", "[unit]") {
  CHECK_THROWS_AS(model_of(static_cast<Dispatcher>(kDispatchers)), InternalError);
  CHECK_THROWS_AS(receive_buffer_of({.dispatcher = static_cast<Dispatcher>(kDispatchers)}),
                  InternalError);
}

SoftwareSpec switched(const std::string& text, SoftwareSpec software = {}) {
  const ConfigNode root = parse_config(text, "test");
  Diagnostics diagnostics;
  MappingReader reader(root, "software", diagnostics);
  read_software_switches(reader, software);
  reader.finish();
  diagnostics.throw_if_any();
  return software;
}

TEST_CASE("a software set names its dispatcher, or deepep for short", "[unit]") {
  const SoftwareSpec deepep = switched("{deepep: true}");
  CHECK(deepep.exchange.dispatcher == Dispatcher::kDeepEp);
  CHECK(switched("{deepep: false}", deepep).exchange.dispatcher == Dispatcher::kAllToAll);
  CHECK(switched("{fused_qkv: false}", deepep).exchange.dispatcher == Dispatcher::kDeepEp);
  CHECK(switched("{dispatcher: hybridep}", deepep).exchange.dispatcher == Dispatcher::kHybridEp);
  CHECK(switched("{expert_exchange: {num_sms: 20}}", deepep).exchange.compute_units == 20);
  CHECK_THAT(test::config_error([] { return switched("{dispatcher: sonic, deepep: true}"); }),
             contains_text("contradicts dispatcher: sonic"));
}

}  // namespace
}  // namespace stepcast::exchange_rules_test
