// SPDX-License-Identifier: Apache-2.0
// The projected step of one rank as a trace of PyTorch's profiler (Kineto), for Perfetto, TraceLens
// and whatever else reads those:
//
//   {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":10000,"tid":10000,"ts":1000012.345,...}
//   {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel",...,"args":{...,"correlation":7}}
//   {"ph":"s","id":7,...,"cat":"ac2g"}  {"ph":"f","id":7,...,"cat":"ac2g","bp":"e"}
//   {"ph":"X","cat":"kernel","name":"nvjet_sm90_bf16_TNT","pid":0,"tid":7,...}
//
// Which event is what: README.md of this folder. Everything is taken from the step's timeline
// (schedule/placed_step.hpp) at the clock of the projection; when the host calls what is the one
// thing that the timeline leaves open (device_slices.hpp). Ranks that differ in tp, cp or dp alone
// run the same and differ in the ranks of their groups. The step of the trace is that at the clock
// of the projection exactly, which StepTimer::near is up to 0.6 % off from.
//
// The text is handed on in pieces as it is made: what is held is a few dozen bytes a kernel.
#pragma once

#include <functional>
#include <string_view>

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// Takes the next piece of the text.
using TextSink = std::function<void(std::string_view)>;

// The pipeline rank of a rank of the world, which are numbered in the order of the plan.
std::int64_t pipeline_rank(const ParallelPlan& plan, std::int64_t rank);

// `projection` is that of `experiment` with `cost`, and priced; 0 <= rank < plan.world(). Throws
// ConfigError for a step of more kernels than a trace may have.
void write_step_trace(const Experiment& experiment, const Projection& projection,
                      const CostModel& cost, std::int64_t rank, const TextSink& sink);

}  // namespace stepcast
