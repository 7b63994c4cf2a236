// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "catch.hpp"
#include "frameworks/framework_table.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/framework_keys.hpp"

namespace stepcast::framework_table_test {
namespace {

using namespace stepcast::test;

TEST_CASE("every framework has a name of its own, a reader and an example of it", "[unit]") {
  std::set<std::string_view> names;
  for (const FrameworkInfo& framework : frameworks()) {
    CAPTURE(framework.name);
    CHECK(names.insert(framework.name).second);
    CHECK(framework.import_from != nullptr);
    CHECK(framework.example.starts_with("import " + std::string(framework.name)));
    CHECK((framework.export_to == nullptr) == framework.writes.empty());
  }
}

TEST_CASE("a software set has the framework that it is of, or every one that is written",
          "[unit]") {
  const auto of_set = [](std::string_view software) {
    std::string names;
    for (const FrameworkInfo* framework : writers_for(software)) {
      names += std::string(framework->name) + " ";
    }
    return names;
  };
  CHECK(of_set("megatron_2021") == "megatron ");
  CHECK(of_set("megatron_bridge_25_09") == "megatron_bridge ");
  CHECK(of_set("nemo_2024") == "megatron_bridge ");
  CHECK(of_set("primus_turbo") == "primus ");
  CHECK(of_set("torchtitan_eager") == "torchtitan ");
  const std::string all = "megatron primus megatron_bridge torchtitan maxtext ";
  CHECK(of_set("nemo_automodel") == all);
  CHECK(of_set("") == all);
}

// "| `plan.tp` | `tensor_model_parallel_size` | ... |"
std::string row_of(const FrameworkKey& key) {
  std::string row = "| `" + std::string(key.ours) + "` |";
  for (std::size_t i = 0; i < kFrameworkVocabularies; ++i) {
    const std::string name(key.name(static_cast<FrameworkVocabulary>(i)));
    const std::string related = key.relation == KeyMeaning::kRelated ? " (related)" : "";
    row += name.empty() ? "  |" : " `" + name + "`" + related + " |";
  }
  return row;
}

TEST_CASE("the reference of frameworks has every key with its names in all of them", "[unit]") {
  const std::string page =
      read_file(std::filesystem::path(STEPCAST_DATA_ROOT) / "simulator/frameworks/README.md");
  for (const FrameworkKey& key : framework_keys()) {
    CAPTURE(row_of(key));
    CHECK(page.find(row_of(key) + "\n") != std::string::npos);
  }
}

}  // namespace
}  // namespace stepcast::framework_table_test
