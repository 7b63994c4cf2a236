// SPDX-License-Identifier: Apache-2.0
#include "importers/measurement_formats.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "catch.hpp"
#include "importers/csv_rows.hpp"
#include "importers/measurement_files.hpp"
#include "sample_specs.hpp"

namespace stepcast::measurement_formats_test {
namespace {

std::vector<std::string> names_of_example(const MeasurementFormat& format) {
  const std::string text(format.example);
  if (format.syntax == Syntax::kCsv) {
    return csv_names(text);
  }
  std::vector<std::string> names;
  const nlohmann::json row = nlohmann::json::parse(text);
  for (const auto& field : row.items()) {
    names.push_back(field.key());
  }
  return names;
}

std::vector<MeasurementFormat> formats_with_example() {
  std::vector<MeasurementFormat> formats;
  std::copy_if(measurement_formats().begin(), measurement_formats().end(),
               std::back_inserter(formats),
               [](const MeasurementFormat& format) { return !format.example.empty(); });
  return formats;
}

TEST_CASE("every name of a format has an example", "[unit]") {
  std::set<std::string_view> names;
  std::set<std::string_view> shown;
  for (const MeasurementFormat& format : measurement_formats()) {
    names.insert(format.name);
    if (!format.example.empty()) {
      shown.insert(format.name);
    }
  }
  CHECK(shown == names);
}

TEST_CASE("the example of every format is taken for that format", "[unit]") {
  for (const MeasurementFormat& format : formats_with_example()) {
    CAPTURE(format.name, format.example);
    CHECK(format_of(format.syntax, names_of_example(format), "example").example == format.example);
  }
}

TEST_CASE("the example of every format is read by the format's reader", "[unit]") {
  ProfileCache profiles(test::data_root());
  for (const MeasurementFormat& format : formats_with_example()) {
    CAPTURE(format.name, format.example);
    const std::vector<RecordLine> records =
        import_records(std::string(format.example), "example", profiles);
    REQUIRE_FALSE(records.empty());
    // A software set states the host's times; every other format is compared.
    CHECK(records.front().record.contains("skipped") == (format.name == "host times"));
  }
}

}  // namespace
}  // namespace stepcast::measurement_formats_test
