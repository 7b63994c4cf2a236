// SPDX-License-Identifier: Apache-2.0
// A report as one page of HTML that needs no other file and fetches nothing.
//
// The page holds the report's JSON as it is printed elsewhere, so that both have the same figures,
// and beside it what only charts need. Its script (parts/pages.js) makes the sections from these
// two; nothing of them is markup, whatever names a user has given.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace stepcast {

// Which sections a page has, by the report that it shows.
enum class PageKind {
  kProjection,
  kSchedules,
  kExplanation,
  kDifference,
  kConstants,
  kComparison,
  kSweep,
  kTraceComparison,
  kRecommendation,
  kAccuracy,
  kDiagnosis,
  kScaling,
};

struct Page {
  PageKind kind = PageKind::kProjection;
  std::string title;              // plain text
  std::string command;            // that made it, as a shell takes it
  std::string report;             // JSON, as with --format json
  nlohmann::ordered_json charts;  // an object: what the report lacks; null: nothing
};

// The files that every page is made of, as they were when the program was built, by their names:
// those of parts/, and d3.js, the modules of D3 one after the other. "page.css" -> its text; both
// have static lifetime.
const std::map<std::string_view, std::string_view>& page_parts();

// The same bytes for the same page.
std::string page_text(const Page& page);

}  // namespace stepcast
