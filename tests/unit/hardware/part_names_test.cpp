// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/part_names.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/experiment/profile_cache.hpp"

namespace stepcast::part_names_test {
namespace {

std::string parts_of(const DeviceIdentity& device) {
  static ProfileCache profiles(test::data_root());
  return text_list(parts_of_device(device, profiles.known_parts()));
}

std::string parts_named(const std::string& name) { return parts_of({name, {}, {}}); }

TEST_CASE("How many parts there are is no part of their name, before it or behind it", "[unit]") {
  for (const char* counted : {"8 x H100", "8x H100", "8xH100", "H100x8", "H100 x8", "H100 x 8"}) {
    CAPTURE(counted);
    CHECK(parts_named(counted) == "h100_sxm");
  }
  const std::string part = parts_named("RTX PRO 6000 Server");
  CHECK(part == "rtx_pro_6000");
  for (const char* counted : {"RTX PRO 6000 Server x 8", "RTX PRO Server 6000 x 8",
                              "RTX PRO Server 6000x8", "8 x RTX PRO 6000 Server"}) {
    CAPTURE(counted);
    CHECK(parts_named(counted) == part);
  }
  CHECK(parts_named("RTX PRO 6000 x 8") == parts_named("RTX PRO 6000"));
}

TEST_CASE("A part is known by what its driver and those who report of it call it", "[unit]") {
  CHECK(parts_named("h100_sxm") == "h100_sxm");
  CHECK(parts_named("NVIDIA H100 80GB HBM3") == "h100_sxm");
  CHECK(parts_named("H100 SXM5 80 GB") == "h100_sxm");
  CHECK(parts_named("8x H100") == "h100_sxm");
  CHECK(parts_named("8 x H100") == "h100_sxm");
  CHECK(parts_named("8xH100") == "h100_sxm");
  CHECK(parts_named("H100x8") == "h100_sxm");
  CHECK(parts_named("8xA100-SXM4-80GB") == "a100_80gb");
  CHECK(parts_named("AMD MI300X gfx942:sramecc+:xnack-") == "mi300x");
  CHECK(parts_named("NVIDIA H100 PCIe") == "h100_pcie");
  CHECK(parts_named("H100 96GB HBM2e (Grand Teton, 500W)") == "h100_96gb_500w");
  CHECK(parts_named("NVIDIA A100-SXM4-80GB") == "a100_80gb");
  CHECK(parts_named("NVIDIA A100-SXM4-40GB") == "a100_40gb");
  CHECK(parts_named("NVIDIA B300 SXM6 AC") == "b300");
  CHECK(parts_named("GB200 NVL72") == "gb200");
  CHECK(parts_named("AMD Instinct MI300X OAM") == "mi300x");
  CHECK(parts_named("AMD Instinct MI300X VF") == "mi300x");
  CHECK(parts_named("AMD Instinct MI355 OAM") == "mi355x");
  CHECK(parts_named("AMD gfx942 (MI300X)") == "mi300x");
  CHECK(parts_named("AMD gfx90a (MI250X)") == "mi250x");
  CHECK(parts_named("NVIDIA H20") == "h20");
  CHECK(parts_named("NVIDIA GH200 480GB") == "gh200");
  CHECK(parts_named("NVIDIA A800-SXM4-80GB") == "a800");
  CHECK(parts_named("NVIDIA L40S") == "l40s");
  CHECK(parts_named("NVIDIA RTX PRO 6000 Blackwell Server Edition") == "rtx_pro_6000");
  CHECK(parts_named("AMD Instinct MI250X") == "mi250x");
  CHECK(parts_named("Tesla V100-SXM2-32GB") == "v100");
  CHECK(parts_named("VR200 NVL72 (Vera Rubin)") == "vr200");
  CHECK(parts_named("AMD Instinct MI455X") == "mi455x");
}

TEST_CASE("A part is known by the machine of a cloud that has no other", "[unit]") {
  CHECK(parts_named("p5.48xlarge") == "h100_sxm");
  CHECK(parts_named("ml.p5en.48xlarge") == "h200_sxm");
  CHECK(parts_named("p4d.24xlarge") == "a100_40gb");
  CHECK(parts_named("p4de.24xlarge") == "a100_80gb");
  CHECK(parts_named("p6-b200.48xlarge") == "b200");
  CHECK(parts_named("p6e-gb200.36xlarge") == "gb200");
  CHECK(parts_named("a3-megagpu-8g") == "h100_sxm");
  CHECK(parts_named("a3-ultragpu-8g") == "h200_sxm");
  CHECK(parts_named("a2-highgpu-8g") == "a100_40gb");
  CHECK(parts_named("a2-ultragpu-8g") == "a100_80gb");
  CHECK(parts_named("a4-highgpu-8g") == "b200");
  CHECK(parts_named("a4x-maxgpu-4g-metal") == "gb300");
  CHECK(parts_named("Standard_ND96isr_H100_v5") == "h100_sxm");
  CHECK(parts_named("Standard_ND96amsr_A100_v4") == "a100_80gb");
  CHECK(parts_named("ND MI300X v5") == "mi300x");
  CHECK(parts_named("BM.GPU.MI355X.8") == "mi355x");
  CHECK(parts_named("BM.GPU.A100-v2.8") == "a100_80gb");
  CHECK(parts_named("A3") == "h100_sxm, h200_sxm");
  for (const char* other : {"Standard_NC80adis_H100_v5", "Standard_NC24ads_A100_v4", "g6.48xlarge",
                            "p3.16xlarge", "trn2.48xlarge", "NVIDIA A2"}) {
    CAPTURE(other);
    CHECK(parts_named(other).empty());
  }
}

TEST_CASE("A part is known by its chip, its board and its power beside its name", "[unit]") {
  CHECK(parts_named("GH100 [H100 SXM5 80GB]") == "h100_sxm");
  CHECK(parts_named("GH100 [H100 PCIe]") == "h100_pcie");
  CHECK(parts_named("GH100 [H100 SXM5 94GB]").empty());
  CHECK(parts_named("H100 SXM5 80GB HBM3 700W") == "h100_sxm");
  CHECK(parts_named("NVIDIA HGX B300 NVL16") == "b300");
  CHECK(parts_named("GB200 186GB") == "gb200");
  CHECK(parts_named("GB200 NVL4").empty());
  CHECK(parts_named("A100 80G") == "a100_80gb");
  CHECK(parts_named("DGX A100") == "a100_40gb, a100_80gb");
  CHECK(parts_named("Aqua Vanjaram [Instinct MI300X]") == "mi300x");
  CHECK(parts_named("Aqua Vanjaram [Instinct MI300X HF]").empty());
  CHECK(parts_named("Aldebaran/MI200 [Instinct MI250X]") == "mi250x");
  CHECK(parts_named("Aldebaran/MI200 [Instinct MI250X/MI250]").empty());
  CHECK(parts_named("NVIDIA Vera Rubin NVL144") == "vr200");
  CHECK(parts_named("Rubin CPX").empty());
}

TEST_CASE("A part is known by its device on the PCI bus", "[unit]") {
  CHECK(parts_named("10de:2330") == "h100_sxm");
  CHECK(parts_named("PCI 10DE:20B0") == "a100_40gb");
  CHECK(parts_named("0x233110DE") == "h100_pcie");
  CHECK(parts_named("1002:74b5") == "mi300x");
  CHECK(parts_named("10de:2329") == "h20");
  CHECK(parts_named("10de:1db5") == "v100");
  CHECK(parts_named("1002:7408") == "mi250x");
  CHECK(parts_named("10de:2321").empty());  // H100 NVL
  CHECK(parts_named("1002:740f").empty());  // MI210
}

TEST_CASE("A word that a part does not have makes it another one", "[unit]") {
  for (const char* unknown :
       {"NVIDIA H100 NVL", "NVIDIA H20-3e", "NVIDIA GH200 144G HBM3e", "A100 PCIe 80GB",
        "NVIDIA A800 80GB PCIe", "MI308X", "mi300", "NVIDIA L40",
        "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA RTX PRO 5000 Blackwell",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "Tesla V100-SXM2-16GB", "AMD Radeon Graphics",
        "unstated (TFLOPS > H100 peak: Blackwell-class)", ""}) {
    CAPTURE(unknown);
    CHECK(parts_named(unknown).empty());
  }
}

TEST_CASE("What a name leaves open is a question between parts", "[unit]") {
  CHECK(parts_named("NVIDIA A100") == "a100_40gb, a100_80gb");
  CHECK(parts_named("gfx942") == "mi300x, mi325x");
  CHECK(parts_named("AMD gfx950 (MI350X/MI355X)") == "mi350x, mi355x");
  CHECK(parts_named("NVIDIA sm_80") == "a100_40gb, a100_80gb, a800");
  CHECK(parts_named("sm_90") == "gh200, h100_96gb_500w, h100_pcie, h100_sxm, h20, h200_sxm, h800");
}

TEST_CASE("A name that parts without a profile have too is a question, never a guess", "[unit]") {
  CHECK(parts_named("gfx90a") == "mi250x, mi210, mi250");
  CHECK(parts_named("AMD gfx90a (unknown)") == "mi250x, mi210, mi250");
  CHECK(parts_named("NVIDIA sm_89") == "l40s, l4, l40, rtx_4090");
  CHECK(parts_named("V100") == "v100, v100_16gb, v100_pcie");
  CHECK(parts_named("RTX PRO 6000") == "rtx_pro_6000, rtx_pro_6000_workstation, rtx_5090");
  // The profile's own name means it.
  CHECK(parts_named("v100") == "v100");
  CHECK(parts_named("rtx_pro_6000") == "rtx_pro_6000");
  // 110 units are of one die of MI250X; MI210 has 104 and as much memory.
  CHECK(parts_of({"gfx90a", Bytes(68702699520.0), 110}) == "mi250x");
  CHECK(parts_of({"gfx90a", Bytes(68702699520.0), 104}).empty());
  CHECK(parts_of({"gfx90a", Bytes(68702699520.0), {}}) == "mi250x, mi210, mi250");
  CHECK(parts_of({"Tesla V100", Bytes(34089730048.0), {}}) == "v100");
}

TEST_CASE("Memory and units settle what a name leaves open", "[unit]") {
  // What profilers list of these devices.
  CHECK(parts_of({"NVIDIA H100", Bytes(101997215744.0), 132}) == "h100_96gb_500w");
  CHECK(parts_of({"NVIDIA H100 80GB HBM3", Bytes(85018279936.0), 132}) == "h100_sxm");
  CHECK(parts_of({"NVIDIA A100-PG509-200", Bytes(42297524224.0), 108}) == "a100_40gb");
  CHECK(parts_of({"NVIDIA B200", Bytes(191503138816.0), 148}) == "b200");
  CHECK(parts_of({"", Bytes(206141652992.0), 304}) == "mi300x");
  CHECK(parts_of({"NVIDIA H20", Bytes(102010126336.0), 78}) == "h20");
  CHECK(parts_of({"gfx942", Bytes(274877906944.0), 304}) == "mi325x");
  // 64 GB of HBM2, a board of its own; and a partition of 38 units.
  CHECK(parts_of({"NVIDIA H100", Bytes(68719476736.0), 132}).empty());
  CHECK(parts_of({"AMD Instinct MI300X", Bytes(25769803776.0), 38}).empty());
}

}  // namespace
}  // namespace stepcast::part_names_test
