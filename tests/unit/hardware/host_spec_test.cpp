// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/cluster_spec.hpp"

#include <fstream>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/experiment/project.hpp"
#include "text_file.hpp"

namespace stepcast::host_spec_test {
namespace {

const Location kHere{"test", 0, 0};

Experiment experiment(const std::string& cluster, const std::string& software) {
  const std::string text = "model: llama3.2_1b\ncluster: {gpu: h200_sxm, nodes: 1, " + cluster +
                           "}\ntraining: {sequence_length: 2048, micro_batch_size: 1, "
                           "global_batch_size: 8}\nplan: {zero: 3}\nsoftware: " +
                           software + "\n";
  return read_experiment(parse_config(text, "test"), {}, test::data_root());
}

bool says(const Projection& projection, const std::string& text) {
  return std::any_of(projection.notes.begin(), projection.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST_CASE("Every shipped host is read, and every number says where it is from", "[unit]") {
  for (const std::string& name : names_in(test::data_root().hosts())) {
    CAPTURE(name);
    const HostSpec host = load_named_host(name, test::data_root(), kHere);
    CHECK(host.name == name);
    CHECK(host.eager_call > host.eager_kernel);
    CHECK(host.unit_backward > host.unit_forward);
    CHECK(host.provenance.size() >= 13);
  }
}

TEST_CASE("A host of a base takes longer for all calls, and its memory is as fast", "[unit]") {
  const HostSpec base = load_named_host("xeon_pytorch_2_11", test::data_root(), kHere);
  const HostSpec host = load_named_host("grace_pytorch_2_11", test::data_root(), kHere);
  CHECK(host.eager_call.value() == Approx(1.25 * base.eager_call.value()));
  CHECK(host.unit_backward.value() == Approx(1.25 * base.unit_backward.value()));
  CHECK(host.core_memory == base.core_memory);
  CHECK(host.update_cores == base.update_cores);
}

// A base that had a base could lead back to where it began.
TEST_CASE("A host's base is another one, and has all numbers itself", "[unit]") {
  const std::string rest = "title: T\nframework: F\nslower: {value: 2, assumed: a}\n";
  const auto problem = [&](const std::string& base_of_first, const std::string& base_of_second) {
    const test::TextFile first("first.yaml", "");
    const test::TextFile second("second.yaml", "");
    const auto write = [&](const std::filesystem::path& file, const std::string& base) {
      const auto name_of = [](const std::filesystem::path& of) { return of.stem().string(); };
      const std::string named = base == "first" ? name_of(first.path()) : name_of(second.path());
      std::ofstream(file) << "name: " << name_of(file) << "\nbase: " << named << "\n" << rest;
    };
    write(first.path(), base_of_first);
    write(second.path(), base_of_second);
    try {
      (void)load_host(first.path(), {});
      return std::string();
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
  };
  CHECK_THAT(problem("first", "first"), test::contains_text("names no other host"));
  CHECK_THAT(problem("second", "first"), test::contains_text("is itself a base"));
}

TEST_CASE("An unknown host is an error with the nearest name", "[unit]") {
  try {
    (void)experiment("host: xeon_pytorch_2_1", "pytorch_compiled");
    FAIL("there is none of that name");
  } catch (const ConfigError& error) {
    CHECK_THAT(error.what(), test::contains_text("did you mean 'xeon_pytorch_2_11'"));
  }
}

TEST_CASE("A report says which host it assumes, where the host matters", "[case]") {
  const CostModel cost = default_cost_model();
  const std::string note = "host xeon_pytorch_2_11 assumed";
  CHECK(says(project(experiment("gpus_per_node: 2", "pytorch_compiled"), cost), note));
  CHECK_FALSE(says(project(experiment("host: xeon_pytorch_2_11", "pytorch_compiled"), cost), note));
  CHECK_FALSE(says(project(experiment("gpus_per_node: 2", "maxtext"), cost), note));
}

// The step of a small model takes its host's time, whatever the GPU.
TEST_CASE("A short step of FSDP2 takes its host longer than its device", "[case]") {
  const CostModel cost = default_cost_model();
  Experiment short_step = experiment("gpus_per_node: 2", "pytorch_compiled");
  const Projection bound = project(short_step, cost);
  CHECK(bound.time.breakdown.host > 0.3 * bound.time.step);
  short_step.cluster.host = HostSpec{};
  const Projection free = project(short_step, cost);
  CHECK(free.time.breakdown.host == Seconds{});
  CHECK(free.time.step < 0.7 * bound.time.step);
}

}  // namespace
}  // namespace stepcast::host_spec_test
