// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/optimizer_spec.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/plan/update_rule.hpp"

namespace stepcast::optimizer_spec_test {
namespace {

OptimizerSpec parse(const std::string& value) {
  const ConfigNode root = parse_config("optimizer: " + value + "\n", "e.yaml");
  Diagnostics diagnostics;
  MappingReader reader(root, "training", diagnostics);
  OptimizerSpec spec = read_optimizer(reader);
  reader.finish();
  diagnostics.throw_if_any();
  return spec;
}

std::string problems(const std::string& value) {
  return test::config_error([&] { parse(value); });
}

// Bytes a parameter that is updated by itself: master copy and states.
double kept(const std::string& value, const SoftwareSpec& software = {}) {
  return elementwise_rule(parse(value), {}, software).kept().value();
}
// Bytes that updating it moves.
double moved(const std::string& value, const SoftwareSpec& software = {}) {
  const UpdateRule rule = elementwise_rule(parse(value), {}, software);
  return compulsory_passes(rule.kernel).forward * rule.element.value();
}

TEST_CASE("an optimizer is a name, or a mapping that says more", "[unit]") {
  CHECK(parse("adamw") == OptimizerSpec{});
  CHECK(parse("adam") == OptimizerSpec{});
  CHECK(parse("{kind: adamw}") == OptimizerSpec{});
  CHECK(parse("sgd").kind() == OptimizerKind::kSgd);
  const OptimizerSpec muon = parse(
      "{kind: muon, steps: 10, momentum_dtype: bf16, nesterov: false, qkv: joint, tp_mode: "
      "blockwise, sharding: gather, adamw: {moments: bf16}, master: remainder}");
  const MuonSpec& rule = std::get<MuonSpec>(muon.rule);
  CHECK(rule.steps == 10);
  CHECK(rule.momentum == StateFormat::kBf16);
  CHECK_FALSE(rule.nesterov);
  CHECK(rule.qkv == QkvMatrices::kJoint);
  CHECK(rule.tp_mode == MuonTensorParallel::kBlockwise);
  CHECK(rule.sharding == MuonSharding::kGather);
  CHECK(rule.adamw.second == StateFormat::kBf16);
  CHECK(muon.master == MasterCopy::kRemainder);
  CHECK(parse("{kind: adamw, offload: {share: 0.5, overlap: true}}").offload ==
        OptimizerOffload{0.5, true});
  CHECK_FALSE(parse("{kind: adamw, offload: false}").offload);
  const OptimizerOffload deepspeed =
      *parse("{kind: adamw, offload: {states: all, cores: 4}}").offload;
  CHECK(deepspeed == OptimizerOffload{1.0, false, OffloadedStates::kAll, 4});
  CHECK(parse("{kind: adamw, moments: 8bit, paged: true}").paged);
}

TEST_CASE("what is written of an optimizer reads the same", "[unit]") {
  for (const std::string text :
       {"adamw", "sgd", "adafactor", "muon", "{kind: adamw, moments: 8bit, master: none}",
        "{kind: adamw, first_moment: fp8, second_moment: fp16, offload: true}",
        "{kind: adamw, offload: {share: 0.5, states: moments, cores: 8}}",
        "{kind: adamw, moments: 8bit, paged: true}", "{kind: sgd, momentum_dtype: none}",
        "{kind: adafactor, momentum_dtype: bf16}",
        "{kind: muon, steps: 7, sharding: all_to_all, adamw: {moments: 8bit}}"}) {
    ConfigWriter writer;
    writer.field("optimizer", written_optimizer(parse(text)));
    const ConfigNode written = writer.take();
    Diagnostics diagnostics;
    MappingReader reader(written, "training", diagnostics);
    CHECK(read_optimizer(reader) == parse(text));
    diagnostics.throw_if_any();
  }
}

TEST_CASE("each kind has keys of its own, and others are refused with the nearest", "[unit]") {
  CHECK_THAT(problems("lion"), test::contains_text("adafactor"));
  CHECK_THAT(problems("{steps: 5}"), test::contains_text("kind"));
  CHECK_THAT(problems("{kind: muon, step: 5}"), test::contains_text("did you mean 'steps'"));
  CHECK_THAT(problems("{kind: adamw, steps: 5}"), test::contains_text("unknown key 'steps'"));
  CHECK_THAT(problems("{kind: adamw, moments: bf16, first_moment: fp32}"),
             test::contains_text("must be left out"));
  CHECK_THAT(problems("{kind: adamw, first_moment: bf16}"), test::contains_text("second_moment"));
  CHECK_THAT(problems("{kind: muon, steps: 0}"), test::contains_text("steps"));
  CHECK_THAT(problems("{kind: muon, offload: true}"), test::contains_text("left out of muon"));
  CHECK_THAT(problems("{kind: adamw, moments: int4}"), test::contains_text("8bit"));
  CHECK_THAT(problems("{kind: adamw, offload: {states: moment}}"), test::contains_text("moments"));
  CHECK_THAT(problems("{kind: adamw, offload: {cores: 0}}"), test::contains_text("cores"));
  CHECK_THAT(problems("{kind: sgd, paged: true}"),
             test::contains_text("left out of any optimizer"));
  CHECK_THAT(problems("{kind: adamw, paged: true, offload: true}"),
             test::contains_text("left out beside offload"));
}

// Software whose states are fp32: 4 of a master copy and 4 of each moment.
TEST_CASE("bytes of states a parameter", "[case]") {
  CHECK(kept("adamw") == 12.0);
  CHECK(kept("{kind: adamw, moments: fp32}") == 12.0);
  CHECK(kept("{kind: adamw, moments: bf16}") == 8.0);
  CHECK(kept("{kind: adamw, moments: bf16, master: remainder}") == 6.0);
  CHECK(kept("{kind: adamw, moments: fp8, master: fp16}") == 4.0);
  // One fp32 for 256 elements.
  CHECK(kept("{kind: adamw, moments: 8bit, master: none}") == 2.0 + 2.0 * 4.0 / 256.0);
  CHECK(kept("{kind: adamw, first_moment: fp8, second_moment: fp16}") == 7.0);
  CHECK(kept("sgd") == 8.0);
  CHECK(kept("{kind: sgd, momentum_dtype: none}") == 4.0);
  // Of a vector; matrices are told otherwise (memory/stage_holding.hpp).
  CHECK(kept("adafactor") == 8.0);
  CHECK(matrix_rule(parse("muon"), {}, {})->kept() == Bytes(8));
  CHECK(matrix_rule(parse("{kind: muon, momentum_dtype: bf16}"), {}, {})->kept() == Bytes(6));
  CHECK_FALSE(matrix_rule(parse("adamw"), {}, {}));
}

TEST_CASE("software in 16 bits throughout keeps no master copy and moments of 16 bits", "[case]") {
  SoftwareSpec software;
  software.states = {Bytes(2), Bytes(2), Bytes(4)};
  CHECK(kept("adamw", software) == 4.0);
  CHECK(kept("sgd", software) == 2.0);
  CHECK(kept("{kind: adamw, moments: fp32}", software) == 8.0);
  CHECK(moved("adamw", software) == 7.0 * 2.0);
  // Gradient and parameter of 2, the parameter written, moments of 4 in and out.
  CHECK(moved("{kind: adamw, moments: fp32}", software) == Approx(2.0 + 4.0 + 16.0));
}

// Gradient of 4; master and states read and written.
TEST_CASE("bytes that an update moves a parameter", "[case]") {
  CHECK(moved("adamw") == 28.0);
  CHECK(moved("{kind: adamw, moments: fp32}") == Approx(28.0));
  CHECK(moved("{kind: adamw, moments: bf16}") == Approx(4.0 + 8.0 + 8.0));
  CHECK(moved("{kind: adamw, moments: bf16, master: remainder}") == Approx(4.0 + 8.0 + 8.0));
  CHECK(moved("sgd") == Approx(4.0 + 8.0 + 8.0));
  CHECK(moved("{kind: sgd, momentum_dtype: none}") == Approx(12.0));
  CHECK(moved("adafactor") == Approx(3.0 * 4.0 + 8.0));
}

TEST_CASE("shards in fp32 are the master copy", "[case]") {
  ParallelPlan plan;
  plan.zero = 3;
  const SoftwareSpec software;
  CHECK(elementwise_rule(parse("adamw"), plan, software).kept() == Bytes(8));
  CHECK(elementwise_rule(parse("{kind: adamw, moments: 8bit}"), plan, software).kept() ==
        2.0 * size_of(StateFormat::kBlock8));
  CHECK(matrix_rule(parse("muon"), plan, software)->kept() == Bytes(4));
}

TEST_CASE("a software set's switch puts the optimizer on the host unless the recipe says more",
          "[unit]") {
  SoftwareSpec software;
  CHECK(share_on_device(parse("adamw"), software) == 1.0);
  software.memory.optimizer_on_host = true;
  CHECK(share_on_device(parse("adamw"), software) == 0.0);
  CHECK(share_on_device(parse("{kind: adamw, offload: {share: 0.25}}"), software) == 0.75);
}

}  // namespace
}  // namespace stepcast::optimizer_spec_test
