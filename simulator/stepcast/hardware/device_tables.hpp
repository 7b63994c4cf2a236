// SPDX-License-Identifier: Apache-2.0
// The numbers of hardware_profiles/gpus, each described once (constant.hpp).
#pragma once

#include "stepcast/hardware/constant.hpp"
#include "stepcast/hardware/device_spec.hpp"

namespace stepcast::device_tables {

using Part = DeviceSpec;
inline constexpr auto kUnits =
    std::to_array<Constant<Part>>({{"compute_units", "", limits::kCounted, kByHand,
                                    "enabled units of the whole GPU", &Part::compute_units}});

inline constexpr auto kClock = std::to_array<Constant<ClockSpec>>(
    {{"peak", "MHz", limits::kMegahertz, kByHand, "highest clock", &ClockSpec::peak},
     {"rated", "MHz", limits::kMegahertz, kByHand,
      "that data sheets quote their matrix rate at, which MFU is relative to; "
      "the highest if left out",
      &ClockSpec::rated, kIfGiven},
     {"sustained", "MHz", limits::kMegahertz, kByHand,
      "that a long GEMM on random operands holds at the power limit; that of "
      "bf16 where a format is missing",
      &ClockSpec::sustained}});

inline constexpr auto kRates = std::to_array<Constant<Part>>(
    {Constant<Part>{"matrix_rate", "FLOP/clk", limits::kFlopsPerClock, kByHand,
                    "of one unit, dense; fp32 on NVIDIA is the vector rate (TF32 off)",
                    &Part::matrix_rate}
         .with(&ClusterScale::matrix_rate),
     {"vector_rate", "FLOP/clk", limits::kFlopsPerClock, kByHand, "fp32 of one unit",
      &Part::vector_rate},
     {"transcendental_rate", "", Range<double>{0.1, 4096.0}, kByHand,
      "exp2 of one unit a clock cycle", &Part::transcendental_rate},
     {"register_file", "KiB", limits::kKibibytes, kByHand, "of one unit", &Part::register_file}});

using Local = LocalMemorySpec;
inline constexpr auto kLocalMemory =
    std::to_array<Constant<Local>>({{"capacity", "KiB", limits::kKibibytes, kByHand,
                                     "LDS or shared memory of one unit", &Local::capacity},
                                    {"bandwidth_per_clock", "B", limits::kBytesPerClock, kByHand,
                                     "between it and its unit", &Local::bandwidth}});

inline constexpr auto kCache = std::to_array<Constant<CacheSpec>>(
    {{"capacity", "MiB", limits::kMebibytes, kByHand, "of one instance", &CacheSpec::capacity},
     {"instances", "", limits::kCounted, kByHand, "AMD has an L2 a die; 1 if left out",
      &CacheSpec::instances, kIfGiven},
     {"bandwidth", "TB/s", limits::kTerabytesPerSecond, kByHand, "achieved, of all instances",
      &CacheSpec::bandwidth, kIfGiven}});

inline constexpr auto kHbm = std::to_array<Constant<HbmSpec>>(
    {{"capacity", "GB", limits::kGigabytes, kByHand, "of the whole GPU", &HbmSpec::capacity},
     Constant<HbmSpec>{"peak", "TB/s", limits::kTerabytesPerSecond, kByHand,
                       "of its pins, data sheet", &HbmSpec::peak}
         .with(&ClusterScale::hbm_bandwidth),
     Constant<HbmSpec>{"achieved", "TB/s", limits::kTerabytesPerSecond, kByHand,
                       "by a long streaming copy, reads and writes counted", &HbmSpec::achieved}
         .with(&ClusterScale::hbm_bandwidth),
     {"latency", "ns", limits::kNanoseconds, kByHand, "of one dependent load", &HbmSpec::latency}});

inline constexpr auto kPower = std::to_array<Constant<PowerSpec>>(
    {{"limit", "W", limits::kWatts, kByHand, "of the GPU or module", &PowerSpec::limit},
     {"idle", "W", Range<double>{0.0, limits::kWatts.highest}, kByHand,
      "of the GPU or module, clocked and without work", &PowerSpec::idle}});

inline constexpr auto kLaunch = std::to_array<Constant<Part>>(
    {Constant<Part>{"launch_latency", "us", limits::kMicroseconds, kByHand,
                    "from kernel to kernel in a stream, host not limiting", &Part::launch_latency}
         .with(&ClusterScale::latency),
     Constant<Part>{"graph_launch_latency", "us", limits::kMicroseconds, kByHand,
                    "the same inside a captured graph", &Part::graph_launch_latency}
         .with(&ClusterScale::latency),
     {"gpus_per_node", "", limits::kCounted, kByHand, "GPUs under one host or tray",
      &Part::gpus_per_node},
     {"host_link", "GB/s", limits::kGigabytesPerSecond, kByHand,
      "to pinned memory of its host, in each direction; that of the host's profile if left out",
      &Part::host_link, kIfGiven}});

using Fabric = ScaleUpSpec;
inline constexpr auto kScaleUp = std::to_array<Constant<Fabric>>(
    {{"domain_size", "", limits::kCounted, kByHand,
      "GPUs joined by the fabric (72 for an NVL72 rack)", &Fabric::domain_size},
     {"links", "", limits::kCounted, kByHand, "of one GPU; in a full mesh one to each peer",
      &Fabric::links},
     Constant<Fabric>{"link_rate", "GB/s", limits::kGigabytesPerSecond, kByHand,
                      "of one link, wire rate", &Fabric::link_rate}
         .with(&ClusterScale::scale_up_bandwidth),
     {"efficiency", "", limits::kShare, kByHand,
      "bus bandwidth of a large all-gather or reduce-scatter over links x rate",
      &Fabric::efficiency},
     Constant<Fabric>{"base_latency", "us", limits::kMicroseconds, kByHand,
                      "tiny collective = base + steps x hop (7 steps for an all-gather of 8)",
                      &Fabric::base_latency}
         .with(&ClusterScale::latency),
     Constant<Fabric>{"hop_latency", "us", limits::kMicroseconds, kByHand, "of each dependent step",
                      &Fabric::hop_latency}
         .with(&ClusterScale::latency),
     {"kernel_units", "", limits::kCounted, kByHand,
      "compute units that a collective's kernel holds while it runs", &Fabric::kernel_units}});

using Network = ScaleOutSpec;
inline constexpr auto kScaleOut = std::to_array<Constant<Network>>(
    {{"nics_per_gpu", "", limits::kNicsPerGpu, kByHand, "0.125 is one NIC for 8 GPUs",
      &Network::nics_per_gpu},
     Constant<Network>{"nic_rate", "Gb/s", limits::kGigabitsPerSecond, kByHand,
                       "of one NIC, wire rate", &Network::nic_rate}
         .with(&ClusterScale::scale_out_bandwidth),
     {"efficiency", "", limits::kShare, kByHand, "of the NIC rate that large collectives reach",
      &Network::efficiency},
     Constant<Network>{"base_latency", "us", limits::kMicroseconds, kByHand,
                       "added once to a collective that leaves the domain", &Network::base_latency}
         .with(&ClusterScale::latency),
     Constant<Network>{"hop_latency", "us", limits::kMicroseconds, kByHand,
                       "of each dependent step over the network", &Network::hop_latency}
         .with(&ClusterScale::latency)});

using Achieved = AchievedSpec;
inline constexpr auto kAchieved = std::to_array<Constant<Achieved>>(
    {{"gemm", "", limits::kShare, kByHand,
      "of the matrix rate at the sustained clock of the format, for a large GEMM", &Achieved::gemm},
     {"attention_forward", "", limits::kShare, kByHand,
      "of the bf16 matrix rate at the sustained bf16 clock, flash attention, "
      "causal, head dimension 128, 4k to 8k",
      &Achieved::attention_forward},
     {"attention_backward", "", limits::kShare, kByHand, "the same of backward",
      &Achieved::attention_backward}});

inline constexpr auto kParts = [](auto& visit) {
  visit.own(kUnits);
  visit.part("clock", &Part::clock, parts_of(kClock));
  visit.own(kRates);
  visit.part("local_memory", &Part::local_memory, parts_of(kLocalMemory));
  visit.part("l2", &Part::l2, parts_of(kCache));
  visit.part("mall", &Part::mall, parts_of(kCache));
  visit.part("hbm", &Part::hbm, parts_of(kHbm));
  visit.part("power", &Part::power, parts_of(kPower));
  visit.own(kLaunch);
  visit.part("scale_up", &Part::scale_up, parts_of(kScaleUp));
  visit.part("scale_out", &Part::scale_out, parts_of(kScaleOut));
  visit.part("achieved", &Part::achieved, parts_of(kAchieved));
};

}  // namespace stepcast::device_tables
