// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/generic_part.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/units_text.hpp"
#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/hardware/part_fit.hpp"

namespace stepcast {
namespace {

constexpr UnitRange kPeaks{Range<double>{1e-3, 1e7}, "TFLOP/s"};
constexpr UnitRange kMemoryRates{limits::kTerabytesPerSecond, "TB/s"};
constexpr UnitRange kCapacities{limits::kGigabytes, "GB"};
constexpr UnitRange kPowers{limits::kWatts, "W"};
constexpr Range<std::int64_t> kCounts{static_cast<std::int64_t>(limits::kCounted.lowest),
                                      static_cast<std::int64_t>(limits::kCounted.highest)};

double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

void multiply_share(double& share, double factor) { share = std::min(1.0, share * factor); }

void set_compute(DeviceSpec& device, const GenericPart& part, const DeviceSpec& like) {
  const FlopsPerCycle unit = like.matrix_rate_of(Dtype::kBf16);
  const FlopsPerSecond peak = *part.peak[slot(Dtype::kBf16)];
  const double units = std::round(peak / (unit * like.clock.rated));
  device.compute_units = std::max<std::int64_t>(1, static_cast<std::int64_t>(units));
  const Hertz clock = peak / (static_cast<double>(device.compute_units) * unit);
  device.clock = {clock, clock, {}};
  device.matrix_rate = {};
  device.achieved.gemm = {};
  const auto set = [&](Dtype dtype, FlopsPerCycle rate) {
    device.matrix_rate[slot(dtype)] = rate;
    device.clock.sustained[slot(dtype)] = clock;
    device.achieved.gemm[slot(dtype)] = part.matrix_efficiency;
  };
  if (like.matrix_rate[slot(Dtype::kFp32)]) {
    set(Dtype::kFp32, *like.matrix_rate[slot(Dtype::kFp32)]);  // the vector lanes of so many units
  }
  set(Dtype::kFp16, unit);
  for (const DtypeInfo& dtype : kDtypes) {
    if (const auto& stated = part.peak[slot(dtype.dtype)]) {
      set(dtype.dtype, (*stated / peak) * unit);
    }
  }
}

void set_caches(DeviceSpec& device, const DeviceSpec& like) {
  const double units = ratio(device.compute_units, like.compute_units);
  const auto grow = [units](CacheSpec& cache) {
    cache.capacity = units * cache.capacity;
    if (cache.bandwidth) {
      cache.bandwidth = units * *cache.bandwidth;
    }
  };
  grow(device.l2);
  if (device.mall) {
    grow(*device.mall);
  }
}

// Rates of libraries follow the links and memory that they were measured on.
ClusterScale scale_of(const GenericPart& part, const DeviceSpec& like) {
  ClusterScale scale;
  scale.hbm_bandwidth = part.memory / like.hbm.peak;
  scale.scale_up_bandwidth =
      part.scale_up / (static_cast<double>(like.scale_up.links) * like.scale_up.link_rate);
  scale.scale_out_bandwidth =
      part.scale_out / (like.scale_out.nics_per_gpu * like.scale_out.nic_rate);
  return scale;
}

void set_links(DeviceSpec& device, const GenericPart& part, const DeviceSpec& like) {
  ScaleUpSpec& fabric = device.scale_up;
  fabric.technology = "generic";
  fabric.topology = ScaleUpTopology::kSwitch;
  fabric.domain_size = part.domain_size;
  fabric.links = 1;
  fabric.link_rate = part.scale_up;
  fabric.efficiency = part.network_efficiency;
  const double held = ratio(like.scale_up.kernel_units, like.compute_units);
  const auto units = static_cast<double>(device.compute_units);
  fabric.kernel_units =
      std::clamp<std::int64_t>(std::llround(held * units), 0, device.compute_units - 1);
  device.scale_out.nics_per_gpu = 1.0;
  device.scale_out.nic_rate = part.scale_out;
  device.scale_out.efficiency = part.network_efficiency;
}

void set_power(DeviceSpec& device, const GenericPart& part, const DeviceSpec& like) {
  device.power.limit = part.power_limit;
  device.power.idle = (part.power_limit / like.power.limit) * like.power.idle;
  const Watts work = device.power.limit - device.power.idle;
  PowerConstants& power = device.kernels.power;
  power.reference_clock = device.clock.rated;
  const auto cycles = static_cast<double>(device.compute_units) * device.clock.rated;
  for (const DtypeInfo& dtype : kDtypes) {
    if (device.matrix_rate[slot(dtype.dtype)]) {
      power.matrix_energy[slot(dtype.dtype)] = kProductShare * (work / cycles);
    }
  }
  power.hbm_energy = (1.0 - kProductShare) * (work / device.hbm.achieved) * Bytes(1.0);
}

// Shares of the rates, in the ratio in which `part` reaches more or less of them than `like`.
void set_kernels(DeviceSpec& device, const GenericPart& part, const DeviceSpec& like) {
  const double products = part.matrix_efficiency / like.achieved_gemm(like.base_format());
  const double copies = part.memory_efficiency / (like.hbm.achieved / like.hbm.peak);
  KernelConstants& kernels = device.kernels;
  for (const DtypeInfo& dtype : kDtypes) {
    std::optional<double>& share = kernels.gemm.matrix_efficiency[slot(dtype.dtype)];
    if (share) {
      multiply_share(*share, products);
    }
  }
  multiply_share(kernels.gemm.hbm_share, copies);
  multiply_share(kernels.attention.forward_efficiency, products);
  multiply_share(kernels.attention.backward_efficiency, products);
  multiply_share(device.achieved.attention_forward, products);
  multiply_share(device.achieved.attention_backward, products);
  kernels.memory.unit_bandwidth = (device.hbm.achieved / like.hbm.achieved) *
                                  ratio(like.compute_units, device.compute_units) *
                                  like.kernels.memory.unit_bandwidth;
}

// A number of the device that follows from one of `generic`.
struct Followed {
  std::string key;
  std::string value;
  std::string stated;
};

std::vector<Followed> followed_numbers(const DeviceSpec& device) {
  const std::string clock = rounded_quantity(device.clock.peak, 4);
  std::vector<Followed> numbers = {
      {"compute_units", std::to_string(device.compute_units), "peak.bf16"},
      {"clock.peak", clock, "peak.bf16"},
      {"clock.rated", clock, "peak.bf16"},
      {"hbm.capacity", format_quantity(device.hbm.capacity), "memory.capacity"},
      {"hbm.peak", format_quantity(device.hbm.peak), "memory.rate"},
      {"hbm.achieved", rounded_quantity(device.hbm.achieved, 4), "efficiency.memory"},
      {"power.limit", format_quantity(device.power.limit), "power_limit"},
      {"gpus_per_node", std::to_string(device.gpus_per_node), "gpus_per_node"},
      {"scale_up.domain_size", std::to_string(device.scale_up.domain_size), "scale_up.domain_size"},
      {"scale_up.links", "1", "scale_up.rate"},
      {"scale_up.link_rate", format_quantity(device.scale_up.link_rate), "scale_up.rate"},
      {"scale_up.efficiency", shortest_text(device.scale_up.efficiency), "efficiency.network"},
      {"scale_out.nics_per_gpu", "1", "scale_out.rate"},
      {"scale_out.nic_rate", format_quantity(device.scale_out.nic_rate), "scale_out.rate"},
      {"scale_out.efficiency", shortest_text(device.scale_out.efficiency), "efficiency.network"}};
  for (const DtypeInfo& dtype : kDtypes) {
    const std::string format = "." + std::string(dtype.name);
    if (const auto& rate = device.matrix_rate[slot(dtype.dtype)]) {
      numbers.push_back(
          {"matrix_rate" + format, significant(rate->value(), 4) + " FLOP/clk", "peak" + format});
      numbers.push_back({"clock.sustained" + format, clock, "efficiency.matrix"});
      numbers.push_back({"achieved.gemm" + format,
                         shortest_text(*device.achieved.gemm[slot(dtype.dtype)]),
                         "efficiency.matrix"});
    }
  }
  return numbers;
}

// Numbers of formats that the part it is like has and it has not.
void drop_missing_formats(DeviceSpec& device) {
  for (const DtypeInfo& dtype : kDtypes) {
    if (!device.matrix_rate[slot(dtype.dtype)]) {
      const std::string format = "." + std::string(dtype.name);
      std::erase_if(device.provenance, [&format](const Provenance& number) {
        return number.key == "matrix_rate" + format || number.key == "clock.sustained" + format ||
               number.key == "achieved.gemm" + format;
      });
    }
  }
}

void say_where_from(DeviceSpec& device, const std::string& like,
                    const std::vector<Provenance>& stated) {
  drop_missing_formats(device);
  for (Provenance& number : device.provenance) {
    number.kind = SourceKind::kAssumed;
    number.source = "as " + like;
    number.note.clear();
  }
  for (const Followed& number : followed_numbers(device)) {
    const auto of = std::ranges::find(stated, "generic." + number.stated, &Provenance::key);
    if (of != stated.end()) {
      Provenance own = *of;
      own.key = number.key;
      own.value = number.value;
      own.note = "from " + of->key + ", " + of->value;
      restate(device.provenance, own);
    }
  }
}

}  // namespace

GenericPart read_generic_part(MappingReader generic, const SourceTable& sources,
                              std::vector<Provenance>& provenance) {
  GenericPart part;
  part.like = generic.required_text("like");
  SourcedReader reader(std::move(generic), sources, provenance);
  part.peak = values_by_dtype<FlopsPerSecond>(
      reader.mapping("peak"), [](SourcedReader& formats, std::string_view format) {
        return formats.optional_quantity<FlopsPerSecond>(format, kPeaks);
      });
  if (reader.has("peak") && !part.peak[slot(Dtype::kBf16)]) {
    reader.reader().error("peak", "needs bf16, which other formats fall back to");
  }
  SourcedReader memory = reader.mapping("memory");
  part.capacity = memory.quantity<Bytes>("capacity", kCapacities);
  part.memory = memory.quantity<BytesPerSecond>("rate", kMemoryRates);
  memory.finish();
  SourcedReader fabric = reader.mapping("scale_up");
  part.scale_up = fabric.quantity<BytesPerSecond>("rate", limits::kLinkRate);
  part.domain_size = fabric.count("domain_size", kCounts);
  fabric.finish();
  SourcedReader network = reader.mapping("scale_out");
  part.scale_out = network.quantity<BytesPerSecond>("rate", limits::kNicRate);
  network.finish();
  part.power_limit = reader.quantity<Watts>("power_limit", kPowers);
  part.gpus_per_node = reader.count("gpus_per_node", kCounts);
  SourcedReader efficiency = reader.mapping("efficiency");
  part.matrix_efficiency = efficiency.number("matrix", limits::kShare);
  part.memory_efficiency = efficiency.number("memory", limits::kShare);
  part.network_efficiency = efficiency.number("network", limits::kShare);
  efficiency.finish();
  const std::string domain = domain_fault(part.domain_size, part.gpus_per_node);
  if (reader.reader().good({"scale_up", "gpus_per_node"}) && !domain.empty()) {
    reader.reader().error("scale_up", domain);
  }
  reader.finish();
  return part;
}

DeviceSpec device_of(const GenericPart& part, const DeviceSpec& like,
                     const std::vector<Provenance>& stated) {
  ClusterSpec follower;
  follower.device = like;
  DeviceSpec device = scaled(std::move(follower), scale_of(part, like)).device;
  set_compute(device, part, like);
  set_caches(device, like);
  device.hbm.capacity = part.capacity;
  device.hbm.peak = part.memory;
  device.hbm.achieved = part.memory_efficiency * part.memory;
  device.gpus_per_node = part.gpus_per_node;
  set_links(device, part, like);
  set_kernels(device, part, like);
  set_power(device, part, like);
  say_where_from(device, like.name, stated);
  return device;
}

}  // namespace stepcast
