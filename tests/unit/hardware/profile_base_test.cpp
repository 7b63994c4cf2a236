// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/device_spec.hpp"

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "text_file.hpp"

namespace stepcast::profile_base_test {
namespace {

using test::config_error;
using test::contains_text;

// A folder of profiles that lives as long as the test.
class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::filesystem::path add(const std::string& name, const std::string& text) {
    const std::filesystem::path file = path_ / (name + ".yaml");
    std::ofstream(file) << text;
    return file;
  }

 private:
  std::filesystem::path path_ = test::scratch_path("profile_base");
};

TEST_CASE("a number of a base is replaced with its source, and its neighbours stay", "[unit]") {
  Folder folder;
  folder.add("old",
             "name: old\nhbm:\n  peak: {value: 3 TB/s, source: A, kind: spec}\n"
             "  capacity: {value: 80 GiB, source: A}\n");
  std::vector<std::string> bases;
  const ConfigNode root = profile_with_bases(
      folder.add("new", "name: new\nbase: old\nhbm:\n  peak: {value: 4 TB/s, assumed: b}\n"),
      folder.path(), bases);
  CHECK(bases == std::vector<std::string>{"old"});
  CHECK(root.find("name")->text == "new");
  CHECK(root.find("base") == nullptr);
  const ConfigNode& peak = *root.find("hbm")->find("peak");
  CHECK(peak.entries.size() == 2);
  CHECK(peak.find("value")->text == "4 TB/s");
  CHECK(peak.find("source") == nullptr);
  CHECK(root.find("hbm")->find("capacity")->find("value")->text == "80 GiB");
}

TEST_CASE("a base that is not there or leads back is refused at its place", "[unit]") {
  Folder folder;
  const auto problem = [](const std::filesystem::path& file) {
    std::vector<std::string> bases;
    return config_error([&] { profile_with_bases(file, file.parent_path(), bases); });
  };
  CHECK_THAT(problem(folder.add("one", "name: one\nbase: owo\n")),
             contains_text("one.yaml:2:7: error: 'base' is 'owo', which is no part"));
  folder.add("two", "name: two\nbase: one\n");
  CHECK_THAT(problem(folder.add("one", "name: one\nbase: two\n")),
             contains_text("two.yaml:2:7: error: 'base' leads back to 'one'"));
}

}  // namespace
}  // namespace stepcast::profile_base_test
