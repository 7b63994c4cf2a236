// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/csv_cell.hpp"

#include "catch.hpp"

namespace stepcast::csv_cell_test {
namespace {

TEST_CASE("a cell is quoted where a comma, a quote or a line feed stands in it", "[unit]") {
  CHECK(csv_cell("a b;c") == "a b;c");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("a\"b") == "\"a\"\"b\"");
  CHECK(csv_cell("a\nb") == "\"a\nb\"");
}

TEST_CASE("no text is a formula to a spreadsheet", "[unit]") {
  CHECK(csv_cell("=cmd()") == "\"'=cmd()\"");
  CHECK(csv_cell("@x") == "\"'@x\"");
  CHECK(csv_cell("+1") == "\"'+1\"");
  CHECK(csv_cell("-2+3") == "\"'-2+3\"");
  CHECK(csv_cell("-inf(x)") == "\"'-inf(x)\"");
  CHECK(csv_cell("\t=1") == "\"'\t=1\"");
  CHECK(csv_cell("\r=1") == "\"'\r=1\"");
  CHECK(csv_cell("=\"x\"") == "\"'=\"\"x\"\"\"");
}

TEST_CASE("numbers and what only holds a sign stay as they are", "[unit]") {
  CHECK(csv_cell("-1.5e-3") == "-1.5e-3");
  CHECK(csv_cell("a=b") == "a=b");
  CHECK(csv_cell("it's") == "it's");
  CHECK(csv_cell("'x") == "'x");
  CHECK(csv_cell("") == "");
}

TEST_CASE("what is guarded can be told from what only looks like it", "[unit]") {
  CHECK(is_guarded("'=x"));
  CHECK(is_guarded("''=x"));  // the text '=x
  CHECK(csv_cell("'=x") == "\"''=x\"");
  CHECK_FALSE(is_guarded("'x"));
  CHECK_FALSE(is_guarded("=x"));
  CHECK_FALSE(is_guarded("'"));
}

}  // namespace
}  // namespace stepcast::csv_cell_test
