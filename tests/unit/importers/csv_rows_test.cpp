// SPDX-License-Identifier: Apache-2.0
#include "importers/csv_rows.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/base/csv_cell.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast::csv_rows_test {
namespace {

CsvTable parsed(const std::string& text) {
  Diagnostics diagnostics;
  CsvTable table = parse_csv(text, "a.csv", diagnostics);
  diagnostics.throw_if_any();
  return table;
}

std::string fault_of(const std::string& text) {
  return test::config_error([&] { parsed(text); });
}

TEST_CASE("a table has the fields of its rows, with their places", "[unit]") {
  const CsvTable table = parsed("a,b,c\n1,,x y\r\n\n\"p,\"\"q\"\"\n\",2.5,\"\"\n3,4,5");
  CHECK(table.names == std::vector<std::string>{"a", "b", "c"});
  REQUIRE(table.rows.size() == 3);
  CHECK(table.rows[0].fields[1].text.empty());
  CHECK(table.rows[0].fields[2].text == "x y");
  CHECK(table.rows[0].fields[2].column == 4);
  CHECK(table.rows[1].line == 4);
  CHECK(table.rows[1].fields[0].text == "p,\"q\"\n");
  CHECK(table.rows[1].fields[1].text == "2.5");
  CHECK(table.rows[2].line == 6);
}

TEST_CASE("a row as a mapping has numbers, texts and no empty fields", "[unit]") {
  const CsvTable table = parsed("a,b,c,d,e\n12,-2.5e3,,nan,007\n");
  const ConfigNode row = mapping_of(table.rows[0], table.names, "a.csv");
  CHECK(number_of(*row.find("a")) == 12.0);
  CHECK(number_of(*row.find("b")) == -2500.0);
  CHECK(row.find("c") == nullptr);
  CHECK((row.find("d")->text == "nan" && row.find("d")->quoted));
  CHECK((row.find("e")->text == "7" && !row.find("e")->quoted));
  const Location place = row.entry("b")->location();
  CHECK((place.file == "a.csv" && place.line == 2 && place.column == 4));
}

TEST_CASE("what is written as a cell is read back as the same text", "[unit]") {
  const std::vector<std::string> texts = {"<script>alert(1)</script>",
                                          "=cmd()",
                                          "+1",
                                          "@x",
                                          "-a",
                                          "a,b",
                                          "say \"no\"",
                                          "two\nlines",
                                          "'=x",
                                          "'x",
                                          "''",
                                          "\tx",
                                          "\r\n",
                                          "llama3.1_8b"};
  for (const std::string& text : texts) {
    INFO(text);
    const CsvTable table = parsed("name,next\n" + csv_cell(text) + ",1\n");
    REQUIRE(table.rows.size() == 1);
    CHECK(table.rows[0].fields[0].text == text);
    const ConfigNode row = mapping_of(table.rows[0], table.names, "a.csv");
    CHECK((row.find("name")->text == text && row.find("name")->quoted));
    CHECK(number_of(*row.find("next")) == 1.0);
  }
  const CsvTable numbers = parsed("a,b\n-1,\"'-1\"\n");
  const ConfigNode row = mapping_of(numbers.rows[0], numbers.names, "a.csv");
  CHECK_FALSE(row.find("a")->quoted);
  CHECK(row.find("b")->quoted);
}

TEST_CASE("all problems of a table are reported at once", "[unit]") {
  CHECK(fault_of("a,b,a\n1,2\n1,x\"y,3\n\"1\"2,3,4\n1,2,\"3\n4\n") ==
        "a.csv:1:5: error: duplicate column 'a'\n"
        "a.csv:2:1: error: 2 fields, but the header has 3\n"
        "a.csv:3:4: error: a quote inside a field; put the whole field in quotes\n"
        "a.csv:4:4: error: text after a quoted field; write a comma or a new line\n"
        "a.csv:5:5: error: a quoted field has no end; close it with a quote");
}

TEST_CASE("the first line of a table has its names", "[unit]") {
  CHECK(csv_names("a,\"b c\",d\r\n1,2,3") == std::vector<std::string>{"a", "b c", "d"});
  CHECK(csv_names("") == std::vector<std::string>{""});
}

}  // namespace
}  // namespace stepcast::csv_rows_test
