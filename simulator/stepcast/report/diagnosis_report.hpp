// SPDX-License-Identifier: Apache-2.0
// A diagnosis as text, JSON and CSV:
//
//   measured             200.0 tokens/s/GPU
//   projected            766.2 tokens/s/GPU
//   tokens/s against it  0.26 times: slow, below the 80 % interval
//
//   cause                score  meets all             size   gain  explains            as --set
//   link between nodes  55.7 %        yes  1.46 GB/s a GPU  3.83x  200.0 tokens/s/GPU cluster.ni...
//
// JSON has `pace`, `best_plan` and `best_software` (`settings`, `tokens_per_second_per_gpu`, `gain`
// over the projected rate, `peak_memory_bytes`, `tried`), `published[]`, of a trace `trace` with
// its `parts[]`, of which each cause has its `moves[]`, `figures[]` and `causes[]`, each with
// `cause`, `form`, `key`, `settings`, `size`, `unit`, `at_bound`, `meets`, `score`, `explains[]`,
// `checks[]` and `gain`; `pairs[]` and `ruled_out[]`. CSV has a line for each cause.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stepcast/result/diagnosis.hpp"
#include "stepcast/result/memory_diagnosis.hpp"

namespace stepcast {

std::string to_text(const Diagnosis& diagnosis);
nlohmann::ordered_json to_json(const Diagnosis& diagnosis);
std::string to_csv(const Diagnosis& diagnosis);

// Of a run that is out of memory: its memory as `stepcast memory` has it, what is as large as the
// request that failed, and `savings[]` with `what`, `settings`, `in_use_bytes`, `saved_bytes`,
// `pace` and `probability`.
std::string to_text(const MemoryDiagnosis& diagnosis);
nlohmann::ordered_json to_json(const MemoryDiagnosis& diagnosis);
std::string to_csv(const MemoryDiagnosis& diagnosis);

}  // namespace stepcast
