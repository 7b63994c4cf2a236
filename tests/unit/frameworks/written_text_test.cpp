// SPDX-License-Identifier: Apache-2.0
#include "frameworks/written_text.hpp"

#include "catch.hpp"
#include "frameworks/exported_file.hpp"
#include "frameworks/framework_table.hpp"
#include "import_of.hpp"

namespace stepcast::written_text_test {
namespace {

using namespace stepcast::test;

// Llama 3 8B with a layer less, which no shipped model has, under a name; and a plan.
ConfigNode experiment_of(const std::string& model_name, const std::string& plan) {
  ConfigNode model = load_config(data_root().models() / "llama3_8b.yaml");
  ConfigNode root = parse_config(
      "model: {}\ncluster: {gpu: h100_sxm, nodes: 1}\n"
      "training: {sequence_length: 4096, global_batch_size: 64}\n"
      "plan: " +
          plan + "\n",
      "mine.yaml");
  root.entries.front().value = std::move(model);
  apply_override(root, "model.layers=31");
  apply_override(root, "model.name=" + quoted_text(model_name));
  return root;
}

std::vector<const FrameworkInfo*> writers_of_any_model() {
  std::vector<const FrameworkInfo*> writers;
  for (const FrameworkInfo& framework : frameworks()) {
    if (framework.export_to != nullptr && framework.name != "megatron_bridge") {
      writers.push_back(&framework);
    }
  }
  return writers;
}

TEST_CASE("a text in quotes is the same to TOML, YAML and JSON", "[unit]") {
  CHECK(quoted_text("a") == R"("a")");
  CHECK(quoted_text(R"(a"b\c)") == R"("a\"b\\c")");
  CHECK(quoted_text("\x01") == R"("\u0001")");
  CHECK(quoted_text("\xC3\xA9") == "\"\xC3\xA9\"");
}

TEST_CASE("a value of YAML is plain where it can be nothing else", "[unit]") {
  CHECK(yaml_value("1e-3") == "1e-3");
  CHECK(yaml_value("core_attn") == "core_attn");
  CHECK(yaml_value("a: b") == R"("a: b")");
  CHECK(yaml_value("@a") == R"("@a")");
  CHECK(yaml_value("").size() == 2);
}

TEST_CASE("an argument of a shell is not obeyed", "[unit]") {
  CHECK(shell_argument("adam") == "adam");
  CHECK(shell_argument(R"(a"b$(x)`y`\)") == R"("a\"b\$(x)\`y\`\\")");
  CHECK(shell_argument("a b") == R"("a b")");
  CHECK(shell_arguments("core_attn mlp") == "core_attn mlp");
  CHECK(shell_arguments("Et*8|t*8L") == R"("Et*8|t*8L")");
}

TEST_CASE("the name of a file leads to no other folder", "[unit]") {
  CHECK(file_name_of("llama3.1_8b-x") == "llama3.1_8b-x");
  CHECK(file_name_of("../ESC") == "_._ESC");
  CHECK(file_name_of("/tmp/x") == "_tmp_x");
  CHECK(file_name_of("a b:c\\d") == "a_b_c_d");
  CHECK(file_name_of(std::string(1000, 'x')).size() == 100);
}

TEST_CASE("a model of any name goes out to every framework and comes back under it", "[unit]") {
  const std::string name = GENERATE(R"(a"b)", R"(a\b)", "a'b", "a$(x)`y`", "@a", "*", "&x", "!t",
                                    "{x}", "a: b", "a #b", "null", "true", "12", "a}b", " a ",
                                    "../ESC", "/tmp/x", "stepcast: plan.tp=4", "\xC3\xA9");
  for (const FrameworkInfo* writer : writers_of_any_model()) {
    CAPTURE(name, writer->name);
    const ConfigNode root = experiment_of(name, "{tp: 2}");
    const std::vector<ExportedFile> files = exported(*writer, root, {}, data_root());
    CHECK(files.front().name.find('/') == std::string::npos);
    const ConfigNode back =
        writer->import_from(input_of(files.front().text, files.front().name)).experiment;
    const Experiment imported = read_experiment(back, {}, data_root());
    CHECK(imported.model.name == name);
    CHECK(imported.plan.tp == 2);
  }
}

TEST_CASE("a plan without a degree goes out to every framework and comes back", "[unit]") {
  for (const FrameworkInfo* writer : writers_of_any_model()) {
    CAPTURE(writer->name);
    const ConfigNode root = experiment_of("mine", "{}");
    const std::vector<ExportedFile> files = exported(*writer, root, {}, data_root());
    const ConfigNode back =
        writer->import_from(input_of(files.front().text, files.front().name)).experiment;
    CHECK(read_experiment(back, {}, data_root()).plan.fsdp ==
          read_experiment(root, {}, data_root()).plan.fsdp);
  }
}

}  // namespace
}  // namespace stepcast::written_text_test
