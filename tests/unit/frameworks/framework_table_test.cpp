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

TEST_CASE("the reference of frameworks has every key with its name in Megatron", "[unit]") {
  const std::string page =
      read_file(std::filesystem::path(STEPCAST_DATA_ROOT) / "simulator/frameworks/README.md");
  for (const FrameworkKey& key : framework_keys()) {
    if (!key.megatron.empty()) {
      CAPTURE(key.ours, key.megatron);
      CHECK(page.find("| `" + std::string(key.ours) + "` | `" + std::string(key.megatron) + "`") !=
            std::string::npos);
    }
  }
}

}  // namespace
}  // namespace stepcast::framework_table_test
