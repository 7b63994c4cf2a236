// SPDX-License-Identifier: Apache-2.0
// The one place where an answer takes a form: text, JSON, CSV, a page, a plot.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "pages/page.hpp"
#include "stepcast/answers.hpp"
#include "stepcast/inputs.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// How an answer is written. `csv` may be empty: there is none.
struct Writers {
  bool feasible = true;
  std::function<std::string()> text;
  std::function<nlohmann::ordered_json()> json;
  std::function<std::string()> csv{};
  bool tight = false;
};

// A page of it without its report.
struct PageOf {
  PageKind kind = PageKind::kProjection;
  std::string title{};
  std::function<nlohmann::ordered_json()> charts{};
  std::function<std::string()> plot{};
};

// A report in JSON, with the library's version in its context.
std::string json_text(nlohmann::ordered_json json);

std::string text_in(ReportFormat format, const Writers& writers);
Report report_of(const ReportForm& form, const Writers& writers);
Report report_of(const ReportForm& form, const Writers& writers, const PageOf& page);

// "llama3.1_8b on 64 x mi300x", of a report of one experiment.
std::string page_title(const Projection& projection);

}  // namespace stepcast
