// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_space.hpp"

#include <set>

#include "catch.hpp"
#include "stepcast/settle/settle_plan.hpp"
#include "sweep_text.hpp"

namespace stepcast::sweep_space_test {
namespace {

using test::contains_text;
using test::evaluated;
using test::small_sweep;
using test::sweep_error;
using test::sweep_of;

std::vector<std::string> keys_of(const SweepSpace& space) {
  std::vector<std::string> keys;
  for (const SweepAxis& axis : space.axes()) {
    keys.insert(keys.end(), axis.keys.begin(), axis.keys.end());
  }
  return keys;
}

// The texts of an axis' first key.
std::vector<std::string> texts_of(const SweepSpace& space, const std::string& key) {
  std::vector<std::string> texts;
  for (const SweepAxis& axis : space.axes()) {
    for (std::size_t i = 0; i < axis.keys.size(); ++i) {
      for (const auto& value : axis.values) {
        if (axis.keys[i] == key) {
          texts.push_back(value[i]);
        }
      }
    }
  }
  return texts;
}

std::int64_t plans_that_divide(const SweepSpace& space, std::int64_t end) {
  std::int64_t found = 0;
  SweepRequest request;
  for (std::int64_t i = 0; i < end; ++i) {
    space.request(i, request);
    const Experiment& site = space.sites()[request.site];
    found += settle_plan(request.plan, site.model, request.training, site.cluster, site.software)
                 .reasons.empty();
  }
  return found;
}

}  // namespace

TEST_CASE("A sweep without a list is one plan", "[unit]") {
  const SweepSpace space = sweep_of(small_sweep(", global_batch_size: 16", "{tp: 2}"));
  CHECK(space.size() == 1);
  CHECK(space.axes().empty());
  CHECK(space.request(0).plan.tp == 2);
  CHECK(space.rank_by() == RankBy::kTokensPerSecondPerGpu);
}

TEST_CASE("Indices run through every combination, sites outermost and the batch innermost",
          "[unit]") {
  const SweepSpace space =
      sweep_of(small_sweep(", global_batch_size: [16, 32], micro_batch_size: [1, 2]",
                           "{pp: [1, 2, 4], tp: [1, 2]}", "software: [megatron, torchtitan]\n"));
  // 2 software sets x 2 mbs x 2 tp x 3 pp x 2 gbs.
  REQUIRE(space.size() == 48);
  REQUIRE(space.sites().size() == 2);
  CHECK(keys_of(space) == std::vector<std::string>{"software", "training.micro_batch_size",
                                                   "plan.tp", "plan.pp",
                                                   "training.global_batch_size"});
  CHECK(space.request(0).training.global_batch_size == 16);
  CHECK(space.request(1).training.global_batch_size == 32);
  CHECK(space.request(2).plan.pp == 2);
  CHECK(space.request(6).plan.tp == 2);
  CHECK(space.request(12).training.micro_batch_size == 2);
  CHECK(space.request(24).site == 1);
  CHECK(space.sites()[1].software.name == "torchtitan");
  // 47 = 1 * 24 + 1 * 12 + 1 * 6 + 2 * 2 + 1: the last value of every axis.
  const SweepRequest last = space.request(47);
  CHECK(last.site == 1);
  CHECK(last.training.micro_batch_size == 2);
  CHECK(last.plan.tp == 2);
  CHECK(last.plan.pp == 4);
  CHECK(last.training.global_batch_size == 32);
}

TEST_CASE("The order of the file makes no difference to the numbering", "[unit]") {
  const SweepSpace a = sweep_of(small_sweep(
      ", global_batch_size: [16, 32], micro_batch_size: [1, 2]", "{tp: [1, 2], pp: [1, 2]}"));
  const SweepSpace b = sweep_of(small_sweep(
      ", micro_batch_size: [1, 2], global_batch_size: [16, 32]", "{pp: [1, 2], tp: [1, 2]}"));
  CHECK(keys_of(a) == keys_of(b));
}

TEST_CASE("Ranges multiply or add, and take their end where a step meets it", "[unit]") {
  const auto tp = [](const std::string& range) {
    return texts_of(sweep_of(small_sweep(", global_batch_size: 16", "{tp: " + range + "}")),
                    "plan.tp");
  };
  CHECK(tp("{from: 1, to: 8, times: 2}") == std::vector<std::string>{"1", "2", "4", "8"});
  CHECK(tp("{from: 1, to: 8, step: 3}") == std::vector<std::string>{"1", "4", "7"});
  CHECK(tp("{from: 1, to: 3}") == std::vector<std::string>{"1", "2", "3"});
  CHECK(tp("[16, {from: 1, to: 4, times: 2}]") == std::vector<std::string>{"16", "1", "2", "4"});
}

TEST_CASE("Steps of decimals add up without noise", "[unit]") {
  const SweepSpace space =
      sweep_of(small_sweep(", global_batch_size: 16, recompute: memory_budget, "
                           "memory_budget: {from: 0.1, to: 0.5, step: 0.1}",
                           "{tp: 1}"));
  CHECK(texts_of(space, "training.memory_budget") ==
        std::vector<std::string>{"0.1", "0.2", "0.3", "0.4", "0.5"});
  CHECK(space.request(2).training.recompute.budget == 0.3);
}

TEST_CASE("A mapping that names its key sets several keys together", "[unit]") {
  const SweepSpace space =
      sweep_of(small_sweep(", global_batch_size: 16",
                           "{pp: 2, schedule: [1f1b, {schedule: interleaved_1f1b, vpp: [2, 4]}]}"));
  REQUIRE(space.size() == 3);
  CHECK(space.request(0).plan.vpp == 1);
  CHECK(space.request(1).plan.vpp == 2);
  CHECK(space.request(2).plan.vpp == 4);
  CHECK(space.request(2).plan.schedule == Schedule::kInterleaved);
  CHECK(texts_of(space, "plan.vpp") == std::vector<std::string>{"", "2", "4"});
}

TEST_CASE("Each kind of recomputation meets only the keys that belong to it", "[unit]") {
  // none and selective once, full with two methods of two counts each: 1 + 1 + 4.
  const SweepSpace space =
      sweep_of(small_sweep(", global_batch_size: 16, recompute: [none, selective, full], "
                           "recompute_method: [uniform, block], recompute_layers: [1, 2]",
                           "{tp: 1}"));
  REQUIRE(space.size() == 6);
  std::set<std::string> seen;
  for (std::int64_t i = 0; i < space.size(); ++i) {
    const RecomputeSpec recompute = space.request(i).training.recompute;
    seen.insert(std::string(name(recompute.kind)) +
                (recompute.method == RecomputeMethod::kBlock ? " block " : " uniform ") +
                std::to_string(recompute.layers));
  }
  CHECK(seen == std::set<std::string>{"none uniform 1", "selective uniform 1", "full uniform 1",
                                      "full uniform 2", "full block 1", "full block 2"});
}

TEST_CASE("Keys that are lists take a list of lists to vary", "[unit]") {
  const SweepSpace one =
      sweep_of(small_sweep(", global_batch_size: 16", "{pp: 2, stage_layout: [3, 5]}"));
  CHECK(one.size() == 1);
  CHECK(one.request(0).plan.stage_layers == std::vector<std::int64_t>{3, 5});
  const SweepSpace two = sweep_of(
      small_sweep(", global_batch_size: 16", "{pp: 2, stage_layout: [[3, 5], [4, 4], balanced]}"));
  REQUIRE(two.size() == 3);
  CHECK(two.request(1).plan.stage_layers == std::vector<std::int64_t>{4, 4});
  CHECK(two.request(2).plan.layout == "balanced");
  CHECK(two.request(2).plan.stage_layers.empty());
  const SweepSpace modules =
      sweep_of(small_sweep(", global_batch_size: 16, recompute: selective, "
                           "recompute_modules: [[core_attn], [mlp, layernorm]]",
                           "{tp: 1}"));
  REQUIRE(modules.size() == 2);
  CHECK(modules.request(1).training.recompute.modules.size() == 2);
}

TEST_CASE("Shares of an overlap vary one by one", "[unit]") {
  const SweepSpace space = sweep_of(small_sweep(
      ", global_batch_size: 16", "{tp: 2, overlap: {tp: [0.25, 0.5], dp: [0.5, 0.75]}}"));
  REQUIRE(space.size() == 4);
  const UniformOverlap last = space.request(3).plan.overlap;
  CHECK(last.hidden[slot(Axis::kTensor)] == 0.5);
  CHECK(last.hidden[slot(Axis::kData)] == 0.75);
  const UniformOverlap second = space.request(1).plan.overlap;
  CHECK(second.hidden[slot(Axis::kTensor)] == 0.25);
  CHECK(second.hidden[slot(Axis::kData)] == 0.75);
}

TEST_CASE("Every key outside plan and training makes sites", "[unit]") {
  const SweepSpace space = sweep_of(
      "model: [llama3_8b, llama3_70b]\n"
      "cluster: [{gpu: h100_sxm, nodes: [1, 2]}, {gpu: b200}]\n"
      "training: {sequence_length: 4096, global_batch_size: 64}\n"
      "software: {base: megatron, async_tp: [false, true]}\n");
  // 2 models x (2 + 1) clusters x 2 switches.
  REQUIRE(space.sites().size() == 12);
  CHECK(space.size() == 12);
  CHECK(space.gpus_vary());
  CHECK(space.sites()[0].model.name == "llama3_8b");
  CHECK(space.sites()[2].cluster.nodes == 2);
  CHECK(space.sites()[5].software.async_tp);
  CHECK(space.sites()[11].model.name == "llama3_70b");
  CHECK(space.sites()[11].cluster.device.name == "b200");
}

TEST_CASE("Overrides apply to a sweep, and may be axes themselves", "[unit]") {
  const std::string text = small_sweep(", global_batch_size: 16", "{tp: [1, 2]}");
  CHECK(sweep_of(text, {"plan.tp=4"}).size() == 1);
  CHECK(sweep_of(text, {"plan.pp=[1, 2]"}).size() == 4);
}

TEST_CASE("The digest tells sweeps apart by what they mean", "[unit]") {
  const std::string text = small_sweep(", global_batch_size: 16", "{tp: [1, 2]}");
  const std::string digest = sweep_of(text).digest();
  CHECK(digest.size() == 32);
  CHECK(sweep_of("# a comment\n" + text).digest() == digest);
  CHECK(sweep_of(text, {"plan.pp=2"}).digest() != digest);
  CHECK(sweep_of(text, {}, "other").digest() != digest);
}

TEST_CASE("plan: all holds plans that run, and a key that is given narrows it", "[unit]") {
  const SweepSpace all = sweep_of(small_sweep(", global_batch_size: 64", "all"));
  // tp * pp beyond the 8 GPUs, and batches that more replicas do not divide, are fewer than half.
  CHECK(plans_that_divide(all, all.size()) > all.size() / 2);
  CHECK(texts_of(all, "training.micro_batch_size") == std::vector<std::string>{"1", "2", "4", "8"});
  CHECK(texts_of(all, "training.recompute") ==
        std::vector<std::string>{"none", "selective", "full"});
  const std::vector<std::string> schedules = texts_of(all, "plan.schedule");
  for (const std::string_view schedule : names_of<Schedule>()) {
    INFO(schedule);
    // gpipe takes as long as 1f1b and holds more.
    const bool held = std::find(schedules.begin(), schedules.end(), schedule) != schedules.end();
    CHECK(held == (schedule != "gpipe"));
  }
  const SweepSpace narrow = sweep_of(small_sweep(", global_batch_size: 64, micro_batch_size: 1",
                                                 "{all: true, tp: [2, 4], pp: 2, zero: 1}"));
  for (std::int64_t i = 0; i < narrow.size(); ++i) {
    const SweepRequest request = narrow.request(i);
    CHECK((request.plan.tp == 2 || request.plan.tp == 4));
    CHECK(request.plan.pp == 2);
    CHECK(request.plan.zero == 1);
    CHECK(request.training.micro_batch_size == 1);
  }
}

TEST_CASE("Overrides narrow plan: all", "[unit]") {
  const std::string text = small_sweep(", global_batch_size: 64", "all");
  const SweepSpace narrow = sweep_of(text, {"plan.tp=2", "plan.zero=1"});
  CHECK(narrow.size() < sweep_of(text).size());
  CHECK(narrow.request(narrow.size() - 1).plan.tp == 2);
  CHECK(sweep_of(small_sweep(", global_batch_size: 64", "{tp: 2}"), {"plan=all"}).size() ==
        sweep_of(text).size());
}

TEST_CASE("plan: all splits layers that no pp divides in a balanced way", "[unit]") {
  // 61 layers are prime.
  const SweepSpace space = sweep_of(
      "model: deepseek_v3\ncluster: {gpu: h100_sxm, nodes: 16}\n"
      "training: {sequence_length: 4096, global_batch_size: 1024, micro_batch_size: 1}\n"
      "plan: {all: true, pp: 8, tp: 1, ep: 8, zero: 1}\n");
  CHECK(plans_that_divide(space, space.size()) == space.size());
  CHECK(space.request(0).plan.layout == "balanced");
}

TEST_CASE("plan: all tries context parallelism that leaves a rank 4,096 tokens", "[unit]") {
  const auto degrees = [](const char* tokens) {
    return texts_of(sweep_of("model: llama3_8b\ncluster: {gpu: h100_sxm, nodes: 2}\n"
                             "training: {sequence_length: " +
                             std::string(tokens) + ", global_batch_size: 64}\nplan: all\n"),
                    "plan.cp");
  };
  CHECK(degrees("4096").empty());
  CHECK(degrees("8192") == std::vector<std::string>{"1", "2"});
  CHECK(degrees("32768") == std::vector<std::string>{"1", "2", "4", "8"});
}

TEST_CASE("plan: all tries the dispatchers that the software offers", "[unit]") {
  using Texts = std::vector<std::string>;
  const auto dispatchers = [](const std::string& model, const std::string& more) {
    return texts_of(sweep_of("model: " + model +
                             "\ncluster: {gpu: h100_sxm, nodes: 1}\n"
                             "training: {sequence_length: 4096, global_batch_size: 64}\n" +
                             more),
                    "plan.dispatcher");
  };
  CHECK(dispatchers("mixtral_8x7b", "plan: all\n") ==
        Texts{"alltoall", "allgather", "deepep", "hybridep"});
  // That of the software itself comes first.
  CHECK(dispatchers("mixtral_8x7b", "plan: {all: true, tp: 1}\nsoftware: torchtitan\n") ==
        Texts{"alltoall", "deepep", "hybridep", "minimal_async_ep"});
  CHECK(dispatchers("llama3_8b", "plan: all\n").empty());
  CHECK(dispatchers("mixtral_8x7b", "plan: all\nsoftware: {base: megatron, dispatcher: deepep}\n")
            .empty());
  CHECK(dispatchers("mixtral_8x7b", "plan: {all: true, dispatcher: [deepep, hybridep]}\n") ==
        Texts{"deepep", "hybridep"});
  // What the file says of the exchange belongs to some of them only.
  CHECK(dispatchers("mixtral_8x7b", "plan: all\nexpert_exchange: {capacity_factor: 1.5}\n") ==
        Texts{"alltoall", "hybridep"});
}

TEST_CASE("Where one rank has all experts dispatchers make one plan", "[unit]") {
  const SweepSpace space = sweep_of(
      "model: mixtral_8x7b\ncluster: {gpu: h100_sxm, nodes: 8}\n"
      "training: {sequence_length: 4096, global_batch_size: 64, micro_batch_size: 1}\n"
      "plan: {tp: 4, pp: 4, ep: [1, 4], dispatcher: [alltoall, deepep, sonic]}\n");
  const ChunkResult result = evaluated(space);
  // With ep = 1 sonic's kernels run, and the others are nothing.
  const auto alike = result.refused.find(std::string(kSamePlan));
  REQUIRE(alike != result.refused.end());
  CHECK(alike->second == 1);
}

TEST_CASE("software: {all: true} tries every switch that the software offers", "[unit]") {
  const auto keys = [](const std::string& model, const std::string& software) {
    const SweepSpace space = sweep_of("model: " + model +
                                      "\ncluster: {gpu: h100_sxm, nodes: 1}\n"
                                      "training: {sequence_length: 4096, global_batch_size: 64}\n"
                                      "plan: {tp: 8}\nsoftware: " +
                                      software + "\n");
    std::vector<std::string> found;
    for (const SweepAxis& axis : space.axes()) {
      found.push_back(axis.keys.front());
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  // Switches of an exchange make no difference to a dense model.
  CHECK(keys("llama3_8b", "{base: megatron, all: true}") ==
        std::vector<std::string>{"software.async_tp", "software.cuda_graph",
                                 "software.overlap_grad_reduce", "software.overlap_param_gather"});
  CHECK(keys("mixtral_8x7b", "{base: torchtitan, all: true}") ==
        std::vector<std::string>{"software.async_tp"});
  CHECK(keys("mixtral_8x7b", "{base: torchtitan, all: true, async_tp: true}").empty());
  CHECK_THAT(sweep_error(small_sweep(", global_batch_size: 16", "{tp: 1}",
                                     "software: {base: megatron, all: 3}\n")),
             contains_text("'software.all' must be true or false"));
}

TEST_CASE("The shipped sweeps are what they say", "[unit]") {
  const auto shipped = [](const std::string& name) {
    return read_sweep(
        load_sweep_source(test::data_root().folder / "configs/sweeps" / (name + ".yaml"), {},
                          "test"),
        test::data_root());
  };
  CHECK(shipped("llama3_70b_512_h100").size() < 1000);
  const SweepSpace gpt3 = shipped("gpt3_175b_512_a100");
  CHECK(gpt3.sites().front().cluster.gpus() == 512);
  // Software and the 16-bit format have no say in whether a plan divides, and are outermost.
  REQUIRE(gpt3.sites().size() == 16);
  REQUIRE(gpt3.axes()[4].keys.front() == "training.dtype");
  const std::int64_t alike = 16 * 2;
  CHECK(alike * plans_that_divide(gpt3, gpt3.size() / alike) >= 7'500'000);
}

}  // namespace stepcast::sweep_space_test
