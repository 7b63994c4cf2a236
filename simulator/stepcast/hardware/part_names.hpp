// SPDX-License-Identifier: Apache-2.0
// What a part is called outside of its profile: by its driver, by who reports of it, on the PCI
// bus. A profile says it beside the part:
//
//   called: {names: [h100], told_by: [pcie], also: [80gb, hbm2e], pci: ["10de:2331"], source:
//   PCIIDS}
//
// A name is taken apart into words, "NVIDIA H100 80GB HBM3" into nvidia, h100, 80gb and hbm3. It is
// of a part that has all of its words: one of `names`, and any of `told_by`, `also`, the vendor and
// the architecture. A word that a part does not have makes it another one, so that an H100 NVL is
// no H100. Of several such parts it means those whose `told_by` it has whole, most words first.
// "H100" alone so means the part that needs no word beside it; "A100" is a question, since both of
// its parts are told by their memory.
//
// `kin` are parts of the same architecture that have no profile: where a name says no more than the
// architecture, or lacks words of `told_by`, the device may as well be one of them.
//
// What a device states beside its name, memory and units, settles it instead where it is there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

// Words are in lower case, without blanks.
struct PartNames {
  std::vector<std::string> names;
  std::vector<std::string> told_by;  // from the other parts of these names
  std::vector<std::string> also;     // that a name may have besides
  std::vector<std::string> pci;      // "10de:2331", vendor and device
  std::vector<std::string> kin;      // without a profile: "mi210" beside mi250x
};

// The mapping `called` of a profile; a part without it is known by the name of its profile alone.
PartNames read_part_names(MappingReader& profile, const SourceTable& sources);

// What a device says of itself. Without a value it says nothing of it.
struct DeviceIdentity {
  std::string name;
  std::optional<Bytes> memory;                // that programs can use, a little below the capacity
  std::optional<std::int64_t> compute_units;  // all of the GPU
};

// A part as identities are held against it.
struct KnownPart {
  std::string name;  // of its profile
  PartNames called;
  std::string vendor;
  std::string architecture;
  Bytes memory;
  std::int64_t compute_units = 0;
};

// The profiles of the parts that a device may be: none where it is not known, several where what it
// says leaves a question. Behind them stand the kin of theirs that it may be as well.
std::vector<std::string> parts_of_device(const DeviceIdentity& device,
                                         std::span<const KnownPart> parts);

}  // namespace stepcast
