// SPDX-License-Identifier: Apache-2.0
// What the readers of frameworks' files promise of any text: an experiment whose text is YAML that
// reads back to the same, or a ConfigError with messages.
#pragma once

#include <string>
#include <string_view>

#include "frameworks/imported_experiment.hpp"

namespace stepcast::fuzz {

int fuzz_import(ImportedExperiment (*import_from)(const ImportInput&), const std::string& file,
                std::string_view text);

}  // namespace stepcast::fuzz
