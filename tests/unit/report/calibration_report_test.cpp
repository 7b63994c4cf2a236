// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/calibration_report.hpp"

#include <fstream>

#include "catch.hpp"
#include "text_file.hpp"
#include "unit/calibration/calibration_rows.hpp"

namespace stepcast::calibration_report_test {
namespace {

namespace fs = std::filesystem;

const CalibrationRecord kRecord{"2026-11-21", "gemm.jsonl, copies.jsonl", {}};

// A calibration that did not move anything but says that it settled these.
Calibration settled(ConfigNode kernels, const std::vector<std::string>& keys) {
  Calibration calibration;
  calibration.file = std::move(kernels);
  for (const std::string& key : keys) {
    calibration.constants.push_back({key, "", 1.0, 1.0});
  }
  calibration.groups = {{"h200_sxm bf16 model", 10, 12, 0.031, 0.042, 0.2}};
  return calibration;
}

// H200 with `kernels` as its file of kernels, from a folder of profiles that is gone afterwards.
DeviceSpec h200_with(const std::string& kernels) {
  const fs::path folder = test::scratch_path("kernels");
  fs::create_directories(folder / "gpus");
  fs::create_directories(folder / "kernels");
  for (const char* part : {"h200_sxm.yaml", "h100_sxm.yaml"}) {  // and the one that it is based on
    fs::copy_file(test::data_root().gpus() / part, folder / "gpus" / part,
                  fs::copy_options::overwrite_existing);
  }
  fs::copy(test::data_root().collectives(), folder / "collectives",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  fs::copy(test::data_root().exchange(), folder / "exchange",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  fs::copy(test::data_root().architectures(), folder / "architectures",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  fs::copy_file(test::data_root().libraries(), folder / "libraries.yaml",
                fs::copy_options::overwrite_existing);
  std::ofstream(folder / "kernels/gh100.yaml") << kernels;
  const SourceTable sources = load_shared_sources(test::data_root());
  DeviceSpec device = load_device(folder / "gpus/h200_sxm.yaml", sources, folder);
  fs::remove_all(folder);
  return device;
}

const Provenance& number(const DeviceSpec& device, const std::string& key) {
  const auto found = std::find_if(device.provenance.begin(), device.provenance.end(),
                                  [&](const Provenance& p) { return p.key.ends_with(key); });
  REQUIRE(found != device.provenance.end());
  return *found;
}

TEST_CASE("the file of a calibration loads again with the same constants", "[unit]") {
  DeviceSpec truth = test::shipped_gpu("h200_sxm");
  truth.kernels.gemm.start_up = Seconds(1.1e-6);
  const Calibration found =
      test::calibrate_h200(test::rows_priced_with(truth), {"gemm.start_up", "memory_bound.ramp"});
  const DeviceSpec loaded = h200_with(constants_to_yaml(found, kRecord));
  CHECK(loaded.kernels.gemm.start_up.value() * 1e6 == Approx(found.constants[0].after));
  CHECK(loaded.kernels.memory.ramp.value() * 1e6 == Approx(found.constants[1].after));
  CHECK(loaded.kernels.gemm.unaligned_share == truth.kernels.gemm.unaligned_share);
  CHECK(loaded.kernels.power.hbm_energy == truth.kernels.power.hbm_energy);
  CHECK(loaded.kernels.attention.group_cycles == truth.kernels.attention.group_cycles);
}

TEST_CASE("fitted numbers name their fit, and the others keep source and note", "[unit]") {
  const DeviceSpec before =
      h200_with(constants_to_yaml(settled(test::h200_kernels(), {}), kRecord));
  const DeviceSpec after =
      h200_with(constants_to_yaml(settled(test::h200_kernels(), {"gemm.start_up"}), kRecord));
  REQUIRE(after.provenance.size() == before.provenance.size());
  for (std::size_t i = 0; i < after.provenance.size(); ++i) {
    const Provenance& old = before.provenance[i];
    const Provenance& now = after.provenance[i];
    CAPTURE(now.key);
    CHECK(now.key == old.key);
    CHECK(now.value == old.value);
    CHECK(now.note == old.note);
    const bool fitted = now.key.ends_with("gemm.start_up");
    CHECK(now.kind == (fitted ? SourceKind::kFitted : old.kind));
    CHECK(now.source == (fitted ? "FIT" : old.source));
  }
  CHECK_THAT(after.sources.at("FIT"), test::contains_text("gemm.jsonl, copies.jsonl"));
  CHECK_THAT(after.sources.at("FIT"), test::contains_text("2026-11-21"));
}

TEST_CASE("a second fit keeps the record of the first only where its numbers stay", "[unit]") {
  const std::string first =
      constants_to_yaml(settled(test::h200_kernels(), {"gemm.start_up"}), kRecord);
  const CalibrationRecord later{"2027-01-02", "later.jsonl", {}};
  const auto second = [&](const std::string& key) {
    return h200_with(constants_to_yaml(settled(parse_config(first, "first"), {key}), later));
  };
  const DeviceSpec other = second("gemm.hbm_share");
  CHECK(number(other, "gemm.start_up").source == "FIT");
  CHECK(number(other, "gemm.hbm_share").source == "FIT2");
  CHECK_THAT(other.sources.at("FIT"), test::contains_text("gemm.jsonl"));
  CHECK(other.sources.at("FIT2") == "least squares on later.jsonl, 2027-01-02");

  const DeviceSpec again = second("gemm.start_up");
  CHECK(again.sources.at("FIT") == "least squares on later.jsonl, 2027-01-02");
  CHECK_FALSE(again.sources.contains("FIT2"));
}

TEST_CASE("texts with quotes, commas and line breaks survive", "[unit]") {
  const std::string note = "a \"b\", c: d\\e # f\n- g";
  ConfigNode kernels = test::h200_kernels();
  ConfigNode text;
  text.kind = ConfigNode::Kind::kScalar;
  text.text = note;
  text.quoted = true;
  for (ConfigEntry& section : kernels.entries) {
    for (ConfigEntry& entry : section.value.entries) {
      if (entry.key == "start_up") {
        std::erase_if(entry.value.entries, [](const ConfigEntry& e) { return e.key == "note"; });
        entry.value.entries.push_back({"note", 0, 0, text});
      }
    }
  }
  const DeviceSpec device = h200_with(constants_to_yaml(settled(kernels, {}), kRecord));
  CHECK(number(device, "gemm.start_up").note == note);
}

TEST_CASE("the errors of each group head the file", "[unit]") {
  const std::string text = constants_to_yaml(settled(test::h200_kernels(), {}), kRecord);
  CHECK_THAT(text, test::contains_text("#   h200_sxm bf16 model"));
  CHECK_THAT(text, test::contains_text("held back 4.20 %"));
  CHECK_THAT(calibration_to_text(settled(test::h200_kernels(), {"gemm.start_up"}), kRecord),
             test::contains_text("gemm.start_up"));
}

}  // namespace
}  // namespace stepcast::calibration_report_test
