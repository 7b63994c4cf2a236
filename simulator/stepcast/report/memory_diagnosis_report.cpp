// SPDX-License-Identifier: Apache-2.0
// A run that is out of memory, and what would save some of it.
#include <nlohmann/json.hpp>

#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/diagnosis_report.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast {
namespace {

std::string as_change(const Value& pace) { return as_signed_percent<1>(pace.get<double>() - 1.0); }

constexpr auto kSavingColumns = std::to_array<Column<MemorySaving>>({
    {"what", "setting", member<&MemorySaving::what>, as_text, Align::kLeft},
    {"settings", "settings", [](const MemorySaving& s) { return object_of(s.settings); }},
    {"set", "as --set",
     [](const MemorySaving& s) {
       return Value(text_list(s.settings, ", ",
                              [](const auto& entry) { return entry.first + "=" + entry.second; }));
     },
     as_text, Align::kLeft},
    {"in_use_bytes", "in use", member<&MemorySaving::in_use>, as_size},
    {"saved_bytes", "saves", member<&MemorySaving::saved>, as_size},
    {"pace", "tokens/s", member<&MemorySaving::pace>, as_change},
    {"probability", "runs", member<&MemorySaving::odds>, as_percent<0>},
});
constexpr Columns<MemorySaving> kSavings{kSavingColumns};
constexpr std::string_view kSavingMembers =
    "what settings in_use_bytes saved_bytes pace probability";

std::string tried_text(const MemoryDiagnosis& d) {
  if (!d.tried) {
    return "";
  }
  const std::string what = d.as_large.empty()
                               ? "nothing that is projected is as large"
                               : "as large as " + text_list(d.as_large, "; ", &TensorOfSize::what);
  return line("the request that failed", readable(*d.tried) + ": " + what);
}

// What the allocator holds and gives nobody, apart from what is allocated.
std::string split_text(const Projection& p) {
  const StageMemory& fullest = *p.fullest_stage();
  return line("allocated at the peak", readable(fullest.allocated()) + ", " +
                                           std::string(fullest.moment) + " of pipeline rank " +
                                           std::to_string(fullest.rank)) +
         line("fragmentation and pools", readable(fullest.reserved - fullest.allocated())) +
         line("outside the allocator", readable(fullest.outside + fullest.symmetric)) +
         line("capacity", readable(p.memory_capacity));
}

}  // namespace

std::string to_text(const MemoryDiagnosis& d) {
  std::string text = memory_to_text(d.projection);
  if (!d.projection.priced) {
    return text;
  }
  text += "\nOut of memory\n" + split_text(d.projection) + tried_text(d);
  return text +
         (d.savings.empty()
              ? "\nNo single setting saves anything.\n"
              : "\nWhat a setting would save, the cheapest first\n" +
                    kSavings.table("what saved_bytes in_use_bytes pace probability set", d.savings)
                        .text());
}

nlohmann::ordered_json to_json(const MemoryDiagnosis& d) {
  nlohmann::ordered_json json = memory_to_json(d.projection);
  if (d.tried) {
    json["tried_bytes"] = d.tried->value();
    json["as_large"] = list_of(d.as_large, [](const TensorOfSize& tensor) -> Value {
      return {{"what", tensor.what}, {"bytes", tensor.bytes.value()}};
    });
  }
  json["savings"] = kSavings.json_rows(kSavingMembers, d.savings);
  return json;
}

std::string to_csv(const MemoryDiagnosis& d) {
  return kSavings.csv("what set:settings in_use_bytes saved_bytes pace probability", d.savings);
}

}  // namespace stepcast
