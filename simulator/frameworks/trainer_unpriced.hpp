// SPDX-License-Identifier: Apache-2.0
// What files of the Hugging Face world ask for, changes time or memory, and no key of an experiment
// says yet: one table, so that a feature which gets a key is taken out of it and written where
// trainer_experiment.cpp asks for it.
#pragma once

#include <string_view>

#include "frameworks/setting_reader.hpp"

namespace stepcast {

enum class UnpricedFeature {
  kOnDisk,
  kLogitsNeverKept,
  kFp8Products,
  kCompiled,
};

// "changes the result and priced by nothing", with what it means.
std::string_view meaning_of(UnpricedFeature feature);
// Lists `name` with its value as such.
void leave_out(FrameworkReader& settings, std::string_view name, std::string_view value,
               UnpricedFeature feature);

}  // namespace stepcast
