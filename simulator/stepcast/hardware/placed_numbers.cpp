// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/placed_numbers.hpp"

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

// Collects the numbers of `owner` that `origins` knows.
template <typename Owner>
class SectionNumbers {
 public:
  SectionNumbers(std::string prefix, Owner& owner, const Origins& origins, Numbers& all)
      : prefix_(std::move(prefix)), owner_(&owner), origins_(&origins), all_(&all) {}

  void own(std::span<const Constant<Owner>> constants) {
    for (const Constant<Owner>& constant : constants) {
      const std::string key = prefix_ + std::string(constant.key);
      std::visit([&](auto member) { add(key, owner_->*member); }, constant.member);
    }
  }
  template <typename Part, typename Parts>
  void part(std::string_view key, Part Owner::*member, const Parts& parts) {
    visit(key, owner_->*member, parts);
  }
  template <typename Part, typename Parts>
  void part(std::string_view key, std::optional<Part> Owner::*member, const Parts& parts) {
    if (owner_->*member) {
      visit(key, *(owner_->*member), parts);
    }
  }

 private:
  template <typename Part, typename Parts>
  void visit(std::string_view key, Part& part, const Parts& parts) {
    SectionNumbers<Part> inner(prefix_ + std::string(key) + ".", part, *origins_, *all_);
    parts(inner);
  }
  template <typename Q>
  void add(const std::string& key, Q& value) {
    if (const auto known = origins_->find(key); known != origins_->end()) {
      all_->push_back({known->second, &value});
    }
  }
  void add(const std::string&, std::int64_t&) {}
  template <typename Q>
  void add(const std::string& key, std::optional<Q>& value) {
    if (value) {
      add(key, *value);
    }
  }
  template <typename Q>
  void add(const std::string& key, PerDtype<Q>& values) {
    for (const DtypeInfo& dtype : kDtypes) {
      add(format_key(key, dtype.dtype), values[slot(dtype.dtype)]);
    }
  }
  // A block-scaled format that the profile does not state has the value of its plain twin.
  [[nodiscard]] std::string format_key(const std::string& key, Dtype dtype) const {
    const std::string own = key + "." + std::string(name(dtype));
    const bool inherits = dtype == Dtype::kFp8Block && !origins_->contains(own);
    return inherits ? key + "." + std::string(name(Dtype::kFp8)) : own;
  }

  std::string prefix_;
  Owner* owner_;
  const Origins* origins_;
  Numbers* all_;
};

template <typename Owner, typename Parts>
void collect(const Parts& parts, const std::string& prefix, Owner& owner, const Origins& origins,
             Numbers& all) {
  SectionNumbers<Owner> visit(prefix, owner, origins, all);
  parts(visit);
}

void collect_attention(AttentionLibrary& library, const Origins& origins, Numbers& all) {
  for (std::size_t i = 0; i < library.kernels.size(); ++i) {
    if (std::optional<FlashKernel>& kernel = library.kernels[i]) {
      collect(kernel_tables::kPartsOfFlashKernel,
              "attention_kernels." + std::string(kAttentionKernelNames.at(i)) + ".", *kernel,
              origins, all);
    }
  }
}

void collect_exchange(ExchangeConstants& exchange, const Origins& origins, Numbers& all) {
  for (std::size_t place = 0; place < kDispatchers; ++place) {
    const auto dispatcher = static_cast<Dispatcher>(place);
    SectionNumbers<DispatcherConstants> visit(std::string(name(dispatcher)) + ".",
                                              exchange.of(dispatcher), origins, all);
    exchange_tables::visit_section(section_of(dispatcher), visit);
  }
}

}  // namespace

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
  const Origins origins = origins_of(device.provenance);
  Numbers all;
  collect(device_tables::kParts, "", device, origins, all);
  collect(kernel_tables::kParts, "", device.kernels, origins, all);
  collect(collective_tables::kParts, "", device.collectives, origins, all);
  collect_exchange(device.exchange, origins, all);
  collect(library_tables::kParts, "", device.libraries, origins, all);
  collect_attention(device.architecture.attention, origins, all);
  const Origins network = origins_of(cluster.provenance);
  if (const auto known = network.find("network.oversubscription"); known != network.end()) {
    all.push_back({known->second, &cluster.network.oversubscription});
  }
  return all;
}

std::vector<PlacedNumber> placed_numbers(HostSpec& host) {
  Numbers all;
  collect(host_tables::kParts, "", host, origins_of(host.provenance), all);
  return all;
}

}  // namespace stepcast
