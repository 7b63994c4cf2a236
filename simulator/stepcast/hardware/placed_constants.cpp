// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/placed_constants.hpp"

#include <functional>
#include <map>
#include <string>

#include "stepcast/hardware/collective_tables.hpp"
#include "stepcast/hardware/device_tables.hpp"
#include "stepcast/hardware/exchange_tables.hpp"
#include "stepcast/hardware/host_tables.hpp"
#include "stepcast/hardware/kernel_tables.hpp"
#include "stepcast/hardware/library_tables.hpp"

namespace stepcast {
namespace {

using Origins = std::map<std::string, const Provenance*, std::less<>>;
using Numbers = std::vector<PlacedNumber>;

// What was read last holds, as where an experiment brings kernels of its own.
Origins origins_of(const std::vector<Provenance>& provenance) {
  Origins origins;
  for (const Provenance& entry : provenance) {
    origins[entry.key] = &entry;
  }
  return origins;
}

// Collects the numbers that `origins` knows.
class NumberCollector {
 public:
  NumberCollector(const std::vector<Provenance>& provenance, Numbers& all)
      : origins_(origins_of(provenance)), all_(&all) {}

  // A value of for_each_value().
  template <typename Value>
  void operator()(const std::string& key, const ConstantInfo&, Value& value) const {
    add(key, value);
  }
  template <typename Q>
  void add(const std::string& key, Q& value) const {
    if (const auto known = origins_.find(key); known != origins_.end()) {
      all_->push_back({known->second, &value});
    }
  }

 private:
  void add(const std::string&, std::int64_t&) const {}
  template <typename Q>
  void add(const std::string& key, std::optional<Q>& value) const {
    if (value) {
      add(key, *value);
    }
  }
  template <typename Q>
  void add(const std::string& key, PerDtype<Q>& values) const {
    for (const DtypeInfo& dtype : kDtypes) {
      add(format_key(key, dtype.dtype), values[slot(dtype.dtype)]);
    }
  }
  // A block-scaled format that the profile does not state has the value of its plain twin.
  [[nodiscard]] std::string format_key(const std::string& key, Dtype dtype) const {
    const std::string own = key + "." + std::string(name(dtype));
    const bool inherits = dtype == Dtype::kFp8Block && !origins_.contains(own);
    return inherits ? key + "." + std::string(name(Dtype::kFp8)) : own;
  }

  Origins origins_;
  Numbers* all_;
};

void collect_attention(AttentionLibrary& library, const NumberCollector& collect) {
  for (std::size_t i = 0; i < library.kernels.size(); ++i) {
    if (std::optional<FlashKernel>& kernel = library.kernels[i]) {
      for_each_value(kPartsOfFlashKernel,
                     "attention_kernels." + std::string(kNamesOf<AttentionKernel>.at(i)) + ".",
                     *kernel, collect);
    }
  }
}

void collect_exchange(ExchangeConstants& exchange, const NumberCollector& collect) {
  for (std::size_t place = 0; place < kDispatchers; ++place) {
    const auto dispatcher = static_cast<Dispatcher>(place);
    const auto parts = [dispatcher](auto& visit) {
      exchange_tables::visit_section(section_of(dispatcher), visit);
    };
    for_each_value(parts, std::string(name(dispatcher)) + ".", exchange.of(dispatcher), collect);
  }
}

using Placed = std::vector<PlacedConstant>;

template <typename Owner, typename Parts>
Placed list_of(const Parts& parts) {
  Placed all;
  SectionList<Owner> visit("", all);
  parts(visit);
  return all;
}

Placed architecture_constants() {
  Placed all;
  for (const std::string_view kernel : kNamesOf<AttentionKernel>) {
    SectionList<FlashKernel> visit("attention_kernels." + std::string(kernel) + ".", all);
    kPartsOfFlashKernel(visit);
  }
  return all;
}

Placed exchange_constants() {
  Placed all;
  for (std::size_t place = 0; place < kDispatchers; ++place) {
    const Placed more = placed_constants(static_cast<Dispatcher>(place));
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

using Meanings = std::map<std::string, std::string_view, std::less<>>;

Meanings all_meanings() {
  Meanings meanings;
  for (const ProfileFolder folder :
       {ProfileFolder::kGpus, ProfileFolder::kKernels, ProfileFolder::kArchitectures,
        ProfileFolder::kCollectives, ProfileFolder::kExchange, ProfileFolder::kHosts,
        ProfileFolder::kLibraries}) {
    for (const PlacedConstant& placed : placed_constants(folder)) {
      meanings.emplace(placed.key, placed.constant->meaning);
    }
  }
  return meanings;
}

}  // namespace

std::vector<PlacedConstant> placed_constants(ProfileFolder folder) {
  switch (folder) {
    case ProfileFolder::kGpus:
      return list_of<DeviceSpec>(device_tables::kParts);
    case ProfileFolder::kKernels:
      return list_of<KernelConstants>(kernel_tables::kParts);
    case ProfileFolder::kArchitectures:
      return architecture_constants();
    case ProfileFolder::kCollectives:
      return list_of<CollectiveConstants>(collective_tables::kParts);
    case ProfileFolder::kHosts:
      return list_of<HostSpec>(host_tables::kParts);
    case ProfileFolder::kLibraries:
      return list_of<LibraryConstants>(library_tables::kParts);
    case ProfileFolder::kExchange:
      break;
  }
  return exchange_constants();
}

std::vector<PlacedConstant> placed_constants(Dispatcher dispatcher) {
  Placed all;
  SectionList<DispatcherConstants> visit(std::string(name(dispatcher)) + ".", all);
  exchange_tables::visit_section(section_of(dispatcher), visit);
  return all;
}

std::string_view meaning_of(std::string_view key) {
  static const Meanings meanings = all_meanings();
  auto found = meanings.find(key);
  if (found == meanings.end()) {  // a value of one format has the meaning of them all
    const std::size_t dot = key.rfind('.');
    const bool format = dot != std::string_view::npos && dtype_named(key.substr(dot + 1));
    found = format ? meanings.find(key.substr(0, dot)) : found;
  }
  return found == meanings.end() ? std::string_view{} : found->second;
}

double PlacedNumber::value() const {
  return std::visit(
      [](auto* place) {
        if constexpr (std::is_same_v<decltype(place), double*>) {
          return *place;
        } else {
          return place->value();
        }
      },
      number);
}

void PlacedNumber::set(double value) const {
  std::visit([value](auto* place) { *place = std::remove_reference_t<decltype(*place)>(value); },
             number);
}

std::vector<PlacedNumber> placed_numbers(ClusterSpec& cluster) {
  DeviceSpec& device = cluster.device;
  Numbers all;
  const NumberCollector collect(device.provenance, all);
  for_each_value(device_tables::kParts, "", device, collect);
  for_each_value(kernel_tables::kParts, "", device.kernels, collect);
  for_each_value(collective_tables::kParts, "", device.collectives, collect);
  collect_exchange(device.exchange, collect);
  for_each_value(library_tables::kParts, "", device.libraries, collect);
  collect_attention(device.architecture.attention, collect);
  const NumberCollector collect_network(cluster.provenance, all);
  collect_network.add("network.oversubscription", cluster.network.oversubscription);
  collect_network.add("network.beyond_leaf", cluster.network.beyond_leaf);
  return all;
}

std::vector<PlacedNumber> placed_numbers(HostSpec& host) {
  Numbers all;
  for_each_value(host_tables::kParts, "", host, NumberCollector(host.provenance, all));
  return all;
}

}  // namespace stepcast
