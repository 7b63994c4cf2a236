// SPDX-License-Identifier: Apache-2.0
// The recipe of configs/frameworks/README.md, performed: a framework whose words are drawn has a
// table, a row of formats, a reader, a writer and a row in the list of frameworks.
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "frameworks/file_formats.hpp"
#include "frameworks/framework_table.hpp"
#include "frameworks/framework_words.hpp"
#include "frameworks/job_size.hpp"
#include "frameworks/megatron_core.hpp"
#include "frameworks/megatron_writer.hpp"
#include "frameworks/trainer_files.hpp"
#include "import_of.hpp"
#include "sample_specs.hpp"
#include "text_file.hpp"

namespace stepcast::drawn_framework_test {
namespace {

namespace fs = std::filesystem;
using test::contains_text;
using test::data_root;
using test::value_of;

// --- step 3: what reads and what writes its files, whose fields are those of Megatron Core
// ---------

ImportedExperiment import_drawn(const ImportInput& input) {
  const FrameworkWords words = load_framework_words(input.data, "drawn");
  Diagnostics diagnostics;
  FrameworkReader settings(words.as_fields(flat_settings(yaml_of(input), {})), diagnostics);
  words.read_rest(settings);
  MegatronSource source;
  source.model = megatron_default_model();
  source.software = "megatron_plain";
  source.whole_file = {input.file, 0, 0};
  source.gpus = cluster_gpus(input, {}, {}, {});
  FrameworkExperiment parts =
      read_megatron(settings, source, megatron_words(input.data), input.unknown);
  diagnostics.throw_if_any();
  return assembled(std::move(parts), input);
}

std::vector<ExportRefusal> why_not_drawn(const ExportInput& input) {
  return megatron_refusals(input, MegatronDialect::kMegatron);
}

std::vector<ExportedFile> export_drawn(const ExportInput& input) {
  constexpr MegatronDialect kDialect = MegatronDialect::kMegatron;
  const FrameworkWords words = load_framework_words(input.data, "drawn");
  const FrameworkWords core = megatron_words(input.data);
  std::string text;
  for (const std::vector<Setting>& fields :
       {megatron_model_fields(input.experiment.model, kDialect),
        megatron_training_fields(input.experiment),
        megatron_plan_fields(input.experiment, input.plan, core, kDialect),
        megatron_software_fields(input.experiment, input.plan, kDialect)}) {
    for (const Setting& field : fields) {
      const Setting written = words.as_argument(field).value_or(field);
      text += written.name + ": " + written.value.text + "\n";
    }
  }
  return {{"drawn.yaml", std::move(text)}};
}

// --- step 4: its row in the list of frameworks
// ------------------------------------------------------

constexpr FrameworkInfo kDrawn{"drawn",
                               "a configuration of a drawn framework",
                               "import drawn drawn.yaml",
                               import_drawn,
                               export_drawn,
                               why_not_drawn,
                               "the same"};

// --- steps 1 and 2: its table and its row of formats, in a data folder of their own
// -----------------

struct DrawnWords {
  std::string tensor;
  std::string heads;
  std::string precision;
  std::string harmless;
  std::string unpriced;
  std::string foreign;
};

DrawnWords drawn_words(unsigned seed) {
  std::mt19937 draw(seed);
  std::vector<std::string> names;
  for (int i = 0; i < 6; ++i) {
    std::string name = "q" + std::to_string(i);  // no two are the same, and none is Megatron's
    for (int letter = 0; letter < 8; ++letter) {
      name += static_cast<char>('a' + draw() % 26);
    }
    names.push_back(name);
  }
  return {names[0], names[1], names[2], names[3], names[4], names[5]};
}

std::string table_of(const DrawnWords& words) {
  return "name: drawn\nread_from: [{repository: a/b, commit: abc, date: 2026-01-01}]\nwords:\n"
         "  - {theirs: " +
         words.tensor +
         ", is: tensor_model_parallel_size}\n"
         "  - {theirs: " +
         words.heads +
         ", is: num_attention_heads}\n"
         "  - {theirs: " +
         words.precision +
         ", is: bf16, values: {half: true, full: false}}\n"
         "  - {theirs: " +
         words.harmless +
         ", else: no effect}\n"
         "  - {theirs: " +
         words.unpriced +
         ", else: \"changes the result: it is drawn\"}\n"
         "  - {theirs: " +
         words.foreign + ", else: \"refused: nothing here is drawn\"}\n";
}

// A data folder that has all that ships, and the table of the drawn framework.
class DrawnData {
 public:
  explicit DrawnData(const std::string& table) : folder_(test::scratch_path("drawn_framework")) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "configs/frameworks");
    fs::create_directory_symlink(data_root().folder / "hardware_profiles",
                                 folder_ / "hardware_profiles");
    for (const char* part : {"configs", "configs/frameworks"}) {
      for (const auto& entry : fs::directory_iterator(data_root().folder / part)) {
        if (entry.path().filename() != "frameworks") {
          fs::create_symlink(entry.path(), folder_ / part / entry.path().filename());
        }
      }
    }
    std::ofstream(folder_ / "configs/frameworks/drawn.yaml") << table;
  }
  DrawnData(const DrawnData&) = delete;
  DrawnData& operator=(const DrawnData&) = delete;
  ~DrawnData() { fs::remove_all(folder_); }

  [[nodiscard]] DataRoot root() const { return {folder_}; }

 private:
  fs::path folder_;
};

ImportInput input_of(const std::string& text, const DataRoot& data) {
  ImportInput input = test::input_of(text, "drawn.yaml");
  input.data = data;
  return input;
}

constexpr const char* kExperiment =
    "model: llama3.1_8b\n"
    "cluster: {gpu: h100_sxm, nodes: 2}\n"
    "training: {sequence_length: 8192, global_batch_size: 128, micro_batch_size: 1}\n"
    "plan: {tp: 2, pp: 2}\n"
    "software: megatron_plain\n";

TEST_CASE("a framework is added by a table, a row of formats, a reader, a writer and a row",
          "[unit]") {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const DrawnWords words = drawn_words(seed);
    INFO(words.tensor);
    const DrawnData data(table_of(words));
    const std::vector<ExportedFile> files =
        exported(kDrawn, parse_config(kExperiment, "mine.yaml"), {}, data.root());
    const std::string& text = files.front().text;
    CHECK_THAT(text, contains_text(words.tensor + ": 2\n"));
    CHECK_THAT(text, contains_text(words.heads + ": 32\n"));
    CHECK_THAT(text, contains_text(words.precision + ": half\n"));
    CHECK(text.find("tensor_model_parallel_size") == std::string::npos);

    const ImportedExperiment back = import_drawn(input_of(text, data.root()));
    CHECK(value_of(back, "model") == "llama3.1_8b");
    CHECK(value_of(back, "plan.tp") == "2");
    CHECK(value_of(back, "plan.pp") == "2");
    CHECK(value_of(back, "cluster.nodes") == "2");

    const std::string row = "formats:\n  - {name: a drawn configuration, form: data, keys: [" +
                            words.tensor + "], door: drawn}\n";
    const auto known = recognized_file(read_text(text, "drawn.yaml"),
                                       read_file_formats(parse_config(row, "formats.yaml")));
    REQUIRE(known);
    CHECK(known->format.door == kDrawn.name);
  }
}

TEST_CASE("what the rows of a new table say of other keys is told, and what they do not is refused",
          "[unit]") {
  const DrawnWords words = drawn_words(4);
  const DrawnData data(table_of(words));
  const std::string text =
      exported(kDrawn, parse_config(kExperiment, "mine.yaml"), {}, data.root()).front().text;
  const auto told = [&](const std::string& line) {
    return remarks_text(import_drawn(input_of(text + line, data.root())), "drawn.yaml");
  };
  const auto problems = [&](const std::string& line) {
    return test::problems_of(import_drawn, input_of(text + line, data.root()));
  };
  CHECK_THAT(told(words.harmless + ": 7\n"), contains_text("1 key without effect on the result"));
  CHECK_THAT(told(words.unpriced + ": 7\n"),
             contains_text("not carried over: " + words.unpriced + " 7: it is drawn"));
  CHECK_THAT(problems(words.foreign + ": 7\n"), contains_text("nothing here is drawn"));
  CHECK_THAT(problems("never_drawn: 7\n"), contains_text("never_drawn"));
}

}  // namespace
}  // namespace stepcast::drawn_framework_test
