// SPDX-License-Identifier: Apache-2.0
#include "pages/page.hpp"

#include <regex>

#include "catch.hpp"

namespace stepcast::page_test {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kName = "</script><!-- <script>alert(1)</script> & \"quoted\"";

Page hostile_page() {
  Page page;
  page.title = kName;
  page.command = std::string("stepcast project --model '") + kName + "'";
  page.report = Json{{"model", kName}, {"step_time_s", 1.25}}.dump(2);
  page.charts = {{kName, {kName}}};
  return page;
}

// What stands in the element of that id, read as a browser does: up to the next `</script`.
std::string element(const std::string& text, const std::string& id) {
  const std::size_t begin = text.find('>', text.find("id=\"" + id + "\"")) + 1;
  return text.substr(begin, text.find("</script", begin) - begin);
}

TEST_CASE("A page holds the report and the charts as they were, whatever names they have",
          "[unit]") {
  const Page page = hostile_page();
  const std::string text = page_text(page);
  CHECK(Json::parse(element(text, "report")) == Json::parse(page.report));
  const Json charts = Json::parse(element(text, "charts"));
  CHECK(charts.at("charts") == page.charts);
  CHECK(charts.at("command") == page.command);
  CHECK(charts.at("title") == page.title);
  CHECK(charts.at("kind") == "projection");
}

TEST_CASE("No name of a report is markup in its page", "[unit]") {
  const std::string text = page_text(hostile_page());
  CHECK(text.find("<script>alert") == std::string::npos);
  CHECK(text.find("<title>&lt;/script&gt;&lt;!-- &lt;script&gt;alert(1)&lt;/script&gt; &amp; "
                  "&quot;quoted&quot;</title>") != std::string::npos);
}

TEST_CASE("A page names nothing outside of itself that a browser would load", "[unit]") {
  const std::string text = page_text(hostile_page());
  const std::regex loads(R"((\ssrc=|@import|url\(|fetch\(|XMLHttpRequest|href="(?!data:)))");
  CHECK_FALSE(std::regex_search(text, loads));
}

TEST_CASE("The same page has the same bytes, and a command that is no UTF-8 is still a page",
          "[unit]") {
  CHECK(page_text(hostile_page()) == page_text(hostile_page()));
  Page page = hostile_page();
  page.command = "stepcast \xff";
  CHECK(Json::parse(element(page_text(page), "charts")).at("command") == "stepcast \xef\xbf\xbd");
}

TEST_CASE("Every kind of page has a name of its own", "[unit]") {
  std::vector<std::string> names;
  for (int kind = 0; kind <= static_cast<int>(PageKind::kRecommendation); ++kind) {
    Page page = hostile_page();
    page.kind = static_cast<PageKind>(kind);
    names.push_back(Json::parse(element(page_text(page), "charts")).at("kind"));
    // The page's script knows it: pages.js lists the sections of each.
    CHECK(page_text(page).find(names.back()) != std::string::npos);
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

}  // namespace
}  // namespace stepcast::page_test
