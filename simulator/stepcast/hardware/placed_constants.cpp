// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/placed_constants.hpp"

#include <functional>
#include <map>

#include "stepcast/hardware/collective_tables.hpp"
#include "stepcast/hardware/device_tables.hpp"
#include "stepcast/hardware/exchange_tables.hpp"
#include "stepcast/hardware/host_tables.hpp"
#include "stepcast/hardware/kernel_tables.hpp"
#include "stepcast/hardware/library_tables.hpp"

namespace stepcast {
namespace {

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
  for (const std::string_view kernel : kAttentionKernelNames) {
    SectionList<FlashKernel> visit("attention_kernels." + std::string(kernel) + ".", all);
    kernel_tables::kPartsOfFlashKernel(visit);
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

}  // namespace stepcast
