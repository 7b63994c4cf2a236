// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/software_span.hpp"

#include <algorithm>
#include <filesystem>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/plan/software_spec.hpp"

namespace stepcast::software_span_test {
namespace {

using test::config_error;
using test::contains_text;

const DataRoot kData{STEPCAST_DATA_ROOT};

SoftwareSpec shipped(const std::string& name) {
  return load_software(kData.software() / (name + ".yaml"), kData.software());
}

// What a set's own file says beside its base, without what describes it.
std::vector<std::string> own_switches(const std::string& name) {
  constexpr std::array<std::string_view, 9> kAbout = {
      "name", "title", "source", "date", "family", "since", "until", "evidence", "base"};
  std::vector<std::string> keys;
  for (const ConfigEntry& entry : load_config(kData.software() / (name + ".yaml")).entries) {
    if (std::ranges::find(kAbout, entry.key) != kAbout.end()) {
      continue;
    }
    if (entry.value.kind == ConfigNode::Kind::kMapping) {
      for (const ConfigEntry& inner : entry.value.entries) {
        keys.push_back(entry.key + "." + inner.key);
      }
    } else {
      keys.push_back(entry.key);
    }
  }
  return keys;
}

bool has_evidence(const SoftwareSpec& set, const std::string& key) {
  return std::ranges::any_of(set.evidence,
                             [&](const SwitchEvidence& line) { return line.key == key; });
}

TEST_CASE("a month or a day is a range of days", "[unit]") {
  CHECK(days_named("2025-12")->since == "2025-12-01");
  CHECK(days_named("2025-12")->until == "2026-01-01");
  CHECK(days_named("2024-02-29")->until == "2024-03-01");
  CHECK_FALSE(days_named("2025-02-29"));
  CHECK_FALSE(days_named("2025-13"));
  CHECK_FALSE(days_named("March"));
  CHECK_FALSE(days_named(""));
}

TEST_CASE("the latest set that holds on some of the days counts, else the nearest", "[unit]") {
  const std::vector<SoftwareRelease> sets = {
      {"first", "2025-01", {"f", "2025-01-01", "2025-02-01"}},
      {"second", "2025-03", {"f", "2025-03-01", "2025-04-01"}},
      {"third", "2025-06", {"f", "2025-06-01", ""}},
  };
  const auto chosen = [&](const char* since, const char* until) {
    return release_for(sets, {since, until}).name;
  };
  CHECK(chosen("2025-01-15", "2025-03-02") == "second");
  CHECK(chosen("2025-01-15", "2025-03-01") == "first");
  CHECK(chosen("2025-01-15", "") == "third");
  // 4 days behind the first set, 24 before the second.
  CHECK(chosen("2025-02-05", "2025-02-06") == "first");
  // 50 days behind the second set, 11 before the third.
  CHECK(chosen("2025-05-21", "2025-05-22") == "third");
  CHECK(chosen("2024-06-01", "2024-07-01") == "first");
}

TEST_CASE("sets of one family never describe the same day, compiled and eager ones the same days",
          "[unit]") {
  const std::vector<SoftwareRelease> compiled = releases_of("torchtitan", kData);
  const std::vector<SoftwareRelease> eager = releases_of("torchtitan_eager", kData);
  REQUIRE(compiled.size() == 6);
  REQUIRE(eager.size() == compiled.size());
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    CAPTURE(compiled[i].name);
    CHECK(eager[i].span.since == compiled[i].span.since);
    CHECK(eager[i].span.until == compiled[i].span.until);
    CHECK(days_named(compiled[i].date).has_value());
    if (i > 0) {
      CHECK_FALSE(compiled[i - 1].span.until.empty());
      CHECK(compiled[i - 1].span.until <= compiled[i].span.since);
    }
  }
  CHECK(compiled[2].name == "torchtitan");
  CHECK(compiled[2].span.holds_on("2025-12-17"));
  CHECK_FALSE(compiled[2].span.holds_on("2026-01-27"));
  CHECK(compiled.back().span.holds_on("2026-12-31"));
}

TEST_CASE("every switch in which torchtitan differs from one time to the next names its commit",
          "[unit]") {
  const std::vector<SoftwareRelease> sets = releases_of("torchtitan", kData);
  for (const SoftwareRelease& set : sets) {
    const SoftwareSpec spec = shipped(set.name);
    CAPTURE(set.name);
    for (const SwitchEvidence& line : spec.evidence) {
      CAPTURE(line.key);
      // By its commit, or by the release of PyTorch that brought it.
      CHECK((!line.commit.empty() || !line.pytorch.empty()));
      // A set holds from the day on which the last of its switches changed, or later.
      CHECK(line.since <= set.span.since);
    }
  }
  // The later set says what it has otherwise, or the earlier one where it stands on the later.
  for (const auto& [changes, witness] : {std::pair{"torchtitan_2024", "torchtitan_2025_09"},
                                         std::pair{"torchtitan_2025_09", "torchtitan"},
                                         std::pair{"torchtitan_2026_03", "torchtitan_2026_03"},
                                         std::pair{"torchtitan_2026_05", "torchtitan_2026_05"},
                                         std::pair{"torchtitan_2026_08", "torchtitan_2026_08"}}) {
    const SoftwareSpec spec = shipped(witness);
    for (const std::string& key : own_switches(changes)) {
      CAPTURE(changes, key);
      CHECK((has_evidence(spec, key) || key == "recipes"));
    }
  }
}

TEST_CASE("torchtitan's sets have what its code of their time does", "[unit]") {
  const auto attention = [](const std::string& set, const std::string& gpu, bool latent) {
    SoftwareSpec spec = shipped(set);
    follow_recipes({"any", gpu, Dtype::kBf16, latent}, spec);
    return spec.attention;
  };
  CHECK(attention("torchtitan_2024", "b200", false) == AttentionKernel::kFlash2);
  CHECK(attention("torchtitan_2025_09", "h100_sxm", false) == AttentionKernel::kFlash2);
  CHECK(attention("torchtitan_2025_09", "b200", false) == AttentionKernel::kCudnn);
  CHECK(attention("torchtitan_2025_09", "b200", true) == AttentionKernel::kFlex);
  CHECK(attention("torchtitan", "h100_sxm", false) == AttentionKernel::kCudnn);
  CHECK(attention("torchtitan_eager", "h100_sxm", true) == AttentionKernel::kFlex);
  CHECK(attention("torchtitan_eager_2026_08", "h100_sxm", false) == AttentionKernel::kFlex);
  CHECK(shipped("torchtitan").repeats_kv_heads);
  CHECK_FALSE(shipped("torchtitan_2026_03").repeats_kv_heads);
  CHECK_FALSE(shipped("torchtitan_2026_05").fused_qkv);
  CHECK(shipped("torchtitan_eager_2026_08").fused_qkv);
  CHECK(shipped("torchtitan_eager_2024").norm == Implementation::kEager);
  CHECK(shipped("torchtitan_eager_2025_09").norm == Implementation::kFused);
  CHECK(shipped("torchtitan_2024").fsdp_root_holds_ends);
  CHECK_FALSE(shipped("torchtitan_2025_09").fsdp_root_holds_ends);
  for (const SoftwareRelease& set : releases_of("torchtitan_eager", kData)) {
    CHECK(shipped(set.name).scales_gradients);
    CHECK(shipped(set.name).cross_entropy == Implementation::kEager);
    CHECK(shipped(set.name).host.layers == LaunchMode::kEager);
  }
}

TEST_CASE("a loss that alone is compiled takes what a compiled loss takes", "[unit]") {
  // 12 bytes a logit are of the eager loss: what four measured steps held at their peak. Unset, the
  // rule follows cross_entropy.
  const MemoryRules memory = shipped("torchtitan_eager").memory;
  CHECK_FALSE(memory.logit_at_loss);
  CHECK(memory.logit_at_eager_loss == Bytes(12));
}

TEST_CASE("a span and its evidence are read strictly", "[unit]") {
  const auto read = [](const std::string& keys) {
    const ConfigNode root =
        parse_config("attention: flash2\nmemory: {keeps_logits: true}\n" + keys, "set.yaml");
    Diagnostics diagnostics;
    MappingReader reader(root, "", diagnostics);
    (void)read_span(reader);
    (void)read_evidence(reader, root);
    diagnostics.throw_if_any();
  };
  const auto fault = [&](const std::string& keys) { return config_error([&] { read(keys); }); };
  const auto line = [&](const std::string& keys) { return fault("evidence: [{" + keys + "}]\n"); };
  CHECK_NOTHROW(read("family: f\nsince: 2025-01-01\nuntil: 2025-02-01\n"));
  CHECK_THAT(fault("family: f\n"), contains_text("and since belong together"));
  CHECK_THAT(fault("family: f\nsince: June\n"), contains_text("must be a day such as 2026-01-27"));
  CHECK_THAT(fault("family: f\nsince: 2025-02-01\nuntil: 2025-01-01\n"),
             contains_text("must be a day behind since"));
  const std::string good = "switch: memory.keeps_logits, since: 2025-10-22, commit: e5ef99aab";
  CHECK_NOTHROW(read("evidence: [{" + good + ", says: x}]\n"));
  CHECK_THAT(line(good), contains_text("says"));
  CHECK_THAT(line("switch: norm, pytorch: 2.9, says: x"),
             contains_text("names 'norm', which the set does not say"));
  CHECK_THAT(line("switch: attention, says: x"), contains_text("or pytorch has to say"));
  CHECK_THAT(line("switch: attention, commit: e5ef99aab, says: x"),
             contains_text("7 to 40 hexadecimal digits, with its day as 'since'"));
  CHECK_THAT(line("switch: attention, pytorch: new, says: x"),
             contains_text("must be a release such as 2.9"));
  CHECK_THAT(line(good + ", says: x, mood: good"), contains_text("mood"));
}

}  // namespace
}  // namespace stepcast::software_span_test
