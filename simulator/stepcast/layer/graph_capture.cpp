// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/graph_capture.hpp"

#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/layer/exchange_rules.hpp"

namespace stepcast {
namespace {

// Every expert has the rows of its capacity, whatever the routing.
bool fixed_rows(const ExchangeSpec& spec) {
  return model_of(carried_by(spec)).pads_to_capacity &&
         receive_buffer_of(spec) == ReceiveBuffer::kCapacity;
}

}  // namespace

std::vector<CaptureBlocker> capture_blockers(const ModelSpec& model, const ParallelPlan& plan,
                                             const SoftwareSpec& software) {
  std::vector<CaptureBlocker> blockers;
  const ExchangeSpec& spec = plan.exchange;
  if (model.moe && plan.ep > 1) {
    if (cpu_sync_of(spec) == CpuSync::kBlocking) {
      blockers.push_back(CaptureBlocker::kHostReadsRows);
    }
    if (receive_buffer_of(spec) == ReceiveBuffer::kDynamic) {
      blockers.push_back(CaptureBlocker::kDynamicRows);
    }
  }
  if (model.moe && software.grouped_gemm != GroupedGemmMode::kTurbo && !fixed_rows(spec)) {
    blockers.push_back(CaptureBlocker::kExpertsOneByOne);
  }
  if (software.checks_gradients) {
    blockers.push_back(CaptureBlocker::kChecksGradients);
  }
  return blockers;
}

}  // namespace stepcast
