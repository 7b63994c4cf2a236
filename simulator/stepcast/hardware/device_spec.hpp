// SPDX-License-Identifier: Apache-2.0
// One GPU: what it can do a clock cycle, at which clock, and what its memories and links carry.
//
// Plain numbers for the models of cost, which device_tables.hpp describes; where each comes from is
// in `provenance`, in the order of the file. A "compute unit" is a CU (AMD) or an SM (NVIDIA).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/architecture.hpp"
#include "stepcast/hardware/collective_constants.hpp"
#include "stepcast/hardware/exchange_constants.hpp"
#include "stepcast/hardware/kernel_constants.hpp"
#include "stepcast/hardware/library_constants.hpp"
#include "stepcast/hardware/part_distance.hpp"
#include "stepcast/hardware/part_names.hpp"
#include "stepcast/hardware/part_standing.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

struct ClockSpec {
  Hertz peak;
  Hertz rated;  // the one that data sheets quote their matrix rate at; MFU is relative to it
  // Under a long GEMM on random operands at the power limit.
  PerDtype<Hertz> sustained;
};

struct CacheSpec {
  Bytes capacity;                           // of one instance
  std::int64_t instances = 1;               // 8 for one L2 a die of 8 dies
  std::optional<BytesPerSecond> bandwidth;  // aggregate, achieved
};

struct LocalMemorySpec {  // LDS (AMD) or shared memory (NVIDIA), of one compute unit
  Bytes capacity;
  BytesPerCycle bandwidth;
};

struct HbmSpec {
  Bytes capacity;
  BytesPerSecond peak;
  BytesPerSecond achieved;  // by a long streaming kernel
  Seconds latency;
  // The odds of not running out of it from which a plan counts as one that fits.
  double sure = 0.95;
};

struct PowerSpec {
  Watts limit;
  Watts idle;  // clocked, without work
};

enum class ScaleUpTopology { kSwitch, kFullMesh };

// The fabric between the GPUs of one domain. Rates are of one GPU in one direction.
struct ScaleUpSpec {
  std::string technology;
  ScaleUpTopology topology = ScaleUpTopology::kSwitch;
  std::int64_t domain_size = 8;
  std::int64_t links = 1;         // of one GPU; in a full mesh one to each peer
  BytesPerSecond link_rate;       // of one link, wire rate
  double efficiency = 1.0;        // what collectives achieve of it
  Seconds base_latency;           // of any collective
  Seconds hop_latency;            // of each dependent step
  std::int64_t kernel_units = 0;  // compute units that a collective's kernel holds
};

// The network between domains, as one GPU sees it.
struct ScaleOutSpec {
  double nics_per_gpu = 1.0;
  BytesPerSecond nic_rate;  // of one NIC, wire rate
  double efficiency = 1.0;  // what collectives achieve of it
  Seconds base_latency;     // added to a collective that leaves the domain
  Seconds hop_latency;      // of each dependent step over the network
};

// What simple kernels achieve, as shares of the rates above at the clock that they run at.
struct AchievedSpec {
  PerDtype<double> gemm;
  double attention_forward = 0.0;
  double attention_backward = 0.0;
};

struct DeviceSpec {
  std::string name;
  std::string title;
  std::string vendor;  // printed, and what GPUs of one have in common where none was measured
  PartNames called;
  Architecture architecture;

  std::int64_t compute_units = 0;
  ClockSpec clock;
  PerDtype<FlopsPerCycle> matrix_rate;  // of one compute unit, dense, FMA = 2
  FlopsPerCycle vector_rate;            // of one compute unit, fp32
  double transcendental_rate = 0.0;     // exp2 of one compute unit a clock cycle
  Bytes register_file;                  // of one compute unit
  LocalMemorySpec local_memory;
  CacheSpec l2;
  std::optional<CacheSpec> mall;  // AMD's Infinity Cache
  HbmSpec hbm;
  PowerSpec power;
  Seconds launch_latency;        // from kernel to kernel in a stream
  Seconds graph_launch_latency;  // the same inside a captured graph
  std::int64_t gpus_per_node = 8;
  // The profile of its host, where that is not the usual one (cluster_spec.hpp); empty otherwise.
  std::string host;
  // To its host's memory in each direction, where that is not what most hosts have.
  std::optional<BytesPerSecond> host_link;
  ScaleUpSpec scale_up;
  ScaleOutSpec scale_out;
  AchievedSpec achieved;
  KernelConstants kernels;
  CollectiveConstants collectives;
  ExchangeConstants exchange;
  LibraryConstants libraries;

  std::vector<std::string> bases;  // parts whose profiles this one changes, nearest first
  // The part that the kernels' constants were measured on, where this one never was; else empty.
  std::string stand_in;
  PartStanding standing = PartStanding::kShipped;
  bool is_own = false;  // of the user's own, beside the profiles that ship
  PartDistance distance = PartDistance::kNone;
  // Of a part of the user's own: what it took over that may no longer fit (part_fit.hpp).
  std::vector<std::string> doubts;
  std::vector<Provenance> provenance;
  SourceTable sources;

  // The 16-bit format of its matrix units: bf16, or fp16 on a part of before there was bf16.
  [[nodiscard]] Dtype base_format() const;
  // The format that its matrix units multiply numbers of `dtype` in: its own, or the base one.
  [[nodiscard]] Dtype multiplied_as(Dtype dtype) const;
  // Of one unit; that of the base format if the part has no such format.
  [[nodiscard]] FlopsPerCycle matrix_rate_of(Dtype dtype) const;
  // Dense matrix rate of the whole GPU at `clock`; empty if the part has no such format.
  [[nodiscard]] std::optional<FlopsPerSecond> matrix_peak(Dtype dtype, Hertz at) const;
  // The share of that rate that a large GEMM achieves at the sustained clock; that of the base
  // format where it is not known.
  [[nodiscard]] double achieved_gemm(Dtype dtype) const;
  // The clock that a long GEMM of `dtype` holds; that of the base format where it is not known.
  [[nodiscard]] Hertz sustained_clock(Dtype dtype) const;
};

// Reads a GPU's profile, those of the parts that it is based on, and the constants that it names.
// These lie in the folders `gpus`, `architectures`, `kernels`, `collectives` and `exchange` of
// `profiles`, beside the file of what is alike on all. The profile itself may lie anywhere; one
// that does not lie there is held against its base (part_fit.hpp). Throws ConfigError with all of
// its problems.
DeviceSpec load_device(const std::filesystem::path& file, const SourceTable& shared_sources,
                       const std::filesystem::path& profiles);

// The whole profile of a part that is another one with a few numbers changed, one die sold with
// other memory, clocks or power: `base: h100_sxm` names a profile of `folder`, whose numbers hold
// where this one states none. A number is replaced with its source: {value, source} is one thing.
// The key `base` goes, every value keeps its place in the file that states it, a section stands
// where the nearest file has it, and `bases` gets the names of the parts that it is based on,
// nearest first. Throws ConfigError if a base is not in `folder` or is based on itself.
ConfigNode profile_with_bases(const std::filesystem::path& file,
                              const std::filesystem::path& folder, std::vector<std::string>& bases);

// As what a device says of itself is held against it.
KnownPart known_part(const DeviceSpec& device);

// "vr200 is an estimate from announced figures: ...", with where the rest is from; empty for a part
// that is sold.
std::string estimate_note(const DeviceSpec& device);

// "exchange constants of deepep on mi300x assumed, 16 of 19: as H100", with the reason that most of
// them give; empty where a source stands behind every constant of the dispatcher.
std::string assumed_exchange(const DeviceSpec& device, Dispatcher dispatcher);

}  // namespace stepcast
