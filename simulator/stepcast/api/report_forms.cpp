// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/report_forms.hpp"

#include "stepcast/base/error.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast {

std::string json_text(nlohmann::ordered_json json) {
  json["context"]["version"] = version();
  return json_dump(json, 2) + "\n";
}

std::string text_in(ReportFormat format, const Writers& writers) {
  if (format == ReportFormat::kText) {
    return writers.text();
  }
  if (format == ReportFormat::kJson) {
    return json_text(writers.json());
  }
  if (format == ReportFormat::kCsv && writers.csv) {
    return writers.csv();
  }
  throw ConfigError({"format", 0, 0}, "this report has none of that format");
}

Report report_of(const ReportForm& form, const Writers& writers) {
  return {.feasible = writers.feasible,
          .text = form.text ? text_in(form.format, writers) : std::string{},
          .tight = writers.tight};
}

Report report_of(const ReportForm& form, const Writers& writers, const PageOf& page) {
  Report report = report_of(form, writers);
  if (form.page) {
    report.page = page_text({page.kind, page.title, *form.page, json_text(writers.json()),
                             page.charts ? page.charts() : nullptr});
  }
  if (form.plot && page.plot) {
    report.plot = page.plot();
  }
  return report;
}

std::string page_title(const Projection& projection) {
  return projection.model + " on " + with_separators(projection.gpus) + " x " + projection.gpu;
}

}  // namespace stepcast
