// SPDX-License-Identifier: Apache-2.0
// One sample for each kind of parallelism, for what must hold for all of them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sample_specs.hpp"

namespace stepcast::test {

struct NamedPlan {
  std::string name;
  Sample sample;
};

inline std::vector<NamedPlan> step_plans() {
  std::vector<NamedPlan> plans;
  const auto add = [&](const std::string& name, Sample sample,
                       const std::function<void(Sample&)>& change) {
    change(sample);
    plans.push_back({name, std::move(sample)});
  };
  add("one GPU", dense_sample(), [](Sample&) {});
  add("tp", dense_sample(), [](Sample& s) { s.plan.tp = 4; });
  add("tp sp", dense_sample(), [](Sample& s) {
    s.plan.tp = 4;
    s.plan.sequence_parallel = true;
  });
  add("cp", dense_sample(), [](Sample& s) { s.plan.cp = 4; });
  add("dp", dense_sample(), [](Sample& s) { s.plan.dp = 16; });
  add("zero 1", dense_sample(), [](Sample& s) {
    s.plan.dp = 16;
    s.plan.zero = 1;
  });
  add("fsdp", dense_sample(), [](Sample& s) {
    s.plan.dp = 16;
    s.plan.zero = 3;
    s.plan.fsdp = 16;
  });
  add("pp", dense_sample(), [](Sample& s) { set_pipeline(s, 4, 1); });
  add("vpp", dense_sample(), [](Sample& s) { set_pipeline(s, 4, 2); });
  for (const Schedule schedule : {Schedule::kZbH1, Schedule::kZbV, Schedule::kDualPipe}) {
    add(std::string(name(schedule)), dense_sample(), [schedule](Sample& s) {
      set_pipeline(s, 4, schedule == Schedule::kZbV ? 2 : 1);
      s.plan.schedule = schedule;
    });
  }
  add("ep", moe_sample(), [](Sample& s) {
    s.plan.dp = 16;
    s.plan.ep = 8;
    s.plan.edp = 2;
  });
  for (const Dispatcher dispatcher :
       {Dispatcher::kAllGather, Dispatcher::kDeepEp, Dispatcher::kHybridEp, Dispatcher::kSonic,
        Dispatcher::kMinimalAsyncEp}) {
    add("ep by " + std::string(name(dispatcher)), moe_sample(), [dispatcher](Sample& s) {
      s.plan.dp = 16;
      s.plan.ep = 8;
      s.plan.edp = 2;
      s.plan.exchange.dispatcher = dispatcher;
    });
  }
  add("ep side by side", moe_sample(), [](Sample& s) {
    s.plan.dp = 16;
    s.plan.ep = 8;
    s.plan.edp = 2;
    s.software.ep_overlap = true;
  });
  for (const Schedule schedule : {Schedule::kInterleaved, Schedule::kDualPipe}) {
    add("ep side by side, " + std::string(name(schedule)), moe_sample(), [schedule](Sample& s) {
      set_pipeline(s, 4, schedule == Schedule::kInterleaved ? 2 : 1);
      s.plan.schedule = schedule;
      s.plan.dp = 8;
      s.plan.ep = 8;
      s.software.ep_overlap = true;
    });
  }
  add("full recomputation", dense_sample(),
      [](Sample& s) { s.training.recompute.kind = RecomputeKind::kFull; });
  return plans;
}

}  // namespace stepcast::test
