// SPDX-License-Identifier: Apache-2.0
// A loop over plans through the library's one header: Llama 3.1 70B on 64 H100, divided by tensor
// and pipeline parallelism, a line each.
//
//   tp  pp  tokens/s/GPU  step time s     MFU  peak GiB
//    1   1             -            -       -         -  micro_batch_size * dp = 64 does not ...
//    2   4         701.2        11.68  33.5 %      61.4
#include <cstdio>
#include <string>

#include <stepcast/stepcast.hpp>

namespace {

constexpr const char* kExperiment = R"(
model: llama3.1_70b
cluster: {gpu: h100_sxm, nodes: 8}
training: {sequence_length: 8192, micro_batch_size: 1, global_batch_size: 64, dtype: bf16}
plan: {zero: 1}
)";

void print_line(const std::string& tp, const std::string& pp,
                const stepcast::StepProjection& step) {
  std::printf("%4s%4s", tp.c_str(), pp.c_str());
  if (step.numbers) {
    std::printf("%14.1f%13.2f%6.1f %%%10.1f", step.numbers->tokens_per_second_per_gpu,
                step.numbers->step_time_s, 100.0 * step.numbers->mfu,
                step.numbers->peak_memory_bytes / 1024.0 / 1024.0 / 1024.0);
  } else {
    std::printf("%14s%13s%8s%10s", "-", "-", "-", "-");
  }
  std::printf("%s%s\n", step.feasible ? "" : "  ",
              step.feasible ? "" : step.reasons.front().c_str());
}

void print_table(const stepcast::Simulator& simulator) {
  const stepcast::ExperimentSource experiment{.text = kExperiment};
  std::printf("  tp  pp  tokens/s/GPU  step time s     MFU  peak GiB\n");
  for (const std::string tp : {"1", "2", "4", "8"}) {
    for (const std::string pp : {"1", "2", "3", "4"}) {
      const stepcast::ExperimentSource plan = experiment.with("plan.tp", tp).with("plan.pp", pp);
      print_line(tp, pp, simulator.project(plan));
    }
  }
}

}  // namespace

int main() {
  try {
    print_table(stepcast::Simulator(stepcast::installed_data()));
    return 0;
  } catch (const stepcast::InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
