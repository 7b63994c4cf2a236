// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/device_spec.hpp"

#include <iterator>

#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/data_root.hpp"
#include "stepcast/hardware/device_tables.hpp"
#include "stepcast/hardware/profile_base.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedValue<ScaleUpTopology>, 2> kTopologies = {
    {{"switch", ScaleUpTopology::kSwitch}, {"full_mesh", ScaleUpTopology::kFullMesh}}};

template <typename Part, std::size_t Count>
Part read_part(SourcedReader reader, const std::array<Constant<Part>, Count>& constants) {
  Part part;
  read_all<Part>(std::move(reader), constants, part);
  return part;
}

ClockSpec read_clock(SourcedReader reader) {
  const bool rated = reader.has("rated");
  ClockSpec clock = read_part(std::move(reader), device_tables::kClock);
  clock.rated = rated ? clock.rated : clock.peak;
  return clock;
}

ScaleUpSpec read_scale_up(SourcedReader reader) {
  ScaleUpSpec fabric;
  fabric.technology = reader.reader().required_text("technology");
  fabric.topology = reader.reader().required_choice<ScaleUpTopology>("topology", kTopologies);
  read_all<ScaleUpSpec>(std::move(reader), device_tables::kScaleUp, fabric);
  return fabric;
}

void read_compute(SourcedReader& reader, DeviceSpec& device) {
  read_constants<DeviceSpec>(reader, device_tables::kUnits, device);
  device.clock = read_clock(reader.mapping("clock"));
  read_constants<DeviceSpec>(reader, device_tables::kRates, device);
  device.local_memory = read_part(reader.mapping("local_memory"), device_tables::kLocalMemory);
  device.l2 = read_part(reader.mapping("l2"), device_tables::kCache);
  if (std::optional<SourcedReader> mall = reader.optional_mapping("mall")) {
    device.mall = read_part(std::move(*mall), device_tables::kCache);
  }
  device.hbm = read_part(reader.mapping("hbm"), device_tables::kHbm);
  device.power = read_part(reader.mapping("power"), device_tables::kPower);
}

// What each number alone cannot be wrong about.
void check(const MappingReader& reader, const DeviceSpec& device) {
  if (reader.has("power") && !(device.power.idle < device.power.limit)) {
    reader.error("power", "has an idle power that is not below its limit");
  }
  if (reader.has("hbm") && device.hbm.achieved > device.hbm.peak) {
    reader.error("hbm", "achieves more than its peak");
  }
  if (reader.has("scale_up") && device.scale_up.kernel_units >= device.compute_units) {
    reader.error("scale_up", "has kernel_units that leave no unit of compute_units to computation");
  }
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
  if (name.empty() || name.find('/') != std::string::npos || !is_there(file)) {
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
  device.libraries = read_library_constants(load_config(profiles / "libraries.yaml"),
                                            device.sources, device.provenance, diagnostics);
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

DeviceSpec load_device(const std::filesystem::path& file, const SourceTable& shared_sources,
                       const std::filesystem::path& profiles) {
  DeviceSpec device;
  const ConfigNode root = profile_with_bases(file, profiles / "gpus", device.bases);
  Diagnostics diagnostics;
  MappingReader top(root, "", diagnostics);
  device.sources = shared_sources;
  device.sources.merge(read_sources(top, "sources"));
  std::vector<Provenance> architecture_provenance;  // printed after the part's own
  device.name = required_name(top);
  device.title = top.required_text("title");
  device.vendor = top.required_text("vendor");
  device.stand_in = top.optional_text("kernels_measured_on");
  device.architecture = find_architecture(top, "architecture", profiles / "architectures",
                                          device.sources, architecture_provenance);
  SourcedReader reader(std::move(top), device.sources, device.provenance);
  read_compute(reader, device);
  read_constants<DeviceSpec>(reader, device_tables::kLaunch, device);
  device.scale_up = read_scale_up(reader.mapping("scale_up"));
  device.scale_out = read_part(reader.mapping("scale_out"), device_tables::kScaleOut);
  device.achieved = read_part(reader.mapping("achieved"), device_tables::kAchieved);
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
