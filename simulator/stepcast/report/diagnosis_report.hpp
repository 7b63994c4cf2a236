// SPDX-License-Identifier: Apache-2.0
// A diagnosis as text, JSON and CSV:
//
//   measured     200.0 tokens/s/GPU, 0.26 times the 766.2 that are projected: slow
//
//   cause                score  size              gain  set
//   link between nodes  81.2 %  1.49 GB/s a GPU  3.83x  cluster.nic_rate=1.49 GB/s
//
// JSON has `pace`, `figures[]` and `causes[]`, each with `cause`, `form`, `key`, `settings`,
// `size`, `unit`, `at_bound`, `score`, `explains[]`, `checks[]` and `gain`; `pairs[]` and
// `without_effect[]`. CSV has a line for each cause.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

std::string to_text(const Diagnosis& diagnosis);
nlohmann::ordered_json to_json(const Diagnosis& diagnosis);
std::string to_csv(const Diagnosis& diagnosis);

}  // namespace stepcast
