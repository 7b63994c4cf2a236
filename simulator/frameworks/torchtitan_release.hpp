// SPDX-License-Identifier: Apache-2.0
// Of which time of torchtitan a file is, read off its form and the names of its keys, and which
// software sets that makes it run.
//
//   [training] local_batch_size = 2      since 2025-06-05  }
//   [compile] enable = true              since 2025-08-20  }  torchtitan, of December 2025
//   a file in TOML                       until 2026-02-23  }
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/setting.hpp"
#include "stepcast/hardware/data_root.hpp"
#include "stepcast/plan/software_span.hpp"

namespace stepcast {

enum class TorchtitanForm { kToml, kRecipe };

// The days whose torchtitan can read a file, and the keys that say so.
struct TorchtitanAge {
  DayRange days;
  std::string since_key;  // empty: by the form alone
  std::string until_key;
};

// `settings` have the names that the file gives them; `names` stand anywhere in a recipe.
// Keys that no day has together leave the days of the form.
TorchtitanAge age_of(TorchtitanForm form, std::span<const Setting> settings,
                     std::span<const std::string> names);

// What a file of some days runs.
struct TorchtitanRelease {
  std::string compiled = "torchtitan";
  std::string eager = "torchtitan_eager";
  std::string day = "2025-12-13";  // one of the file's days, on which the sets hold if they can
  std::vector<std::string> notes;  // why, for the user; none where nothing was decided
  bool stated = false;             // by the user, not read off a file
};

// Of the days that `stated` names ("2026-03"), or else of the file's. Throws ConfigError for a text
// that names no days.
TorchtitanRelease release_of(const TorchtitanAge& age, const std::string& stated,
                             const DataRoot& data);

}  // namespace stepcast
