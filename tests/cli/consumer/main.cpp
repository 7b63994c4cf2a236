// SPDX-License-Identifier: Apache-2.0
// The smallest program that links the installed library: prints tokens/s/GPU of an experiment.
#include <cstdio>

#include "backends/builtin_backends.hpp"
#include "stepcast/experiment/project.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    return 2;
  }
  const stepcast::DataRoot data{argv[1]};
  const auto file = data.folder / "examples/01_llama3.1_70b_mi300x/experiment.yaml";
  const stepcast::Experiment experiment = stepcast::load_experiment(file, {}, data);
  const stepcast::Projection projection =
      stepcast::project(experiment, stepcast::default_cost_model());
  std::printf("%.1f\n", projection.tokens_per_second_per_gpu);
  return projection.feasible ? 0 : 3;
}
