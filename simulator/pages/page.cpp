// SPDX-License-Identifier: Apache-2.0
#include "pages/page.hpp"

#include <array>
#include <string_view>

#include "stepcast/base/error.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/config/json_dump.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 12> kKinds = {
    "projection", "schedules",        "explanation",    "difference", "constants", "comparison",
    "sweep",      "trace_comparison", "recommendation", "accuracy",   "diagnosis", "scaling"};
static_assert(kKinds.size() == static_cast<std::size_t>(PageKind::kScaling) + 1);

// The files that make up the page's script, each after what it uses.
constexpr std::array<std::string_view, 15> kScripts = {
    "figures.js",  "colours.js",       "elements.js",       "tables.js",        "plots.js",
    "timeline.js", "step_sections.js", "input_sections.js", "plan_explorer.js", "recommendation.js",
    "accuracy.js", "waterfall.js",     "diagnosis.js",      "scaling.js",       "pages.js"};

std::string_view part(std::string_view file) {
  const auto found = page_parts().find(file);
  STEPCAST_CHECK(found != page_parts().end(), "a page has no such part: " + std::string(file));
  return found->second;
}

// Text between tags.
std::string escaped_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
              : c == '"' ? "&quot;"
                         : std::string(1, c);
  }
  return result;
}

// JSON inside a script element, which nothing but `</` or `<!--` would end or change: in JSON a `<`
// stands in strings only, where it may be written as a number.
std::string inlined(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

// The glossary as a list of [names, meaning].
nlohmann::ordered_json words() {
  const ConfigNode glossary = parse_config(part("glossary.yaml"), "glossary.yaml");
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ConfigEntry& entry : glossary.entries) {
    nlohmann::ordered_json names = {entry.key};
    if (const ConfigNode* also = entry.value.find("also")) {
      for (const ConfigNode& name : also->items) {
        names.push_back(name.text);
      }
    }
    all.push_back({{"names", names}, {"means", entry.value.find("means")->text}});
  }
  return all;
}

std::string scripts() { return text_list(kScripts, "", part); }

// What stands in the slots of page.html.
std::map<std::string_view, std::string> slots_of(const Page& page) {
  const nlohmann::ordered_json charts = {{"kind", kKinds[static_cast<std::size_t>(page.kind)]},
                                         {"title", page.title},
                                         {"command", page.command},
                                         {"charts", page.charts},
                                         {"words", words()}};
  return {{"title", escaped_text(page.title)},
          {"style", std::string(part("page.css"))},
          {"licence", std::string(part("d3_licence.txt"))},
          {"library", std::string(part("d3.js"))},
          {"script", scripts()},
          {"report", inlined(page.report)},
          {"charts", inlined(json_dump(charts))}};
}

}  // namespace

std::string page_text(const Page& page) {
  constexpr std::string_view kOpen = "{{";
  constexpr std::string_view kClose = "}}";
  const std::map<std::string_view, std::string> slots = slots_of(page);
  std::string_view left = part("page.html");
  std::string text;
  for (std::size_t open = left.find(kOpen); open != std::string_view::npos;
       open = left.find(kOpen)) {
    const std::size_t close = left.find(kClose, open);
    const std::string_view slot = left.substr(open + kOpen.size(), close - open - kOpen.size());
    const auto filled = slots.find(slot);
    STEPCAST_CHECK(filled != slots.end(), "a page has no such slot: " + std::string(slot));
    text += left.substr(0, open);
    text += filled->second;
    left.remove_prefix(close + kClose.size());
  }
  text += left;
  return text;
}

}  // namespace stepcast
