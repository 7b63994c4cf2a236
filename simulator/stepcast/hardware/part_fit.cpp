// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/part_fit.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

// Numbers closer than that are one number in other words.
constexpr double kSame = 0.005;

template <typename Q>
bool differs(Q a, Q b) {
  return std::abs(a / b - 1.0) > kSame;
}
bool differs(std::int64_t a, std::int64_t b) { return a != b; }

// What a part states itself and what it took over.
class TakenOver {
 public:
  TakenOver(const DeviceSpec& part, const DeviceSpec& base) : part_(&part), base_(&base) {}

  // Whether the number of `key` is the one of the base's files.
  [[nodiscard]] bool operator()(std::string_view key) const {
    const Provenance* own = found(*part_, key);
    const Provenance* other = found(*base_, key);
    return own != nullptr && other != nullptr && own->file == other->file;
  }

 private:
  static const Provenance* found(const DeviceSpec& device, std::string_view key) {
    const auto entry = std::ranges::find(device.provenance, key, &Provenance::key);
    return entry == device.provenance.end() ? nullptr : &*entry;
  }

  const DeviceSpec* part_;
  const DeviceSpec* base_;
};

template <typename Q>
std::string about(Q quantity) {
  return rounded_quantity(quantity, 3);
}

bool has_other_rate(const DeviceSpec& part, const DeviceSpec& base) {
  return differs(part.matrix_rate_of(part.base_format()), base.matrix_rate_of(base.base_format()));
}

// "matrix_rate.bf16", of the format that others fall back to.
std::string base_key(std::string_view section, const DeviceSpec& part) {
  return std::string(section) + "." + std::string(name(part.base_format()));
}

// The key of what was changed of all that decides what the matrix units draw and reach; empty
// where nothing was.
std::string changed_rate(const DeviceSpec& part, const DeviceSpec& base) {
  if (has_other_rate(part, base)) {
    return base_key("matrix_rate", part);
  }
  if (differs(part.compute_units, base.compute_units)) {
    return "compute_units";
  }
  return differs(part.clock.peak, base.clock.peak) ? "clock.peak" : "";
}

void check_matrix_energy(const DeviceSpec& part, const DeviceSpec& base, const TakenOver& taken,
                         std::vector<Misfit>& all) {
  std::string key;
  std::string kept;
  std::string fits;
  for (const DtypeInfo& dtype : kDtypes) {
    const std::size_t place = slot(dtype.dtype);
    const auto& energy = part.kernels.power.matrix_energy[place];
    const std::string format(dtype.name);
    if (!energy || !part.matrix_rate[place] || !base.matrix_rate[place] ||
        !taken("power.matrix_energy." + format) ||
        !differs(*part.matrix_rate[place], *base.matrix_rate[place])) {
      continue;
    }
    key = key.empty() ? "matrix_rate." + format : key;
    kept += (kept.empty() ? "" : ", ") + format + " " + format_quantity(*energy) + " a cycle of " +
            format_quantity(*base.matrix_rate[place]);
    fits += (fits.empty() ? "" : ", ") + format +
            ": {value: " + about((*part.matrix_rate[place] / *base.matrix_rate[place]) * *energy) +
            ", assumed: the energy a FLOP of " + base.name + "}";
  }
  if (!key.empty()) {
    all.push_back({key,
                   "changes what a cycle of a unit does, and power.matrix_energy, its energy, is "
                   "still that of " +
                       base.name + " (" + kept + "); write kernels: {base: " + part.kernels.name +
                       ", power: {matrix_energy: {" + fits + "}}}",
                   true});
  }
}

void check_rated_clock(const DeviceSpec& part, const DeviceSpec& base, const TakenOver& taken,
                       std::vector<Misfit>& all) {
  const std::string key = changed_rate(part, base);
  if (key.empty() || !taken("clock.rated")) {
    return;
  }
  const Hertz fits = (part.clock.peak / base.clock.peak) * base.clock.rated;
  const Dtype format = part.base_format();
  const auto peak = [&](Hertz clock) { return about(*part.matrix_peak(format, clock)); };
  const std::string other =
      differs(fits, part.clock.rated)
          ? "; " + about(fits) + ", the same share of clock.peak, would give " + peak(fits)
          : "";
  all.push_back({key,
                 "is the part's own and clock.rated, " + about(part.clock.rated) +
                     ", still that of " + base.name + ", so that the dense " +
                     std::string(name(format)) + " peak is " + peak(part.clock.rated) + other +
                     ": state the clock that gives the data sheet's peak",
                 part.clock.rated > part.clock.peak});
}

// The clock that the part's limit lets its units hold, by what the base's holds.
Hertz sustained_by_power(const DeviceSpec& part, const DeviceSpec& base, Dtype dtype) {
  const auto drawn = [dtype](const DeviceSpec& device) {
    const auto& energies = device.kernels.power.matrix_energy;
    const auto& own = energies[slot(dtype)];
    const Joules energy = own ? *own : energies[slot(device.base_format())].value_or(Joules{});
    return static_cast<double>(device.compute_units) * energy;
  };
  const double limits = (part.power.limit - part.power.idle) / (base.power.limit - base.power.idle);
  const double work = drawn(base) / drawn(part);
  const double exponent = 1.0 / (1.0 + base.kernels.power.voltage_exponent);
  return std::min(part.clock.peak, std::pow(limits * work, exponent) * base.sustained_clock(dtype));
}

void check_sustained_clock(const DeviceSpec& part, const DeviceSpec& base, const TakenOver& taken,
                           std::vector<Misfit>& all) {
  std::string key = changed_rate(part, base);
  key = key.empty() && differs(part.power.limit, base.power.limit) ? "power.limit" : key;
  const Dtype format = part.base_format();
  const std::string kept_key = base_key("clock.sustained", part);
  if (key.empty() || !taken(kept_key)) {
    return;
  }
  const Hertz kept = part.sustained_clock(format);
  const Hertz fits = sustained_by_power(part, base, format);
  if (differs(kept, fits)) {
    all.push_back({key,
                   "is the part's own and " + kept_key + ", " + format_quantity(kept) +
                       ", still that of " + base.name + "; by its power " + about(fits) +
                       " would fit",
                   kept > part.clock.peak});
  }
}

void check_memory(const DeviceSpec& part, const DeviceSpec& base, const TakenOver& taken,
                  std::vector<Misfit>& all) {
  if (differs(part.hbm.peak, base.hbm.peak) && taken("hbm.achieved")) {
    const BytesPerSecond fits = (part.hbm.peak / base.hbm.peak) * base.hbm.achieved;
    all.push_back({"hbm.peak",
                   "is the part's own and hbm.achieved, " + format_quantity(part.hbm.achieved) +
                       ", still that of " + base.name + "; " + about(fits) +
                       " would be the same share",
                   part.hbm.achieved > part.hbm.peak});
  }
  const BytesPerSecond unit = part.kernels.memory.unit_bandwidth;
  const auto units = static_cast<double>(part.compute_units);
  if (units * unit < part.hbm.achieved && taken("memory_bound.unit_bandwidth")) {
    all.push_back({"compute_units", "carry " + about(units * unit) +
                                        " by memory_bound.unit_bandwidth of " + base.name +
                                        ", less than hbm.achieved, " +
                                        format_quantity(part.hbm.achieved) + "; " +
                                        about(part.hbm.achieved / units) + " of each would fit"});
  }
}

void check_links(const DeviceSpec& part, const DeviceSpec& base, const TakenOver& taken,
                 std::vector<Misfit>& all) {
  const auto rate = [](const DeviceSpec& device) {
    return static_cast<double>(device.scale_up.links) * device.scale_up.link_rate;
  };
  if (differs(rate(part), rate(base)) && taken("simple.own_rate")) {
    const double grown = rate(part) / rate(base);
    all.push_back({differs(part.scale_up.link_rate, base.scale_up.link_rate) ? "scale_up.link_rate"
                                                                             : "scale_up.links",
                   "makes " + format_quantity(rate(part)) +
                       " a GPU, and the rates of collectives were "
                       "reached at " +
                       format_quantity(rate(base)) + " of " + base.name +
                       "; in the same share simple.own_rate would be " +
                       about(grown * part.collectives.simple.own_rate) + " and ll.rate " +
                       about(grown * part.collectives.ll.rate)});
  }
}

}  // namespace

bool has_other_die(const DeviceSpec& part, const DeviceSpec& base) {
  return has_other_rate(part, base) || differs(part.compute_units, base.compute_units);
}

std::vector<Misfit> misfits(const DeviceSpec& part, const DeviceSpec& base) {
  const TakenOver taken(part, base);
  std::vector<Misfit> all;
  check_matrix_energy(part, base, taken, all);
  check_rated_clock(part, base, taken, all);
  check_sustained_clock(part, base, taken, all);
  check_memory(part, base, taken, all);
  check_links(part, base, taken, all);
  return all;
}

std::string domain_fault(std::int64_t domain_size, std::int64_t gpus_per_node) {
  if (domain_size % gpus_per_node == 0) {
    return "";
  }
  const std::string sizes = "has a domain_size of " + std::to_string(domain_size) +
                            ", and a node has " + std::to_string(gpus_per_node) + " GPUs; ";
  return sizes + (domain_size < gpus_per_node
                      ? "what leaves a domain goes over NICs, so make a node of each domain: "
                        "gpus_per_node: {value: " +
                            std::to_string(domain_size) + ", ...}"
                      : "give a multiple of them");
}

}  // namespace stepcast
