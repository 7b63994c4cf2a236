// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/device_spec.hpp"

#include <filesystem>
#include <fstream>
#include <functional>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast {
namespace {

using test::config_error;
using test::contains_text;
using test::data_root;

TEST_CASE("every shipped GPU profile loads and gives a source for each number", "[unit]") {
  const std::vector<std::string> names = names_in(data_root().gpus());
  REQUIRE(names.size() >= 10);
  for (const std::string& name : names) {
    CAPTURE(name);
    DeviceSpec device;
    CHECK(config_error([&] { device = test::shipped_gpu(name); }) == "no error");
    CHECK(device.name == name);
    CHECK(device.provenance.size() >= 30);
    for (const Provenance& number : device.provenance) {
      CAPTURE(number.key);
      CHECK_FALSE(number.source.empty());
      CHECK((number.kind == SourceKind::kAssumed || device.sources.contains(number.source)));
    }
  }
}

TEST_CASE("every shipped GPU profile is physically possible", "[unit]") {
  for (const std::string& name : names_in(data_root().gpus())) {
    CAPTURE(name);
    const DeviceSpec device = test::shipped_gpu(name);
    CHECK(device.hbm.achieved < device.hbm.peak);
    CHECK(device.clock.rated <= device.clock.peak);
    for (const DtypeInfo& dtype : kDtypes) {
      CHECK(device.sustained_clock(dtype.dtype) <= device.clock.peak);
      CHECK(device.sustained_clock(dtype.dtype) > Hertz{});
    }
    CHECK(device.power.idle < device.power.limit);
    CHECK(device.graph_launch_latency <= device.launch_latency);
    CHECK(device.scale_up.domain_size >= device.gpus_per_node);
  }
}

// compute units * FLOP per clock * rated clock, dense, against the vendor's data sheet.
TEST_CASE("bf16 peaks at the rated clock are those of the data sheets to 1 %", "[case]") {
  const auto [name, teraflops] = GENERATE(table<std::string, double>({
      {"mi300x", 1307.4},  // 304 * 2048 * 2.100 GHz
      {"mi325x", 1307.4},
      {"mi355x", 2517.0},    // 256 * 4096 * 2.400 GHz
      {"a100_80gb", 312.0},  // 108 * 2048 * 1.410 GHz
      {"a100_40gb", 312.0},
      {"h100_sxm", 989.4},  // 132 * 4096 * 1.830 GHz
      {"h200_sxm", 989.4},
      {"h800", 989.4},
      {"b200", 2250.0},
  }));
  CAPTURE(name);
  const DeviceSpec device = test::shipped_gpu(name);
  const std::optional<FlopsPerSecond> peak = device.matrix_peak(Dtype::kBf16, device.clock.rated);
  REQUIRE(peak.has_value());
  CHECK(peak->value() / 1e12 == Approx(teraflops).epsilon(0.01));
}

TEST_CASE("the matrix peak is units times rate times clock", "[unit]") {
  DeviceSpec device;
  device.compute_units = 100;
  device.matrix_rate[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerCycle(2048);
  CHECK(device.matrix_peak(Dtype::kBf16, Hertz(1e9)) == FlopsPerSecond(204.8e12));
  CHECK_FALSE(device.matrix_peak(Dtype::kFp4, Hertz(1e9)).has_value());
}

TEST_CASE("the sustained clock of an unmeasured format is that of bf16", "[unit]") {
  DeviceSpec device;
  device.clock.peak = Hertz(2e9);
  CHECK(device.sustained_clock(Dtype::kFp8) == Hertz(2e9));
  device.clock.sustained[static_cast<std::size_t>(Dtype::kBf16)] = Hertz(1.2e9);
  CHECK(device.sustained_clock(Dtype::kFp8) == Hertz(1.2e9));
  device.clock.sustained[static_cast<std::size_t>(Dtype::kFp8)] = Hertz(1.1e9);
  CHECK(device.sustained_clock(Dtype::kFp8) == Hertz(1.1e9));
}

// A shipped profile with one piece of its text replaced, read under its own name.
std::string fault_after(const std::string& piece, const std::string& replacement) {
  std::string text = read_file(data_root().gpus() / "mi300x.yaml");
  const std::size_t at = text.find(piece);
  REQUIRE(at != std::string::npos);
  text.replace(at, piece.size(), replacement);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      ("stepcast_device_" + std::to_string(std::hash<std::string>{}(text)) + ".yaml");
  std::ofstream(file) << text;
  const std::string fault =
      config_error([&] { load_device(file, load_shared_sources(data_root())); });
  std::filesystem::remove(file);
  return fault;
}

TEST_CASE("a profile with one fault is refused at that fault", "[unit]") {
  CHECK(fault_after("mi300x", "mi300x") == "no error");
  CHECK_THAT(fault_after("{value: 304, source: CDNA3WP}", "304"),
             contains_text("'compute_units' has no source"));
  CHECK_THAT(fault_after("192 GiB", "192"), contains_text("'hbm.capacity': '192' has no unit"));
  CHECK_THAT(
      fault_after("capacity: {value: 192", "capcity: {value: 192"),
      contains_text("'hbm' needs the key 'capacity'") && contains_text("did you mean 'capacity'?"));
  CHECK_THAT(fault_after("topology: full_mesh", "topology: ful_mesh"),
             contains_text("did you mean 'full_mesh'?"));
  CHECK_THAT(fault_after("vendor: amd", "vendor: intel"),
             contains_text("give one of: amd, nvidia"));
  CHECK_THAT(fault_after("achieved: {value: 4.11 TB/s", "achieved: {value: 0 TB/s"),
             contains_text("must be greater than 0"));
  CHECK_THAT(fault_after("source: PRIMUS", "source: PRIMUZ"), contains_text("PRIMUS"));
}

}  // namespace
}  // namespace stepcast
