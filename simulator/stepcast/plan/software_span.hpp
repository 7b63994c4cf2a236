// SPDX-License-Identifier: Apache-2.0
// For which time of its framework a software set holds, and which lines of code say so.
//
//   family: torchtitan
//   since: 2025-11-21        # the first day whose code it describes
//   until: 2026-01-27        # the first day whose code differs; left out: not known of any
//   evidence:
//     - {switch: attention, since: 2025-10-09, commit: 6a3a9da95, says: "..."}
//
// Sets of one family describe one framework at different times, and never the same day twice.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

struct SoftwareSpan {
  std::string family;  // empty: the set says nothing of its time
  std::string since;   // 2025-11-21
  std::string until;   // empty: open

  [[nodiscard]] bool holds_on(std::string_view day) const {
    return since <= day && (until.empty() || day < until);
  }
};

// Why a switch has its value: a commit of the framework, or the release of PyTorch from which on
// an operator is there.
struct SwitchEvidence {
  std::string key;  // of the set: attention, memory.keeps_logits
  std::string since;
  std::string commit;
  std::string pytorch;
  std::string says;
};

// Keys that say what a set is, which no other set takes over from it as its base.
inline constexpr std::array<std::string_view, 3> kSpanKeys = {"family", "since", "until"};

SoftwareSpan read_span(MappingReader& reader);
// Each has to name a switch that `set`, a set's file with its bases beneath it, says.
std::vector<SwitchEvidence> read_evidence(MappingReader& reader, const ConfigNode& set);

// A set of a family, by its name.
struct SoftwareRelease {
  std::string name;
  std::string date;  // the day or month that its code was read at
  SoftwareSpan span;
};

// The sets of a family in the order of their time.
std::vector<SoftwareRelease> releases_of(std::string_view family, const DataRoot& data);

// Some days, of which it is not known which one counts; an empty end is open.
struct DayRange {
  std::string since;  // the first
  std::string until;  // the first behind them
};
// "2025-12" is all days of that month, "2025-12-13" that day; nothing of another text.
std::optional<DayRange> days_named(std::string_view text);
// The set that holds for all or some of `days`, the latest of several; where none does, the one
// that holds on the day nearest to them. `releases` is not empty.
const SoftwareRelease& release_for(const std::vector<SoftwareRelease>& releases,
                                   const DayRange& days);
// Whether the set holds on one of `days`.
bool holds_within(const SoftwareSpan& span, const DayRange& days);

}  // namespace stepcast
