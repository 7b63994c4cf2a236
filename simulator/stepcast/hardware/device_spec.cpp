// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/device_spec.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/constant_files.hpp"
#include "stepcast/hardware/data_root.hpp"
#include "stepcast/hardware/device_tables.hpp"
#include "stepcast/hardware/generic_part.hpp"
#include "stepcast/hardware/part_fit.hpp"

namespace stepcast {
namespace {

struct Reason {
  std::string text;
  std::int64_t constants = 0;
};

// Counts a reason; those met first stay in front.
void count(const std::string& text, std::vector<Reason>& reasons) {
  const auto known = std::ranges::find(reasons, text, &Reason::text);
  if (known == reasons.end()) {
    reasons.push_back({text, 1});
  } else {
    ++known->constants;
  }
}

constexpr std::string_view kBase = "base";

bool is_section(const ConfigNode& node) {
  return node.kind == ConfigNode::Kind::kMapping && node.find("value") == nullptr;
}

// As changed(), but a number is taken with its source or not at all, and what both have stands
// where `own` has it.
ConfigNode based_on(ConfigNode base, const ConfigNode& own) {
  for (const ConfigEntry& entry : own.entries) {
    const auto same = std::ranges::find(base.entries, entry.key, &ConfigEntry::key);
    if (same == base.entries.end()) {
      base.entries.push_back(entry);
    } else if (is_section(same->value) && is_section(entry.value)) {
      ConfigNode both = based_on(std::move(same->value), entry.value);
      *same = {entry.key, entry.line, entry.column, std::move(both)};
    } else {
      *same = entry;
    }
  }
  base.file = own.file;
  base.line = own.line;
  base.column = own.column;
  return base;
}

void drop(ConfigNode& root, std::string_view key) {
  std::erase_if(root.entries, [&](const ConfigEntry& entry) { return entry.key == key; });
}

[[noreturn]] void refuse(const ConfigNode& where, const std::string& message) {
  throw ConfigError(where.location(), "'base' " + message);
}

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

// Whether numbers stand in the file of the part itself, and not in that of a base.
bool is_own(const MappingReader& reader, std::string_view key) {
  const ConfigNode* node = reader.node().find(key);
  return node != nullptr && node->location().file == reader.location().file;
}

// What each number alone cannot be wrong about. What a number is wrong about beside one of a base
// is hold_against()'s.
void check(const MappingReader& reader, const DeviceSpec& device) {
  if (reader.has("power") && !(device.power.idle < device.power.limit)) {
    reader.error("power", "has an idle power that is not below its limit");
  }
  const ConfigNode* hbm = reader.node().find("hbm");
  const ConfigNode* achieved = hbm == nullptr ? nullptr : hbm->find("achieved");
  if (achieved != nullptr && achieved->location().file == hbm->location().file &&
      device.hbm.achieved > device.hbm.peak) {
    reader.error("hbm", "achieves more than its peak");
  }
  if (reader.has("scale_up") && device.scale_up.kernel_units >= device.compute_units) {
    reader.error(is_own(reader, "scale_up") ? "scale_up" : "compute_units",
                 "and the kernel_units of a collective, " +
                     std::to_string(device.scale_up.kernel_units) + " of " +
                     std::to_string(device.compute_units) + ", leave no unit to computation");
  }
  const std::string domain = domain_fault(device.scale_up.domain_size, device.gpus_per_node);
  if (reader.has("scale_up") && reader.has("gpus_per_node") && !domain.empty()) {
    reader.error("scale_up", domain);
  }
  const std::size_t base = slot(device.base_format());
  if (!device.matrix_rate[base] || !device.achieved.gemm[base] || !device.clock.sustained[base]) {
    reader.error(
        "matrix_rate",
        "needs bf16 here, in 'clock.sustained' and in 'achieved.gemm'; or fp16 in all three "
        "and no bf16, for a part that has none");
  }
}

// The tree of a file of constants: the file of `folder` that the profile names, or with a mapping
// in the place of a name the one of its `base`, with the numbers of the mapping in their place.
// Empty, and an error, if there is no such file.
struct NamedConstants {
  std::string name;
  ConfigNode root;
};
std::optional<NamedConstants> named_constants(const std::filesystem::path& profiles,
                                              const std::string& key, MappingReader& where) {
  const ConfigNode* given = where.take_required(key);
  if (given == nullptr) {
    return std::nullopt;
  }
  const ConfigNode* base = given->find(kBase);
  const bool changes = given->kind == ConfigNode::Kind::kMapping && base != nullptr;
  const std::string name = where.text(key, changes ? *base : *given).value_or("");
  const std::filesystem::path folder = profiles / key;
  const std::optional<std::filesystem::path> file =
      name.empty() ? std::nullopt : file_named(folder, name);
  if (!file) {
    if (!name.empty()) {
      where.error(key, "is '" + name + "', which names no file of the folder " + key +
                           did_you_mean(name, names_in(folder)));
    }
    return std::nullopt;
  }
  NamedConstants constants{name, load_config(*file)};
  if (changes) {
    ConfigNode own = *given;
    drop(own, kBase);
    constants.root = based_on(std::move(constants.root), own);
  }
  return constants;
}

// The constants of the files that the profile names; their problems join those of the profile.
void read_named_constants(SourcedReader& reader, const std::filesystem::path& profiles,
                          DeviceSpec& device, Diagnostics& diagnostics) {
  const auto read_named = [&](const std::string& folder, auto& constants, const auto& read) {
    if (const auto named = named_constants(profiles, folder, reader.reader())) {
      constants = read(named->root, device.sources, device.provenance, diagnostics);
      constants.name = named->name;
    }
  };
  read_named("kernels", device.kernels, read_kernel_constants);
  read_named("collectives", device.collectives, read_collective_constants);
  read_named("exchange", device.exchange, read_exchange_constants);
  device.libraries = read_library_constants(load_config(profiles / "libraries.yaml"),
                                            device.sources, device.provenance, diagnostics);
}

constexpr std::string_view kMeasuredOn = "kernels_measured_on";

// Without a part there, or with one that has the constants of a third one, how far the part is from
// those that were measured is not known.
void check_stand_in(const MappingReader& top, const std::string& named,
                    const std::filesystem::path& folder) {
  if (named.empty()) {
    return;
  }
  const std::optional<std::filesystem::path> file = file_named(folder, named);
  if (!file) {
    top.error(kMeasuredOn,
              "is '" + named + "', which is no part" + did_you_mean(named, names_in(folder)));
  } else if (load_config(*file).find(kMeasuredOn) != nullptr) {
    top.error(kMeasuredOn, "is '" + named +
                               "', on which no kernel was measured either; name the part that its "
                               "constants are from");
  }
}

// All of a profile behind its names.
void read_whole_part(MappingReader top, DeviceSpec& device, const std::filesystem::path& profiles) {
  Diagnostics& diagnostics = top.diagnostics();
  std::vector<Provenance> architecture_provenance;  // printed after the part's own
  device.stand_in = top.optional_text(kMeasuredOn);
  check_stand_in(top, device.stand_in, profiles / "gpus");
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
}

// The part of the mapping `generic`; `named` has its names and sources. What is wrong is told to
// the reader, and nothing is made of it.
DeviceSpec read_generic(MappingReader top, DeviceSpec named, const SourceTable& shared_sources,
                        const std::filesystem::path& profiles) {
  std::vector<Provenance> stated;
  const ConfigNode* like = top.node().find("generic")->find("like");
  const GenericPart part =
      read_generic_part(top.required_mapping("generic"), named.sources, stated);
  top.finish();
  const std::filesystem::path folder = profiles / "gpus";
  const std::optional<std::filesystem::path> file =
      like == nullptr ? std::nullopt : file_named(folder, part.like);
  if (like != nullptr && !file) {
    top.diagnostics().error(like->location(), "'generic.like' is '" + part.like +
                                                  "', which is no part" +
                                                  did_you_mean(part.like, names_in(folder)));
  }
  if (!file || !top.diagnostics().empty()) {
    return named;
  }
  DeviceSpec device = device_of(part, load_device(*file, shared_sources, profiles), stated);
  device.name = named.name;
  device.title = named.title;
  device.vendor = named.vendor;
  device.called = named.called;
  device.standing = std::max(device.standing, named.standing);
  device.bases = {part.like};
  device.stand_in = part.like;
  device.is_own = named.is_own;
  device.distance = PartDistance::kVendor;
  device.sources.merge(named.sources);
  return device;
}

bool is_shipped(const std::filesystem::path& file, const std::filesystem::path& profiles) {
  return file.parent_path().lexically_normal() == (profiles / "gpus").lexically_normal();
}

// Whether the file states rates or clocks of the part that nobody published.
bool assumes_rates(const DeviceSpec& device, const std::filesystem::path& file) {
  return std::ranges::any_of(device.provenance, [&file](const Provenance& number) {
    return number.kind == SourceKind::kAssumed && number.stated_in == file.stem() &&
           (number.key.starts_with("matrix_rate") || number.key.starts_with("clock"));
  });
}

// Where `key`, "matrix_rate.bf16", stands; where its section does, if it does not.
Location place_of(const ConfigNode& root, std::string_view key) {
  const ConfigEntry* entry = root.entry(key.substr(0, key.find('.')));
  Location place = entry == nullptr ? root.location() : entry->location();
  while (entry != nullptr && key.find('.') != std::string_view::npos) {
    key.remove_prefix(key.find('.') + 1);
    entry = entry->value.entry(key.substr(0, key.find('.')));
    place = entry == nullptr ? place : entry->location();
  }
  return place;
}

// Throws ConfigError with what cannot be; the rest becomes doubts.
void hold_against(const DeviceSpec& base, const ConfigNode& root, DeviceSpec& device) {
  Diagnostics diagnostics;
  for (const Misfit& misfit : misfits(device, base)) {
    if (misfit.decides) {
      diagnostics.error(place_of(root, misfit.key), "'" + misfit.key + "' " + misfit.text);
    } else {
      device.doubts.push_back(misfit.key + " " + misfit.text);
    }
  }
  diagnostics.throw_if_any();
}

// Of `part` from the one whose numbers it has where it states none.
PartDistance distance_from(const DeviceSpec& other, const DeviceSpec& part) {
  return has_other_die(part, other) ? PartDistance::kArchitecture : PartDistance::kGpu;
}

// Of a part of the user's own, held against its base.
PartDistance own_distance(const DeviceSpec& base, const DeviceSpec& part,
                          const std::filesystem::path& file) {
  return assumes_rates(part, file) ? PartDistance::kArchitecture : distance_from(base, part);
}

// How far it is from the kernels that it runs on; a part of the user's own is held against its
// base, which `shipped` loads by its name.
void place_among_parts(const ConfigNode& root, const std::filesystem::path& file,
                       DeviceSpec& device,
                       const std::function<DeviceSpec(const std::string& name)>& shipped) {
  if (!device.is_own) {
    if (!device.stand_in.empty()) {
      device.distance = distance_from(shipped(device.stand_in), device);
    }
    return;
  }
  device.distance = PartDistance::kArchitecture;
  if (device.bases.empty()) {
    return;
  }
  const DeviceSpec base = shipped(device.bases.front());
  hold_against(base, root, device);
  // What a base is away from the kernels that it runs on, its part is at least.
  device.distance = std::max(base.distance, own_distance(base, device, file));
  if (device.stand_in.empty()) {
    device.stand_in = base.stand_in;
  }
}

}  // namespace

Dtype DeviceSpec::base_format() const {
  const bool old = matrix_rate[slot(Dtype::kFp16)] && !matrix_rate[slot(Dtype::kBf16)];
  return old ? Dtype::kFp16 : Dtype::kBf16;
}

Dtype DeviceSpec::multiplied_as(Dtype dtype) const {
  return matrix_rate[slot(dtype)] ? dtype : base_format();
}

FlopsPerCycle DeviceSpec::matrix_rate_of(Dtype dtype) const {
  return *matrix_rate[slot(multiplied_as(dtype))];
}

double DeviceSpec::achieved_gemm(Dtype dtype) const {
  return achieved.gemm[slot(dtype)].value_or(*achieved.gemm[slot(base_format())]);
}

std::optional<FlopsPerSecond> DeviceSpec::matrix_peak(Dtype dtype, Hertz at) const {
  const std::optional<FlopsPerCycle>& rate = matrix_rate[slot(dtype)];
  if (!rate) {
    return std::nullopt;
  }
  return static_cast<double>(compute_units) * *rate * at;
}

Hertz DeviceSpec::sustained_clock(Dtype dtype) const {
  const std::optional<Hertz>& own = clock.sustained[slot(dtype)];
  return own ? *own : clock.sustained[slot(base_format())].value_or(clock.peak);
}

ConfigNode profile_with_bases(const std::filesystem::path& file,
                              const std::filesystem::path& folder,
                              std::vector<std::string>& bases) {
  ConfigNode root = load_config(file);
  for (const ConfigNode* named = root.find(kBase); named != nullptr; named = root.find(kBase)) {
    const std::string base = named->text;
    if (const ConfigNode* generic = root.find("generic")) {
      throw ConfigError(generic->location(),
                        "'generic' cannot stand beside 'base': 'generic.like' names the part whose "
                        "constants it has; take one of the two");
    }
    const std::optional<std::filesystem::path> other = file_named(folder, base);
    if (!other) {
      refuse(*named, "is '" + base + "', which is no part" + did_you_mean(base, names_in(folder)));
    }
    if (base == file.stem().string() ||
        std::find(bases.begin(), bases.end(), base) != bases.end()) {
      refuse(*named, "leads back to '" + base + "'");
    }
    bases.push_back(base);
    ConfigNode whole = load_config(*other);
    // What names a part, and says that it was never measured, is said by each part for itself.
    for (const std::string_view own : {"name", "title", "called", "kernels_measured_on"}) {
      drop(whole, own);
    }
    drop(root, kBase);
    root = based_on(std::move(whole), root);
  }
  return root;
}

DeviceSpec load_device(const std::filesystem::path& file, const SourceTable& shared_sources,
                       const std::filesystem::path& profiles) {
  DeviceSpec device;
  const ConfigNode root = profile_with_bases(file, profiles / "gpus", device.bases);
  Diagnostics diagnostics;
  MappingReader top(root, "", diagnostics);
  device.sources = shared_sources;
  device.sources.merge(read_sources(top, "sources"));
  device.name = required_name(top);
  device.title = top.required_text("title");
  device.vendor = top.required_text("vendor");
  device.called = read_part_names(top, device.sources);
  device.host = top.optional_name("host");
  device.standing = top.optional_choice<PartStanding>("standing", enum_names<PartStanding>(),
                                                      PartStanding::kShipped);
  device.is_own = !is_shipped(file, profiles);
  if (top.has("generic")) {
    device = read_generic(std::move(top), std::move(device), shared_sources, profiles);
    diagnostics.throw_if_any();
    return device;
  }
  read_whole_part(std::move(top), device, profiles);
  diagnostics.throw_if_any();
  place_among_parts(root, file, device, [&](const std::string& name) {
    return load_device(profiles / "gpus" / (name + ".yaml"), shared_sources, profiles);
  });
  return device;
}

KnownPart known_part(const DeviceSpec& device) {
  return {device.name,         device.called,       device.vendor, device.architecture.name,
          device.hbm.capacity, device.compute_units};
}

std::string estimate_note(const DeviceSpec& device) {
  if (device.standing != PartStanding::kAnnounced) {
    return "";
  }
  return device.name + " is " + std::string(kAnnouncedEstimate) +
         (device.stand_in.empty() ? ""
                                  : ": no kernel was measured on it, constants are those of " +
                                        device.stand_in + " at announced rates");
}

std::string assumed_exchange(const DeviceSpec& device, Dispatcher dispatcher) {
  const std::string section = std::string(name(dispatcher)) + ".";
  std::int64_t all = 0;
  std::int64_t assumed = 0;
  std::vector<Reason> reasons;
  for (const Provenance& entry : device.provenance) {
    if (entry.key.starts_with(section)) {
      ++all;
      if (entry.kind == SourceKind::kAssumed) {
        ++assumed;
        count(entry.source, reasons);
      }
    }
  }
  if (assumed == 0) {
    return "";
  }
  const auto usual = std::ranges::max_element(reasons, {}, &Reason::constants);
  return "exchange constants of " + std::string(name(dispatcher)) + " on " + device.name +
         " assumed, " + std::to_string(assumed) + " of " + std::to_string(all) + ": " +
         usual->text + (reasons.size() > 1 ? "; ..." : "");
}

}  // namespace stepcast
