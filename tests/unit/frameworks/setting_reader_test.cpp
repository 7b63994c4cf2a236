// SPDX-License-Identifier: Apache-2.0
#include "frameworks/setting_reader.hpp"

#include "catch.hpp"

namespace stepcast::setting_reader_test {
namespace {

Setting setting(const std::string& name, const std::string& value, int line) {
  return text_setting(name, value, {"train.sh", line, 1});
}

TEST_CASE("the last of several settings of one key counts, as in argparse", "[unit]") {
  Diagnostics diagnostics;
  FrameworkReader settings({setting("lr", "1", 1), setting("tp", "2", 2), setting("tp", "8", 3)},
                           diagnostics);
  CHECK(settings.count("tp", "plan.tp") == 8);
}

TEST_CASE("None and null of a framework are no value", "[unit]") {
  Diagnostics diagnostics;
  FrameworkReader settings({setting("fp8", "None", 1), setting("vpp", "null", 2)}, diagnostics);
  CHECK_FALSE(settings.text("fp8", "training.dtype").has_value());
  CHECK(settings.count_or("vpp", "plan.vpp", 1) == 1);
  CHECK(diagnostics.empty());
}

TEST_CASE("truth values are taken as Python, YAML and shells write them", "[unit]") {
  Diagnostics diagnostics;
  FrameworkReader settings({setting("a", "True", 1), setting("b", "1", 2), setting("c", "false", 3),
                            setting("d", "maybe", 4)},
                           diagnostics);
  CHECK(settings.is_on("a", ""));
  CHECK(settings.is_on("b", ""));
  CHECK_FALSE(settings.is_on("c", ""));
  CHECK_FALSE(settings.is_on("absent", ""));
  CHECK(diagnostics.empty());
  CHECK_FALSE(settings.flag("d", "").has_value());
  REQUIRE(diagnostics.entries().size() == 1);
  CHECK(to_text(diagnostics.entries()[0]) ==
        "train.sh:4:1: error: 'd' must be true or false, not 'maybe'");
}

TEST_CASE("a list may be a text with commas or blanks between its items", "[unit]") {
  Diagnostics diagnostics;
  FrameworkReader settings({setting("a", "core_attn moe_act", 1), setting("b", "[0,3, 4]", 2)},
                           diagnostics);
  CHECK(settings.texts("a", "") == std::vector<std::string>{"core_attn", "moe_act"});
  CHECK(settings.texts("b", "") == std::vector<std::string>{"0", "3", "4"});
}

TEST_CASE("every setting has an outcome, and the remarks stand in the file's order", "[unit]") {
  Diagnostics diagnostics;
  FrameworkReader settings(
      {setting("wandb_project", "x", 1), setting("tp", "8", 2), setting("z_loss", "0.1", 3)},
      diagnostics);
  settings.not_carried("z_loss", "a loss that is not priced");
  CHECK(settings.count_or("tp", "plan.tp", 1) == 8);
  CHECK(settings.count_or("pp", "plan.pp", 1) == 1);
  settings.without_effect("wandb_*");
  settings.finish(UnknownSettings::kRefused);
  CHECK(diagnostics.empty());
  const std::vector<ImportRemark> remarks = settings.take_remarks();
  REQUIRE(remarks.size() == 4);
  CHECK(remarks[0].outcome == ImportOutcome::kWithoutEffect);
  CHECK(remarks[1].outcome == ImportOutcome::kCarried);
  CHECK(remarks[1].ours == "plan.tp");
  CHECK(remarks[2].outcome == ImportOutcome::kNotCarried);
  CHECK(remarks[3].outcome == ImportOutcome::kDefaulted);
  CHECK(remarks[3].value == "1");
}

TEST_CASE("a setting that is off changes nothing, whatever it would mean", "[unit]") {
  Diagnostics diagnostics;
  FrameworkReader settings({setting("z_loss", "False", 1)}, diagnostics);
  settings.not_carried("z_loss", "a loss that is not priced");
  CHECK(settings.take_remarks().front().outcome == ImportOutcome::kWithoutEffect);
}

TEST_CASE("a setting that nobody knows is an error with the nearest known one, or a remark",
          "[unit]") {
  for (const UnknownSettings unknown : {UnknownSettings::kRefused, UnknownSettings::kRemarked}) {
    Diagnostics diagnostics;
    FrameworkReader settings({setting("tensor_paralel", "8", 7)}, diagnostics);
    CHECK(settings.count_or("tensor_parallel", "plan.tp", 1) == 1);
    settings.finish(unknown);
    if (unknown == UnknownSettings::kRefused) {
      REQUIRE(diagnostics.entries().size() == 1);
      CHECK(to_text(diagnostics.entries()[0]) ==
            "train.sh:7:1: error: 'tensor_paralel' is not known here; did you mean "
            "'tensor_parallel'?");
    } else {
      CHECK(diagnostics.empty());
      CHECK(count_of(settings.take_remarks(), ImportOutcome::kNotCarried) == 1);
    }
  }
}

}  // namespace
}  // namespace stepcast::setting_reader_test
