// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/project.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast::project_test {
using stepcast::test::data_root;
using stepcast::test::shipped_experiments;

namespace {

Projection projected(const std::filesystem::path& file,
                     const std::vector<Override>& overrides = {}) {
  return project(load_experiment(file, overrides, data_root()), default_cost_model());
}

std::filesystem::path default_example() {
  return data_root().folder / "examples/01_llama3.1_70b_mi300x/experiment.yaml";
}

}  // namespace

TEST_CASE("The keys of time add up to the step time in every shipped experiment", "[unit]") {
  for (const std::filesystem::path& file : shipped_experiments()) {
    INFO(file);
    const nlohmann::ordered_json json = to_json(projected(file));
    double sum = 0.0;
    for (const auto& [key, value] : json.at("time").items()) {
      CHECK(value.get<double>() >= 0.0);
      sum += value.get<double>();
    }
    CHECK(sum == Approx(json.at("step_time_s").get<double>()).epsilon(1e-12));
  }
}

TEST_CASE("A report says which attention kernel ran, and why another one than asked for",
          "[unit]") {
  const std::filesystem::path file =
      data_root().folder / "examples/17_gpt_oss_20b_h100/experiment.yaml";
  const auto note = [](const Projection& p, const std::string& start) {
    const auto found = std::find_if(p.notes.begin(), p.notes.end(), [&](const std::string& text) {
      return text.starts_with(start);
    });
    return found == p.notes.end() ? std::string{} : *found;
  };
  CHECK(note(projected(file), "attention runs cudnn through Transformer Engine") != "");
  const Projection old = projected(
      file, {"software.attention_library.version=2.7", "software.attention_library.cudnn=9.11"});
  CHECK(note(old, "attention runs unfused: cudnn of Transformer Engine 2.7") != "");
  CHECK(old.time.step > projected(file).time.step);
}

TEST_CASE("A model that nobody knows is refused with the nearest name", "[unit]") {
  const std::string refusal =
      test::config_error([] { projected(default_example(), {"model=glm6"}); });
  CHECK_THAT(refusal, test::contains_text("unknown model 'glm6'"));
  CHECK_THAT(refusal, test::contains_text("did you mean 'glm5'"));
}

TEST_CASE("A projection notes the assumed constants of its exchange, and only where tokens travel",
          "[unit]") {
  const std::filesystem::path file =
      data_root().folder / "configs/experiments/mi300x_deepseek_v2_lite.yaml";
  const auto assumptions = [&](const std::vector<Override>& overrides) {
    std::vector<std::string> found;
    for (const std::string& text : projected(file, overrides).notes) {
      if (text.starts_with("exchange constants of ")) {
        found.push_back(text);
      }
    }
    return found;
  };
  const std::vector<std::string> of_deepep = assumptions({"plan.dispatcher=deepep"});
  REQUIRE(of_deepep.size() == 1);
  CHECK(of_deepep[0].starts_with("exchange constants of deepep on mi300x assumed, 11 of 19: "));
  CHECK(assumptions({"plan.dispatcher=deepep", "plan.ep=1"}).empty());
  CHECK(assumptions({"plan.dispatcher=deepep", "cluster.gpu=h100_sxm"}).empty());
}

TEST_CASE("Documents shorten attention where they are kept apart, and MFU counts them whole",
          "[unit]") {
  const auto run = [](const std::vector<Override>& overrides) {
    return projected(data_root().folder / "examples/19_deepseek_v3_h100_deepep/experiment.yaml",
                     overrides);
  };
  const std::string of_512 = "training.documents.length=512";
  // torchtitan's own DeepSeek-V3 has FlexAttention, by its software set.
  const std::string flash = "software.attention=flash2";
  const Projection without = run({flash});
  const Projection apart = run({"software.attention=flex", of_512});
  CHECK(apart.flops_per_token == without.flops_per_token);
  // 4,096 tokens as 8 documents: (512 + 1) / (4,096 + 1) of the pairs.
  CHECK(apart.notes.back().find("12.5 %") != std::string::npos);
  CHECK(apart.time.step < run({"software.attention=flex"}).time.step);
  const Projection together = run({flash, of_512});
  CHECK(together.time.step == without.time.step);
  CHECK(together.notes.back().starts_with("documents see each other: flash2 through PyTorch"));
}

TEST_CASE("Tokens a second are the simulated batch over the simulated step", "[unit]") {
  for (const std::filesystem::path& file : shipped_experiments()) {
    INFO(file);
    const Projection p = projected(file);
    // mbs * micro-batches * dp sequences are what the step ran.
    const std::int64_t simulated = p.training.micro_batch_size * p.plan.micro_batches * p.plan.dp;
    CHECK(simulated == p.training.global_batch_size);
    const double tokens = static_cast<double>(simulated * p.training.sequence_length);
    CHECK(p.tokens_per_second_per_gpu ==
          Approx(tokens / p.time.step.value() / static_cast<double>(p.gpus)).epsilon(1e-12));
  }
}

TEST_CASE("The totals of a stage are the sum of its kinds, and the peak is the largest", "[unit]") {
  for (const std::filesystem::path& file : shipped_experiments()) {
    const nlohmann::ordered_json json = to_json(projected(file));
    double peak = 0.0;
    for (const auto& stage : json.at("memory_by_stage")) {
      double sum = 0.0;
      for (const char* key : {"parameters_bytes", "gradients_bytes", "optimizer_bytes",
                              "activations_bytes", "buffers_bytes"}) {
        sum += stage.at(key).get<double>();
      }
      CHECK(sum == Approx(stage.at("total_bytes").get<double>()));
      peak = std::max(peak, sum);
    }
    CHECK(json.at("peak_memory_bytes").get<double>() == Approx(peak));
  }
}

TEST_CASE("A global batch that is no whole number of micro-batches gets no rate", "[unit]") {
  const Projection p = projected(default_example(), {"training.global_batch_size=100"});
  CHECK_FALSE(p.feasible());
  CHECK_FALSE(p.priced);
  CHECK_FALSE(to_json(p).contains("tokens_per_second_per_gpu"));
  REQUIRE(p.reasons.size() == 1);
  CHECK(p.reasons.front() == "micro_batch_size * dp = 64 does not divide global_batch_size = 100");
}

TEST_CASE("What an import could not carry stands beside the verdict with all that it touches",
          "[unit]") {
  Experiment experiment = load_experiment(default_example(), {}, data_root());
  experiment.uncarried_savings = {{"offload_modules attn", MemoryPart::kActivations}};
  const Projection p = project(experiment, default_cost_model());
  const nlohmann::ordered_json json = to_json(p);
  const auto& saving = json.at("uncarried_savings").at(0);
  CHECK(saving.at("setting") == "offload_modules attn");
  CHECK(saving.at("of") == "activations");
  CHECK(saving.at("most_bytes") == p.fullest_stage()->activations.value());
  CHECK_THAT(to_text(p), test::contains_text("not counted: offload_modules attn, which lowers "
                                             "activations by "));
}

TEST_CASE("A missing plan gets a sensible one and says so", "[unit]") {
  const ConfigNode root = parse_config(
      "model: llama3.1_8b\ncluster: {gpu: h100_sxm, nodes: 2}\n"
      "training: {sequence_length: 4096, global_batch_size: 32}\n",
      "test");
  const Projection p = project(read_experiment(root, ".", data_root()), default_cost_model());
  CHECK(p.feasible());
  CHECK(p.plan.fsdp == 16);
  REQUIRE(p.notes.size() == 4);
  CHECK(p.notes.front().starts_with("no plan given"));
  CHECK(p.notes[1] == "dtype bf16 assumed: not given");
  CHECK(p.notes.back() == "host xeon_pytorch_2_11 assumed: no cluster.host is given");
}

TEST_CASE("A plan that does not fit is priced, and infeasible with the reason", "[unit]") {
  const Projection p =
      projected(default_example(), {"plan.fsdp=1", "plan.zero=0", "training.recompute=none"});
  CHECK(p.priced);
  CHECK_FALSE(p.feasible());
  REQUIRE_FALSE(p.reasons.empty());
  CHECK(p.reasons.front().find("of memory; mi300x has 192.0 GiB") != std::string::npos);
}

TEST_CASE("A locked clock moves computation and leaves communication", "[unit]") {
  const Projection slow = projected(default_example(), {"cluster.gpu_clock=1200 MHz"});
  const Projection fast = projected(default_example(), {"cluster.gpu_clock=2100 MHz"});
  CHECK(fast.time.breakdown.compute < slow.time.breakdown.compute);
  const auto all_communication = [](const Projection& p) {
    return (p.time.breakdown.communication() + p.time.hidden.communication()).value();
  };
  CHECK(all_communication(fast) == Approx(all_communication(slow)).epsilon(1e-12));
}

TEST_CASE("A power limit replaces the part's own and must leave power for work", "[unit]") {
  const auto limited = [](const std::string& limit) {
    return load_experiment(default_example(), {"cluster.power_limit=" + limit}, data_root());
  };
  CHECK(limited("500 W").cluster.device.power.limit == Watts(500));
  CHECK(stepcast::test::config_error([&] {
          limited("10 W");
        }).find("'cluster.power_limit' must be above what the GPU draws without work") !=
        std::string::npos);
}

// ZeRO 2 scatters gradients in every micro-batch, here longer than the next one takes: the stream
// that carries them is what the step waits for, and hides no more than the step.
TEST_CASE("A step is no shorter than its stream of gradients takes", "[unit]") {
  const std::vector<Override> slow = {"plan={zero: 2}", "cluster.nic_rate=1 GB/s",
                                      "training.micro_batch_size=1"};
  const StepTime time = projected(default_example(), slow).time;
  const Seconds hidden = time.hidden.exposed[slot(Axis::kData)];
  const Seconds exposed = time.breakdown.exposed[slot(Axis::kData)];
  CHECK(exposed > 0.5 * time.step);
  CHECK(hidden + exposed <= time.step);
}

TEST_CASE("Twice the nodes never need more memory a GPU", "[property]") {
  const auto nodes = GENERATE(1, 2, 4, 8, 16);
  const auto set = [](int n) {
    return std::vector<Override>{"cluster.nodes=" + std::to_string(n),
                                 "plan.fsdp=" + std::to_string(8 * n),
                                 "training.global_batch_size=1024"};
  };
  CHECK(projected(default_example(), set(2 * nodes)).peak_memory() <=
        projected(default_example(), set(nodes)).peak_memory());
}

TEST_CASE("More of any resource never makes a step slower", "[property]") {
  const auto scaled = [](const std::function<void(DeviceSpec&)>& change) {
    Experiment experiment = load_experiment(
        data_root().folder / "examples/12_llama3.1_405b_h100/experiment.yaml", {}, data_root());
    change(experiment.cluster.device);
    return project(experiment, default_cost_model()).time.step;
  };
  const Seconds base = scaled([](DeviceSpec&) {});
  CHECK(scaled([](DeviceSpec& d) { d.hbm.achieved = 2.0 * d.hbm.achieved; }) < base);
  CHECK(scaled([](DeviceSpec& d) { d.scale_up.link_rate = 2.0 * d.scale_up.link_rate; }) < base);
  CHECK(scaled([](DeviceSpec& d) { d.scale_out.nic_rate = 2.0 * d.scale_out.nic_rate; }) < base);
  CHECK(scaled([](DeviceSpec& d) { d.compute_units *= 2; }) < base);
  CHECK(scaled([](DeviceSpec& d) { d.launch_latency = 0.5 * d.launch_latency; }) < base);
}

TEST_CASE("The breakdown never beats what computation alone needs", "[property]") {
  for (const std::filesystem::path& file : shipped_experiments()) {
    INFO(file);
    const Projection p = projected(file);
    // Model FLOPs at the peak of the part are a lower bound, and so MFU is below 1.
    CHECK(p.mfu > 0.0);
    CHECK(p.mfu < 1.0);
  }
}

namespace {

bool says(const std::vector<std::string>& texts, const std::string& part) {
  return std::any_of(texts.begin(), texts.end(), [&part](const std::string& text) {
    return text.find(part) != std::string::npos;
  });
}

Projection projected_text(const std::string& text) {
  return project(read_experiment(parse_config(text, "test"), {}, data_root()),
                 default_cost_model());
}

}  // namespace

TEST_CASE("Without software a GPU gets the usual set of its vendor, and the report says so",
          "[unit]") {
  const std::string rest =
      "model: llama3.1_8b\ntraining: {sequence_length: 4096, global_batch_size: 64}\n";
  for (const auto& [gpu, software] :
       {std::pair{"mi300x", "primus_turbo"}, std::pair{"mi355x", "primus_turbo"},
        std::pair{"h100_sxm", "megatron"}}) {
    CAPTURE(gpu);
    const Projection p = projected_text(rest + "cluster: {gpu: " + gpu + "}\n");
    CHECK(p.software == software);
    CHECK(says(p.notes, "software " + std::string(software) + " assumed"));
    const Projection named = projected_text(rest + "cluster: {gpu: " + gpu +
                                            "}\nsoftware: " + std::string(software) + "\n");
    CHECK_FALSE(says(named.notes, "software"));
    CHECK(named.time.step == p.time.step);
  }
}

TEST_CASE("A locked clock that the power limit cannot hold is a reason why a plan cannot run",
          "[unit]") {
  const Projection p = projected(default_example(), {"cluster.gpu_clock=2100 MHz"});
  CHECK(p.priced);
  CHECK_FALSE(p.feasible());
  CHECK(says(p.reasons, "more than the limit of 750 W: the part could not keep this clock"));
  CHECK(projected(default_example(), {"cluster.gpu_clock=1000 MHz"}).feasible());
  // Without a lock the clock is one that the limit allows, and locked at it the part keeps it.
  const Projection free = projected(default_example());
  CHECK(free.feasible());
  const std::string clock = std::to_string(free.clock.value()) + " Hz";
  CHECK(projected(default_example(), {"cluster.gpu_clock=" + clock}).feasible());
}

TEST_CASE("A power limit above the part's own is said to be", "[unit]") {
  CHECK(says(projected(default_example(), {"cluster.power_limit=1000 W"}).notes,
             "power limit 1 kW taken at its word: the part's own is 750 W"));
  CHECK_FALSE(says(projected(default_example(), {"cluster.power_limit=750 W"}).notes, "power"));
}

TEST_CASE("An oversubscription that no collective meets is said to change nothing", "[unit]") {
  const std::vector<Override> oversubscribed = {"cluster.nodes_per_pod=8",
                                                "cluster.oversubscription=4"};
  const Projection inside = projected(default_example(), oversubscribed);
  CHECK(
      says(inside.notes, "oversubscription 4:1 changes nothing: no collective leaves a pod of 8"));
  CHECK(inside.time.step == projected(default_example()).time.step);
  const Projection across =
      projected(default_example(), {"cluster.nodes_per_pod=4", "cluster.oversubscription=4"});
  CHECK_FALSE(says(across.notes, "oversubscription"));
  CHECK(across.time.step > inside.time.step);
}

TEST_CASE("MFU under the mask leaves out less than half of attention", "[unit]") {
  const Projection p = projected(default_example());
  CHECK(p.masked_mfu < p.mfu);
  CHECK(p.masked_mfu > 0.9 * p.mfu);
}

}  // namespace stepcast::project_test
