// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/device_spec.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/hardware/constant_files.hpp"
#include "text_file.hpp"

namespace stepcast::device_spec_test {
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

TEST_CASE("a part that was never measured names a shipped part that was", "[unit]") {
  const std::vector<std::string> names = names_in(data_root().gpus());
  for (const std::string& name : names) {
    const std::string other = test::shipped_gpu(name).stand_in;
    CAPTURE(name, other);
    if (!other.empty()) {
      REQUIRE(std::find(names.begin(), names.end(), other) != names.end());
      CHECK(test::shipped_gpu(other).stand_in.empty());
    }
  }
  CHECK(test::shipped_gpu("mi350x").stand_in == "mi355x");
}

TEST_CASE("a part that is based on another takes what it does not state, with its place",
          "[unit]") {
  const DeviceSpec base = test::shipped_gpu("mi300x");
  const DeviceSpec part = test::shipped_gpu("mi325x");
  CHECK(part.bases == std::vector<std::string>{"mi300x"});
  CHECK(test::shipped_gpu("gb300").bases == std::vector<std::string>{"b300", "b200"});
  CHECK(part.compute_units == base.compute_units);
  CHECK(part.hbm.capacity == Bytes(256.0 * 1024.0 * 1024.0 * 1024.0));
  const auto stated_in = [&](std::string_view key) {
    const auto found = std::find_if(part.provenance.begin(), part.provenance.end(),
                                    [&](const Provenance& entry) { return entry.key == key; });
    REQUIRE(found != part.provenance.end());
    return found->stated_in;
  };
  CHECK(stated_in("compute_units") == "mi300x");
  CHECK(stated_in("hbm.capacity") == "mi325x");
}

TEST_CASE("every file of constants of kernels is used by a profile", "[unit]") {
  std::set<std::string> used;
  for (const std::string& name : names_in(data_root().gpus())) {
    used.insert(test::shipped_gpu(name).kernels.name);
  }
  const std::vector<std::string> files = names_in(data_root().gpus().parent_path() / "kernels");
  CHECK(std::vector<std::string>(used.begin(), used.end()) == files);
}

TEST_CASE("every file of constants of collectives is used by a profile", "[unit]") {
  std::set<std::string> used;
  for (const std::string& name : names_in(data_root().gpus())) {
    used.insert(test::shipped_gpu(name).collectives.name);
  }
  CHECK(std::vector<std::string>(used.begin(), used.end()) == names_in(data_root().collectives()));
}

TEST_CASE("every file of constants of exchanges is used by a profile", "[unit]") {
  std::set<std::string> used;
  for (const std::string& name : names_in(data_root().gpus())) {
    used.insert(test::shipped_gpu(name).exchange.name);
  }
  const std::vector<std::string> files = names_in(data_root().exchange());
  CHECK(std::vector<std::string>(used.begin(), used.end()) == files);
}

TEST_CASE("every file of an architecture is used by a profile and gives its sources", "[unit]") {
  std::set<std::string> used;
  for (const std::string& name : names_in(data_root().gpus())) {
    const DeviceSpec device = test::shipped_gpu(name);
    used.insert(device.architecture.name);
    CAPTURE(name);
    const AttentionLibrary& attention = device.architecture.attention;
    CHECK((attention.native == AttentionKernel::kUnfused) ==
          !attention.kernel(attention.native).has_value());
    CHECK(std::any_of(device.provenance.begin(), device.provenance.end(), [](const Provenance& p) {
      return p.key == "attention_kernels.native" && !p.source.empty();
    }));
  }
  CHECK(std::vector<std::string>(used.begin(), used.end()) ==
        names_in(data_root().architectures()));
}

TEST_CASE("an architecture that runs another's kernels has them under its own name", "[unit]") {
  const Architecture ultra = test::shipped_gpu("b300").architecture;
  const Architecture plain = test::shipped_gpu("b200").architecture;
  CHECK(ultra.name == "sm103");
  CHECK(ultra.kernels == plain.name);
  CHECK(ultra.gemm.dense.tiles.size() == plain.gemm.dense.tiles.size());
}

TEST_CASE("every constant of kernels gives a source", "[unit]") {
  const std::filesystem::path folder = data_root().gpus().parent_path() / "kernels";
  for (const std::string& name : names_in(folder)) {
    CAPTURE(name);
    std::vector<Provenance> provenance;
    Diagnostics diagnostics;
    const ConfigNode root = load_config(folder / (name + ".yaml"));
    SourceTable sources = load_shared_sources(data_root());
    read_kernel_constants(root, sources, provenance, diagnostics);
    CHECK(config_error([&] { diagnostics.throw_if_any(); }) == "no error");
    CHECK(provenance.size() >= 30);
    for (const Provenance& number : provenance) {
      CAPTURE(number.key);
      CHECK_FALSE(number.source.empty());
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
TEST_CASE("16-bit peaks at the rated clock are those of the data sheets to 1 %", "[case]") {
  const auto [name, teraflops] = GENERATE(table<std::string, double>({
      {"mi300x", 1307.4},                         // 304 * 2048 * 2.100 GHz
      {"mi325x", 1307.4},   {"mi350x", 2306.9},   // 256 * 4096 * 2.200 GHz
      {"mi355x", 2517.0},                         // 256 * 4096 * 2.400 GHz
      {"a100_80gb", 312.0},                       // 108 * 2048 * 1.410 GHz
      {"a100_40gb", 312.0}, {"h100_sxm", 989.4},  // 132 * 4096 * 1.830 GHz
      {"h100_pcie", 756.5}, {"h200_sxm", 989.4}, {"h800", 989.4}, {"b200", 2250.0},
      {"a800", 312.0},      {"gh200", 989.4},    {"h20", 148.0},  // 78 * 1024 * 1.853 GHz
      {"l40s", 362.05},                                           // 142 * 1024 * 2.490 GHz
      {"mi250x", 191.5},                                          // 110 * 1024 * 1.700 GHz
      {"v100", 125.0},                                            // 80 * 1024 * 1.530 GHz
      {"vr200", 4000.0},    {"mi455x", 5000.0},
  }));
  CAPTURE(name);
  const DeviceSpec device = test::shipped_gpu(name);
  const std::optional<FlopsPerSecond> peak =
      device.matrix_peak(device.base_format(), device.clock.rated);
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

TEST_CASE("a part of before there was bf16 multiplies 16 bits as fp16", "[unit]") {
  const DeviceSpec old = test::shipped_gpu("v100");
  CHECK(old.base_format() == Dtype::kFp16);
  CHECK_FALSE(old.matrix_peak(Dtype::kBf16, old.clock.rated).has_value());
  CHECK(old.multiplied_as(Dtype::kBf16) == Dtype::kFp16);
  CHECK(old.multiplied_as(Dtype::kFp32) == Dtype::kFp32);
  CHECK(old.matrix_rate_of(Dtype::kBf16) == old.matrix_rate_of(Dtype::kFp16));
  CHECK(old.achieved_gemm(Dtype::kBf16) == *old.achieved.gemm[slot(Dtype::kFp16)]);
  CHECK(old.sustained_clock(Dtype::kBf16) == *old.clock.sustained[slot(Dtype::kFp16)]);
  const DeviceSpec later = test::shipped_gpu("a100_80gb");
  CHECK(later.base_format() == Dtype::kBf16);
  CHECK(later.multiplied_as(Dtype::kFp16) == Dtype::kFp16);
  CHECK(later.multiplied_as(Dtype::kFp4) == Dtype::kBf16);
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

struct Replacement {
  std::string piece;
  std::string by;
};

// MI300X in a folder of profiles of its own, with one piece of the profile's text or of the text of
// the constants that it names replaced. The folder is gone with this.
class Profiles {
 public:
  Profiles(const Replacement& in_gpu, const Replacement& in_kernels)
      : folder_(test::scratch_path("device_spec")) {
    copy("gpus", in_gpu);
    copy("kernels", in_kernels);
    std::filesystem::copy(data_root().architectures(), folder_ / "architectures");
    std::filesystem::copy(data_root().collectives(), folder_ / "collectives");
    std::filesystem::copy(data_root().exchange(), folder_ / "exchange");
    std::filesystem::copy(data_root().libraries(), folder_ / "libraries.yaml");
  }
  Profiles(const Profiles&) = delete;
  Profiles& operator=(const Profiles&) = delete;
  ~Profiles() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string fault() const {
    return config_error([&] {
      load_device(folder_ / "gpus" / "mi300x.yaml", load_shared_sources(data_root()), folder_);
    });
  }

 private:
  void copy(const std::string& kind, const Replacement& replacement) const {
    std::string text = read_file(data_root().gpus().parent_path() / kind / "mi300x.yaml");
    const std::size_t at = text.find(replacement.piece);
    CAPTURE(replacement.piece);
    REQUIRE(at != std::string::npos);
    text.replace(at, replacement.piece.size(), replacement.by);
    std::filesystem::create_directories(folder_ / kind);
    std::ofstream(folder_ / kind / "mi300x.yaml") << text;
  }

  std::filesystem::path folder_;
};

std::string fault_after(const std::string& piece, const std::string& by) {
  return Profiles({piece, by}, {}).fault();
}
std::string kernels_fault_after(const std::string& piece, const std::string& by) {
  return Profiles({}, {piece, by}).fault();
}

TEST_CASE("an architecture that no kernels are known for is refused, never another one's",
          "[unit]") {
  const auto fault = [](const std::string& written) {
    return fault_after("architecture: gfx942", "architecture: " + written);
  };
  for (const std::string& known : names_in(data_root().architectures())) {
    CAPTURE(known);
    CHECK(fault(known) == "no error");
  }
  CHECK_THAT(fault("sm_90a"), contains_text("mi300x.yaml:") &&
                                  contains_text("'architecture' is 'sm_90a'") &&
                                  contains_text("did you mean 'sm90'?"));
  CHECK_THAT(fault("SM-100"), contains_text("did you mean 'sm100'?"));
  CHECK_THAT(fault("sm75"),
             contains_text("'architecture' is 'sm75', an unknown architecture; kernels are known "
                           "for gfx1250, gfx90a, gfx942, gfx950, sm100, sm103, sm107, sm120, sm70, "
                           "sm80, sm89, sm90"));
  CHECK_THAT(fault("gfx908"), contains_text("kernels are known for gfx1250, gfx90a, gfx942"));
}

TEST_CASE("kernels are measured on a part that exists and has its own", "[unit]") {
  const auto fault = [](const std::string& part) {
    return fault_after("architecture: gfx942",
                       "kernels_measured_on: " + part + "\narchitecture: gfx942");
  };
  CHECK_THAT(fault("mi30x"),
             contains_text("'kernels_measured_on' is 'mi30x', which is no part; did "
                           "you mean 'mi300x'?"));
  CHECK_THAT(fault("mi300x"), contains_text("on which no kernel was measured either"));
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
  CHECK_THAT(fault_after("vendor: amd", ""), contains_text("needs the key 'vendor'"));
  CHECK_THAT(fault_after("achieved: {value: 4.11 TB/s", "achieved: {value: 0 TB/s"),
             contains_text("'hbm.achieved': '0 TB/s' is out of range; give 1e-06 TB/s"));
  CHECK_THAT(fault_after("achieved: {value: 4.11 TB/s", "achieved: {value: 41.1 TB/s"),
             contains_text("'hbm' achieves more than its peak"));
  CHECK_THAT(fault_after("limit: {value: 750 W", "limit: {value: 100 W"),
             contains_text("'power' has an idle power that is not below its limit"));
  CHECK_THAT(
      fault_after("{value: 304, source: CDNA3WP}", "{value: 8, source: CDNA3WP}"),
      contains_text("and the kernel_units of a collective, 40 of 8, leave no unit to computation"));
  CHECK_THAT(fault_after("{value: 304, source: CDNA3WP}", "{value: 1000001, source: CDNA3WP}"),
             contains_text("'compute_units': 1000001 is out of range; give 1 to 1000000"));
  CHECK_THAT(fault_after("collectives: mi300x", "collectives: mi301x"),
             contains_text("names no file of the folder collectives; did you mean 'mi300x'?"));
  CHECK_THAT(fault_after("exchange: cdna3", "exchange: cdna4"),
             contains_text("names no file of the folder exchange; did you mean 'cdna3'?"));
  CHECK_THAT(fault_after("source: PRIMUS", "source: PRIMUZ"), contains_text("PRIMUS"));
}

// The constants of kernels with another entry for `key`, which it must have. The message must give
// the entry's line.
std::string fault_of_constant(const std::string& key, const std::string& entry) {
  const std::string text = read_file(data_root().gpus().parent_path() / "kernels" / "mi300x.yaml");
  const std::size_t at = text.find("  " + key + ": {");
  REQUIRE(at != std::string::npos);
  const std::string whole = text.substr(at, text.find('}', at) + 1 - at);
  const std::string fault = kernels_fault_after(whole, "  " + key + ": " + entry);
  const auto line =
      1 + std::count(text.begin(), std::next(text.begin(), static_cast<long>(at)), '\n');
  CHECK_THAT(fault, contains_text("kernels/mi300x.yaml:" + std::to_string(line) + ":"));
  return fault;
}

TEST_CASE("a fault in the constants of kernels is refused at its file and line", "[unit]") {
  CHECK_THAT(kernels_fault_after("prologue_cycles:", "prologue_cycels:"),
             contains_text("kernels/mi300x.yaml:") &&
                 contains_text("'gemm' needs the key 'prologue_cycles'") &&
                 contains_text("did you mean 'prologue_cycles'?"));
  CHECK_THAT(
      kernels_fault_after("gemm:\n", "gemm:\n  warp_size: {value: 64, assumed: x}\n"),
      contains_text("kernels/mi300x.yaml:") && contains_text("unknown key 'warp_size' in 'gemm'"));
  CHECK_THAT(fault_of_constant("start_up", "{value: 1 GHz, assumed: x}"),
             contains_text("'gemm.start_up': '1 GHz'"));
  CHECK_THAT(fault_of_constant("hbm_share", "{value: 1.5, assumed: x}"),
             contains_text("'gemm.hbm_share'"));
  CHECK_THAT(fault_of_constant("port_bytes_per_clock", "{value: 0 B, assumed: x}"),
             contains_text("'0 B' is out of range"));
  CHECK_THAT(fault_of_constant("start_up", "{value: 2 s, assumed: x}"),
             contains_text("'2 s' is out of range; give 0 us to 1,000,000 us"));
  CHECK_THAT(fault_of_constant("split_latency", "{value: 1 us, source: NOBODY}"),
             contains_text("'NOBODY', which is not in 'sources'"));
  CHECK_THAT(fault_of_constant("split_latency", "1 us"), contains_text("has no source"));
}

TEST_CASE("constants of kernels need the matrix efficiency of bf16", "[unit]") {
  CHECK_THAT(kernels_fault_after("matrix_efficiency:\n    bf16:", "matrix_efficiency:\n    fp32:"),
             contains_text("'gemm.matrix_efficiency' needs bf16"));
}

TEST_CASE("constants of kernels that no file holds are refused with the nearest name", "[unit]") {
  CHECK_THAT(fault_after("kernels: mi300x", "kernels: mi30x"),
             contains_text("gpus/mi300x.yaml:") &&
                 contains_text("'kernels' is 'mi30x', which names no file of the folder kernels; "
                               "did you mean 'mi300x'?"));
  CHECK_THAT(fault_after("kernels: mi300x", "kernels: ../gpus/mi300x"),
             contains_text("names no file of the folder kernels"));
  CHECK_THAT(fault_after("kernels: mi300x\n", ""), contains_text("needs the key 'kernels'"));
}

}  // namespace
}  // namespace stepcast::device_spec_test
