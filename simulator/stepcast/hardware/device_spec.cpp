// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/device_spec.hpp"

#include <iterator>

#include "stepcast/base/nearest_name.hpp"
#include "stepcast/hardware/by_dtype.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedValue<ScaleUpTopology>, 2> kTopologies = {
    {{"switch", ScaleUpTopology::kSwitch}, {"full_mesh", ScaleUpTopology::kFullMesh}}};

ClockSpec read_clock(SourcedReader reader) {
  ClockSpec clock;
  clock.peak = reader.quantity<Hertz>("peak");
  clock.rated = reader.optional_quantity<Hertz>("rated").value_or(clock.peak);
  clock.sustained = quantities_by_dtype<Hertz>(reader.mapping("sustained"));
  reader.finish();
  return clock;
}

CacheSpec read_cache(SourcedReader reader) {
  CacheSpec cache;
  cache.capacity = reader.quantity<Bytes>("capacity");
  cache.instances = reader.optional_count("instances").value_or(1);
  cache.bandwidth = reader.optional_quantity<BytesPerSecond>("bandwidth");
  reader.finish();
  return cache;
}

LocalMemorySpec read_local_memory(SourcedReader reader) {
  LocalMemorySpec memory;
  memory.capacity = reader.quantity<Bytes>("capacity");
  memory.bandwidth = reader.quantity<BytesPerCycle>("bandwidth_per_clock");
  reader.finish();
  return memory;
}

HbmSpec read_hbm(SourcedReader reader) {
  HbmSpec hbm;
  hbm.capacity = reader.quantity<Bytes>("capacity");
  hbm.peak = reader.quantity<BytesPerSecond>("peak");
  hbm.achieved = reader.quantity<BytesPerSecond>("achieved");
  hbm.latency = reader.quantity<Seconds>("latency");
  reader.finish();
  return hbm;
}

PowerSpec read_power(SourcedReader reader) {
  PowerSpec power;
  power.limit = reader.quantity<Watts>("limit");
  power.idle = reader.quantity<Watts>("idle");
  reader.finish();
  return power;
}

ScaleUpSpec read_scale_up(SourcedReader reader) {
  ScaleUpSpec fabric;
  fabric.technology = reader.reader().required_text("technology");
  fabric.topology = reader.reader().required_choice<ScaleUpTopology>("topology", kTopologies);
  fabric.domain_size = reader.count("domain_size");
  fabric.links = reader.count("links");
  fabric.link_rate = reader.quantity<BytesPerSecond>("link_rate");
  fabric.efficiency = reader.number("efficiency", kFraction);
  fabric.base_latency = reader.quantity<Seconds>("base_latency");
  fabric.hop_latency = reader.quantity<Seconds>("hop_latency");
  fabric.kernel_units = reader.count("kernel_units");
  reader.finish();
  return fabric;
}

ScaleOutSpec read_scale_out(SourcedReader reader) {
  constexpr Range<double> kNics{0.0625, 64.0};
  ScaleOutSpec network;
  network.nics_per_gpu = reader.number("nics_per_gpu", kNics);
  network.nic_rate = reader.quantity<BytesPerSecond>("nic_rate");
  network.efficiency = reader.number("efficiency", kFraction);
  network.base_latency = reader.quantity<Seconds>("base_latency");
  network.hop_latency = reader.quantity<Seconds>("hop_latency");
  reader.finish();
  return network;
}

AchievedSpec read_achieved(SourcedReader reader) {
  AchievedSpec achieved;
  achieved.gemm = numbers_by_dtype(reader.mapping("gemm"), kFraction);
  achieved.attention_forward = reader.number("attention_forward", kFraction);
  achieved.attention_backward = reader.number("attention_backward", kFraction);
  reader.finish();
  return achieved;
}

void read_compute(SourcedReader& reader, DeviceSpec& device) {
  constexpr Range<double> kRate{0.0, 4096.0};
  device.compute_units = reader.count("compute_units");
  device.clock = read_clock(reader.mapping("clock"));
  device.matrix_rate = quantities_by_dtype<FlopsPerCycle>(reader.mapping("matrix_rate"));
  device.vector_rate = reader.quantity<FlopsPerCycle>("vector_rate");
  device.transcendental_rate = reader.number("transcendental_rate", kRate);
  device.register_file = reader.quantity<Bytes>("register_file");
  device.local_memory = read_local_memory(reader.mapping("local_memory"));
}

void require_positive(const MappingReader& reader, std::string_view key, double value) {
  if (reader.has(key) && !(value > 0.0)) {
    reader.error(key, "must be greater than 0");
  }
}

void check(const MappingReader& reader, const DeviceSpec& device) {
  require_positive(reader, "clock", device.clock.peak.value());
  require_positive(reader, "hbm", min(device.hbm.capacity, Bytes(device.hbm.peak.value())).value());
  require_positive(reader, "hbm", device.hbm.achieved.value());
  require_positive(reader, "scale_up",
                   device.scale_up.link_rate.value() * device.scale_up.efficiency);
  require_positive(reader, "scale_out",
                   device.scale_out.nic_rate.value() * device.scale_out.efficiency);
  require_positive(reader, "achieved",
                   device.achieved.attention_forward * device.achieved.attention_backward);
  if (!device.matrix_rate[slot(Dtype::kBf16)] || !device.achieved.gemm[slot(Dtype::kBf16)] ||
      !device.clock.sustained[slot(Dtype::kBf16)]) {
    reader.error("matrix_rate", "needs bf16 here, in 'clock.sustained' and in 'achieved.gemm'");
  }
}

// The file of the folder `key` that the profile names there; empty, and an error, if there is none.
std::optional<std::filesystem::path> named_file(const std::filesystem::path& profiles,
                                                const std::string& key, const std::string& name,
                                                const MappingReader& where) {
  if (!where.has(key)) {
    return std::nullopt;  // reported as missing
  }
  const std::filesystem::path folder = profiles / key;
  std::filesystem::path file = folder / (name + ".yaml");
  if (name.empty() || name.find('/') != std::string::npos || !std::filesystem::exists(file)) {
    where.error(key, "is '" + name + "', which names no file of the folder " + key +
                         did_you_mean(name, names_in(folder)));
    return std::nullopt;
  }
  return file;
}

// The constants of the files that the profile names; their problems join those of the profile.
void read_named_constants(SourcedReader& reader, const std::filesystem::path& profiles,
                          DeviceSpec& device, Diagnostics& diagnostics) {
  const std::string kernels = reader.reader().required_text("kernels");
  if (const auto file = named_file(profiles, "kernels", kernels, reader.reader())) {
    device.kernels =
        read_kernel_constants(load_config(*file), device.sources, device.provenance, diagnostics);
    device.kernels.name = kernels;
  }
  const std::string collectives = reader.reader().required_text("collectives");
  if (const auto file = named_file(profiles, "collectives", collectives, reader.reader())) {
    device.collectives = read_collective_constants(load_config(*file), device.sources,
                                                   device.provenance, diagnostics);
    device.collectives.name = collectives;
  }
  const std::string exchange = reader.reader().required_text("exchange");
  if (const auto file = named_file(profiles, "exchange", exchange, reader.reader())) {
    device.exchange =
        read_exchange_constants(load_config(*file), device.sources, device.provenance, diagnostics);
    device.exchange.name = exchange;
  }
}

}  // namespace

std::optional<FlopsPerSecond> DeviceSpec::matrix_peak(Dtype dtype, Hertz at) const {
  const std::optional<FlopsPerCycle>& rate = matrix_rate[slot(dtype)];
  if (!rate) {
    return std::nullopt;
  }
  return static_cast<double>(compute_units) * *rate * at;
}

Hertz DeviceSpec::sustained_clock(Dtype dtype) const {
  const std::optional<Hertz>& own = clock.sustained[slot(dtype)];
  return own ? *own : clock.sustained[slot(Dtype::kBf16)].value_or(clock.peak);
}

DeviceSpec load_device(const std::filesystem::path& file, const SourceTable& shared_sources) {
  const ConfigNode root = load_config(file);
  Diagnostics diagnostics;
  MappingReader top(root, "", diagnostics);
  DeviceSpec device;
  device.sources = shared_sources;
  device.sources.merge(read_sources(top, "sources"));
  std::vector<Provenance> architecture_provenance;  // printed after the part's own
  device.name = top.required_text("name");
  device.title = top.required_text("title");
  device.vendor = top.required_text("vendor");
  const std::filesystem::path profiles = file.parent_path().parent_path();
  device.architecture = find_architecture(top, "architecture", profiles / "architectures",
                                          device.sources, architecture_provenance);
  SourcedReader reader(std::move(top), device.sources, device.provenance);
  read_compute(reader, device);
  device.l2 = read_cache(reader.mapping("l2"));
  if (std::optional<SourcedReader> mall = reader.optional_mapping("mall")) {
    device.mall = read_cache(std::move(*mall));
  }
  device.hbm = read_hbm(reader.mapping("hbm"));
  device.power = read_power(reader.mapping("power"));
  device.launch_latency = reader.quantity<Seconds>("launch_latency");
  device.graph_launch_latency = reader.quantity<Seconds>("graph_launch_latency");
  device.gpus_per_node = reader.count("gpus_per_node");
  device.scale_up = read_scale_up(reader.mapping("scale_up"));
  device.scale_out = read_scale_out(reader.mapping("scale_out"));
  device.achieved = read_achieved(reader.mapping("achieved"));
  read_named_constants(reader, profiles, device, diagnostics);
  device.provenance.insert(device.provenance.end(),
                           std::make_move_iterator(architecture_provenance.begin()),
                           std::make_move_iterator(architecture_provenance.end()));
  check(reader.reader(), device);
  reader.finish();
  diagnostics.throw_if_any();
  return device;
}

}  // namespace stepcast
