// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/plan_constraint.hpp"

#include <set>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/plan/plan_keys.hpp"

namespace stepcast::plan_constraint_test {
namespace {

using test::contains_text;

ConfigNode list_of(const std::string& constraint) {
  return parse_config("- \"" + constraint + "\"\n", "test");
}

std::string fault_of(const std::string& constraint) {
  return test::config_error([&] {
    Diagnostics diagnostics;
    read_constraints(list_of(constraint), diagnostics);
    diagnostics.throw_if_any();
  });
}

// Whether tp 4, pp 2, mbs 3, fp8, full recomputation of 2 layers and zb_h1 keep a constraint, with
// 16 heads and 16 GPUs.
bool holds(const std::string& constraint) {
  Diagnostics diagnostics;
  const std::vector<PlanConstraint> constraints =
      read_constraints(list_of(constraint), diagnostics);
  INFO(constraint);
  REQUIRE(constraints.size() == 1);
  Experiment site;
  site.model = test::dense_sample().model;
  site.cluster = test::round_cluster(2);
  PlanRequest request;
  request.tp = 4;
  request.pp = 2;
  TrainingRecipe training;
  training.micro_batch_size = 3;
  training.dtype = Dtype::kFp8;
  training.recompute.kind = RecomputeKind::kFull;
  training.recompute.layers = 2;
  ParallelPlan plan;
  plan.tp = 4;
  plan.pp = 2;
  plan.dp = 2;
  plan.schedule = Schedule::kZbH1;
  plan.micro_batches = 5;
  ConstraintCheck check(constraints);
  check.set_site(site);
  check.set_request(request, training);
  check.set_plan(plan);
  return check.broken(constraints.front().scope) == nullptr;
}

}  // namespace

TEST_CASE("Constraints compare degrees with what the model and the cluster have", "[unit]") {
  CHECK(holds("tp <= gpus_per_node"));
  CHECK_FALSE(holds("tp > gpus_per_node"));
  CHECK(holds("heads % tp == 0"));
  CHECK_FALSE(holds("mbs % 2 == 0"));
  CHECK(holds("tp * pp * dp == gpus"));
  CHECK(holds("micro_batches >= 2 * pp and micro_batches < 6"));
  CHECK(holds("recompute_layers <= layers / pp"));
  CHECK(holds("min(tp, pp) == 2 and max(tp, pp) == 4 and log2(gpus) == 4"));
  CHECK(holds("pp > 4 ? tp == 8 : tp == 4"));
}

TEST_CASE("Constraints read how full sharding is done", "[unit]") {
  Diagnostics diagnostics;
  const auto keeps = [&](const std::string& constraint, const ParallelPlan& plan) {
    const std::vector<PlanConstraint> read = read_constraints(list_of(constraint), diagnostics);
    REQUIRE(read.size() == 1);
    ConstraintCheck check(read);
    check.set_plan(plan);
    return check.broken(ConstraintScope::kSettledPlan) == nullptr;
  };
  ParallelPlan plan;
  plan.dp = 16;
  plan.zero = 3;
  plan.fsdp = 8;
  CHECK(keeps("hsdp == 8 and fsdp == 8 and fsdp_experts", plan));
  plan.fsdp_experts = false;
  CHECK(keeps("not fsdp_experts", plan));
  plan.fsdp = 16;
  CHECK(keeps("hsdp == 0 and fsdp == 16", plan));
  CHECK(keeps("order == 'tp-cp-ep-dp-pp'", plan));
}

TEST_CASE("Every key of a plan and of training that has one value can be constrained", "[unit]") {
  std::set<std::string_view> names;
  for (const ConstraintName& name : constraint_names()) {
    CHECK(names.insert(name.name).second);
  }
  for (const PlanKey& key : plan_keys()) {
    CHECK(names.contains(key.name) == (key.settled != nullptr));
  }
  for (const TrainingKey& key : training_keys()) {
    CHECK(names.contains(key.name) == (key.value != nullptr));
  }
}

TEST_CASE("Texts are compared whole", "[unit]") {
  CHECK(holds("dtype == 'fp8'"));
  CHECK(holds("'fp8' == dtype"));
  CHECK_FALSE(holds("dtype == 'fp8_block'"));
  CHECK(holds("schedule != '1f1b' and schedule == 'zb_h1'"));
  CHECK(holds("recompute == 'full'"));
  CHECK(holds("cp_algorithm == 'ring' and cp_algorithm != 'all_to_all'"));
  CHECK(holds("model == 'sample' or model == 'another'"));
}

TEST_CASE("not binds less than a comparison and more than and", "[unit]") {
  CHECK(holds("not tp == 8"));
  CHECK(holds("not tp == 8 and pp == 2"));
  CHECK_FALSE(holds("not tp == 4 or pp == 1"));
  CHECK_FALSE(holds("not (tp == 8 or pp == 2)"));
  CHECK(holds("tp == 8 or pp == 2 and mbs == 3"));
}

TEST_CASE("Signs and groups go as they are written in C", "[unit]") {
  CHECK(holds("not not tp == 4"));
  CHECK(holds("2 ^ 3 ^ 2 == 512"));
  CHECK(holds("-2 ^ 2 == -4"));
  CHECK(holds("8 - 4 - 2 == 2 and 8 / 4 / 2 == 1"));
  CHECK(holds("tp == 8 ? false : pp == 2 ? true : false"));
  CHECK(holds("('fp8') == dtype and (dtype != 'bf16') + 1 == 2"));
  CHECK(holds("max(1, tp, 3) == 4 and min(2) == 2 and .5 + 0.5 == 1"));
  CHECK(holds("0.5 and 1"));  // every number but 0 is true
}

TEST_CASE("What has no value does not hold", "[unit]") {
  // No experts: 4 % 0.
  CHECK_FALSE(holds("tp % experts"));
  CHECK_FALSE(holds("tp % experts == 0"));
  CHECK_FALSE(holds("log2(experts) < 1"));
  CHECK_FALSE(holds("not log2(experts) > 1"));
  CHECK_FALSE(holds("1 / experts != 1"));
  CHECK_FALSE(holds("sqrt(pp - tp) < 1 or tp == 8"));
  CHECK_FALSE(holds("min(tp, 1 / experts) < 8"));
  CHECK_FALSE(holds("1 / experts ? true : true"));
  CHECK_FALSE(holds("tp ^ 10000 > 1"));
}

TEST_CASE("What has no value does not matter where the rest decides", "[unit]") {
  CHECK(holds("experts == 0 or tp % experts == 0"));
  CHECK(holds("not (experts > 0 and tp % experts > 0)"));
  CHECK(holds("experts == 0 ? true : tp % experts == 0"));
}

TEST_CASE("Only what a settled plan has waits for it", "[unit]") {
  const auto waits = [](const std::string& constraint) {
    Diagnostics diagnostics;
    return read_constraints(list_of(constraint), diagnostics).at(0).scope ==
           ConstraintScope::kSettledPlan;
  };
  CHECK_FALSE(waits("tp * pp <= gpus and mbs < 4 and dtype == 'bf16'"));
  CHECK(waits("dp >= 2"));
  CHECK(waits("tp == 1 or schedule == '1f1b'"));
}

TEST_CASE("Mistakes in constraints are found at their column, with a remedy", "[unit]") {
  // The text starts at column 4: "- " and the quote.
  CHECK(fault_of("tp <= gpus_per_nod") ==
        "test:1:10: error: the constraint reads 'gpus_per_nod', which is no name of a plan; did "
        "you mean 'gpus_per_node'?");
  CHECK_THAT(fault_of("tp = 8"), contains_text("test:1:7: error: the constraint assigns with '='"));
  CHECK_THAT(fault_of("tp ** 8"), contains_text("makes no sense from here"));
  CHECK_THAT(fault_of("(tp + 8"), contains_text("ends too early"));
  CHECK_THAT(fault_of("tp <"), contains_text("the constraint"));
  CHECK_THAT(fault_of("tp <= 8, pp <= 8"), contains_text("test:1:11: error: the constraint has "
                                                         "more than one value"));
  CHECK_THAT(fault_of("abs(tp, 2)"), contains_text("test:1:10: error: the constraint makes no"));
  CHECK_THAT(fault_of("log2(0) < 1"),
             contains_text("test:1:4: error: the constraint is no number: it divides by 0"));
  CHECK_THAT(fault_of("tp 8"), contains_text("test:1:7: error: the constraint makes no sense"));
  CHECK_THAT(fault_of("tp + dtype == 'fp8'"), contains_text("'dtype', a text"));
  CHECK_THAT(fault_of("sin(tp) < 1"), contains_text("calls 'sin'"));
  CHECK_THAT(fault_of("tp < 0x10"), contains_text("'0x10', which is no number"));
  CHECK_THAT(fault_of("tp < 8 @ 2"), contains_text("'@', which means nothing here"));
  CHECK_THAT(fault_of("schedule == '1f1b"), contains_text("never closed"));
  CHECK_THAT(fault_of("schedule == 1f1b"), contains_text("compare it with a text in quotes"));
  CHECK_THAT(fault_of("schedule < 'zbv'"), contains_text("compare it with a text in quotes"));
  CHECK_THAT(fault_of("tp == 'zbv'"), contains_text("compared with no text"));
  CHECK_THAT(fault_of("dtype == 'fp9'"), contains_text("which no dtype is; did you mean"));
  CHECK_THAT(fault_of(" "), contains_text("is empty"));
  CHECK(fault_of("tp <= 8") == "no error");
}

TEST_CASE("All mistakes of all constraints are reported", "[unit]") {
  const std::string error = test::config_error([] {
    Diagnostics diagnostics;
    read_constraints(parse_config("- a < 1\n- tp < b and c\n- [1]\n", "test"), diagnostics);
    diagnostics.throw_if_any();
  });
  CHECK_THAT(error, contains_text("test:1:3:"));
  CHECK_THAT(error, contains_text("test:2:8:"));
  CHECK_THAT(error, contains_text("test:2:14:"));
  CHECK_THAT(error, contains_text("test:3:3:"));
}

TEST_CASE("The sweeps' README names everything that a constraint may read", "[unit]") {
  const std::string readme =
      read_file(std::string(STEPCAST_DATA_ROOT) + "/configs/sweeps/README.md");
  for (const ConstraintName& name : constraint_names()) {
    CHECK_THAT(readme, contains_text("`" + std::string(name.name) + "`"));
  }
}

}  // namespace stepcast::plan_constraint_test
