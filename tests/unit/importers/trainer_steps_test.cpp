// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "catch.hpp"
#include "importers/measurement_files.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/validation/measured_row.hpp"

namespace stepcast::trainer_steps_test {
namespace {

std::string titan(const std::string& model, const std::string& flavor, const std::string& changes,
                  const std::string& more = R"("step_s": 0.5, "peak_alloc_bytes": [7e9, 8e9])") {
  return R"({"case": "a", "framework": "torchtitan 2026-03-20 34f705ba4", "torch": "2.11.0", )"
         R"("gpu": "NVIDIA H100 80GB HBM3", "world": 2, "steps": 9, "synced_s": 0.5, )" +
         more + R"(, "model": ")" + model + R"(", "flavor": ")" + flavor + R"(", "changes": {)" +
         changes + "}}\n";
}

std::string hugging_face(const std::string& software, const std::string& settings = "") {
  return R"({"case": "hf_8b_6l", "framework": "transformers 5.17.0 Trainer, accelerate 1.15.0", )" +
         software + R"("torch": "2.11.0", "gpu": "NVIDIA H100 80GB HBM3", "world": 2, )"
         R"("layers": 6, "seq": 4096, "batch": 2, "settings": {"n": 2)" + settings +
         R"(}, "step_s": 0.25, "peak_alloc_bytes": null})" "\n";
}

std::vector<RecordLine> read(const std::string& text) {
  ProfileCache profiles(test::data_root());
  return import_records(text, "steps.jsonl", profiles);
}

Record record_of(const std::string& text) { return read(text).front().record; }

// Written as YAML, without what an experiment has besides its settings.
Experiment experiment_of(const std::string& yaml) {
  ProfileCache profiles(test::data_root());
  return read_experiment(parse_config(yaml, "experiment.yaml"), ".", profiles);
}

Experiment experiment_in(const std::string& text) {
  ProfileCache profiles(test::data_root());
  const MeasuredRow row = read_imported(read(text).front(), profiles);
  return std::get<MeasuredRun>(row).experiment.value();
}

void check_same(const Experiment& read, const Experiment& expected) {
  CHECK(read.model.layers == expected.model.layers);
  CHECK(read.model.mtp_layers == expected.model.mtp_layers);
  CHECK(read.model.moe == expected.model.moe);
  CHECK(read.model.attention == expected.model.attention);
  CHECK(to_yaml(read.training) == to_yaml(expected.training));
  CHECK(read.plan == expected.plan);
  CHECK(read.cluster.gpus() == expected.cluster.gpus());
  CHECK(read.software == expected.software);
}

}  // namespace
}  // namespace stepcast::trainer_steps_test
