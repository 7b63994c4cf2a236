// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/provenance.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::provenance_test {
namespace {

using test::config_error;
using test::contains_text;

struct Read {
  Bytes capacity;
  std::vector<Provenance> record;
};

Read read(const std::string& value) {
  const SourceTable sources = {{"SHEET", "a data sheet"}};
  const ConfigNode root = parse_config("capacity: " + value + "\n", "a.yaml");
  Diagnostics diagnostics;
  Read result;
  SourcedReader reader(MappingReader(root, "hbm", diagnostics), sources, result.record);
  result.capacity = reader.quantity<Bytes>("capacity", {{1.0, 1000.0}, "GB"});
  reader.finish();
  diagnostics.throw_if_any();
  return result;
}

std::string fault_of(const std::string& value) {
  return config_error([&] { read(value); });
}

TEST_CASE("a number is read together with where it comes from", "[unit]") {
  const Read result = read("{value: 80 GB, source: SHEET, kind: measured, note: page 3}");
  CHECK(result.capacity == Bytes(80e9));
  REQUIRE(result.record.size() == 1);
  CHECK(result.record[0].key == "hbm.capacity");
  CHECK(result.record[0].value == "80 GB");
  CHECK(result.record[0].kind == SourceKind::kMeasured);
  CHECK(result.record[0].source == "SHEET");
  CHECK(result.record[0].note == "page 3");
}

TEST_CASE("a source alone means a specification", "[unit]") {
  CHECK(read("{value: 80 GB, source: SHEET}").record[0].kind == SourceKind::kSpec);
}

TEST_CASE("an assumed number gives its reason instead of a source", "[unit]") {
  const Provenance provenance = read("{value: 80 GB, assumed: as its sibling}").record[0];
  CHECK(provenance.kind == SourceKind::kAssumed);
  CHECK(provenance.source == "as its sibling");
}

TEST_CASE("a number without a source is refused", "[unit]") {
  CHECK(fault_of("80 GB") ==
        "a.yaml:1:11: error: 'hbm.capacity' has no source; write {value: 80 GB, source: KEY} or "
        "{value: 80 GB, assumed: why}");
  CHECK_THAT(fault_of("{value: 80 GB}"), contains_text("needs a 'source', or 'assumed'"));
  CHECK_THAT(fault_of("{value: 80 GB, note: trust me}"), contains_text("needs a 'source'"));
  CHECK_THAT(fault_of("{value: 80 GB, assumed: \"\"}"), contains_text("needs a 'source'"));
}

TEST_CASE("a source that nobody describes is refused with the nearest one", "[unit]") {
  CHECK_THAT(fault_of("{value: 80 GB, source: SHEEET}"),
             contains_text("'SHEEET'") && contains_text("did you mean 'SHEET'?"));
}

TEST_CASE("a source without a value is refused", "[unit]") {
  CHECK_THAT(fault_of("{source: SHEET}"), contains_text("needs the key 'value'"));
}

TEST_CASE("an unknown key beside a value is refused", "[unit]") {
  CHECK_THAT(fault_of("{value: 80 GB, source: SHEET, nota: x}"),
             contains_text("did you mean 'note'?"));
}

}  // namespace
}  // namespace stepcast::provenance_test
