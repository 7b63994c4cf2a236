// SPDX-License-Identifier: Apache-2.0
// Experiments over every GPU, model, software set and plan there is, drawn at random.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "property/random_choice.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast::test {

class RandomExperiments : public RandomChoice {
 public:
  RandomExperiments(const Simulator& simulator, std::uint64_t seed)
      : RandomExperiments(simulator, RandomChoice(seed)) {}
  RandomExperiments(const Simulator& simulator, RandomChoice draw)
      : RandomChoice(std::move(draw)),
        gpus_(simulator.list(Listing::kGpu)),
        models_(simulator.list(Listing::kModel)),
        software_(simulator.list(Listing::kSoftware)),
        schedules_(simulator.list(Listing::kSchedule)),
        dispatchers_(simulator.list(Listing::kDispatcher)) {}

  // About a third of what is drawn is refused, as a plan that does not divide is; draw again.
  ExperimentSource next() {
    ExperimentSource drawn{.text = "model: " + any(models_) + "\n"};
    const auto set = [&drawn](const std::string& key, const std::string& value) {
      drawn = drawn.with(key, value);
    };
    set("cluster.gpu", any(gpus_));
    set("cluster.nodes", any({"1", "1", "2", "4", "8", "16", "32"}));
    set("software", any(software_));
    set("training.sequence_length", any({"2048", "4096", "4096", "8192", "16384"}));
    set("training.micro_batch_size", any({"1", "1", "1", "2", "4"}));
    set("training.global_batch_size", any({"32", "64", "128", "256", "512", "1024"}));
    set("training.dtype", any({"bf16", "bf16", "bf16", "fp8", "fp8_block", "fp4"}));
    set("training.recompute", any({"none", "none", "selective", "full"}));
    set("plan.tp", any({"1", "1", "2", "4", "8"}));
    set("plan.cp", any({"1", "1", "1", "2", "4"}));
    set("plan.zero", any({"0", "1", "1", "2", "3", "3"}));
    draw_pipeline(set);
    draw_exchange(set);
    draw_rarer(set);
    return drawn;
  }

 private:
  template <typename Set>
  void draw_pipeline(const Set& set) {
    const std::string ranks = any({"1", "1", "1", "2", "4", "8"});
    set("plan.pp", ranks);
    if (ranks != "1") {
      const std::string schedule = any(schedules_);
      set("plan.schedule", schedule);
      if (schedule.starts_with("interleaved")) {
        set("plan.vpp", any({"2", "4"}));
      }
    }
  }
  // Of dense models these keys are refused.
  template <typename Set>
  void draw_exchange(const Set& set) {
    if (one_in(2)) {
      return;
    }
    set("plan.ep", any({"2", "4", "8", "16", "32"}));
    set("plan.dispatcher", any(dispatchers_));
    if (one_in(4)) {
      set("expert_exchange.routing", "zipf");
      set("expert_exchange.zipf_exponent", any({"0.1", "0.3", "0.5", "1"}));
    }
  }
  template <typename Set>
  void draw_rarer(const Set& set) {
    if (one_in(4)) {
      set("plan.cp_algorithm", any({"ring", "all_gather", "all_to_all", "all_to_all_ring"}));
    }
    if (one_in(8)) {
      set("plan.sequence_parallel", any({"true", "false"}));
    }
    if (one_in(8)) {
      set("plan.hsdp", any({"4", "8", "16"}));
    }
    if (one_in(12)) {
      set("plan.overlap", "uniform");
    }
    if (one_in(8)) {
      set("cluster.oversubscription", any({"2", "4"}));
      set("cluster.nodes_per_pod", any({"1", "2", "4"}));
    }
    if (one_in(8)) {
      set("cluster.power_limit", any({"450 W", "600 W", "800 W"}));
    }
    if (one_in(8)) {
      set("cluster.gpu_clock", any({"1000 MHz", "1200 MHz", "1400 MHz"}));
    }
    if (one_in(3)) {
      set("training.optimizer",
          any({"sgd", "adafactor", "muon", "{kind: adamw, moments: 8bit}",
               "{kind: adamw, moments: bf16, offload: {share: 0.5, overlap: true}}",
               "{kind: muon, sharding: gather, tp_mode: distributed}",
               "{kind: muon, qkv: joint, tp_mode: blockwise, momentum_dtype: bf16}"}));
    }
  }

  std::vector<std::string> gpus_;
  std::vector<std::string> models_;
  std::vector<std::string> software_;
  std::vector<std::string> schedules_;
  std::vector<std::string> dispatchers_;
};

}  // namespace stepcast::test
