// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/columns.hpp"

#include <optional>

#include "catch.hpp"
#include "stepcast/base/dtype.hpp"
#include "stepcast/base/units.hpp"

namespace stepcast::columns_test {
namespace {

struct Link {
  BytesPerSecond rate;
  std::vector<Seconds> delays;
};

struct Machine {
  std::string title;
  Dtype dtype = Dtype::kBf16;
  Hertz clock;
  std::optional<Link> link;

  [[nodiscard]] bool linked() const { return link.has_value(); }
};

constexpr auto kLinkColumns = std::to_array<Column<Link>>({
    {"bytes_per_s", "rate", member<&Link::rate>},
    {"delays_s", "", member<&Link::delays>},
});
constexpr Columns<Link> kLinks{kLinkColumns};

constexpr auto kMachineColumns = std::to_array<Column<Machine>>({
    {"title", "machine", member<&Machine::title>, as_text, Align::kLeft},
    {"dtype", "format", member<&Machine::dtype>},
    {"clock_mhz", "clock", member_in<1'000'000, &Machine::clock>, as_megahertz},
    {"linked", "linked", member<&Machine::linked>, as_yes_or_no},
    {"rate", "rate", member<&Machine::link, &Link::rate>, as_whole},
    {"link", "", nested<kLinks, &Machine::link>},
});
constexpr Columns<Machine> kMachines{kMachineColumns};

const Machine kAlone{"a, b", Dtype::kFp8, Hertz(1.5e9), std::nullopt};
const Machine kJoined{"c", Dtype::kBf16, Hertz(1e9),
                      Link{BytesPerSecond(4e3), {Seconds(0.5), Seconds(2.0)}}};

TEST_CASE("a number of a row is in its base unit or by its name, and lacks where a part does",
          "[unit]") {
  CHECK(kMachines.json(kAlone).dump() ==
        R"({"title":"a, b","dtype":"fp8","clock_mhz":1500.0,"linked":false})");
  CHECK(kMachines.json(kJoined).dump() ==
        R"({"title":"c","dtype":"bf16","clock_mhz":1000.0,"linked":true,"rate":4000.0,)"
        R"("link":{"bytes_per_s":4000.0,"delays_s":[0.5,2.0]}})");
}

TEST_CASE("text, JSON and CSV of a row read the same list", "[unit]") {
  const std::vector<Machine> rows = {kAlone, kJoined};
  CHECK(kMachines.table("title clock_mhz linked rate", rows).text() ==
        "  machine        clock  linked   rate\n"
        "  a, b     1,500.0 MHz      no      -\n"
        "  c        1,000.0 MHz     yes  4,000\n");
  CHECK(kMachines.csv("title:name dtype rate", rows) ==
        "name,dtype,rate\n"
        "\"a, b\",fp8,\n"
        "c,bf16,4000\n");
  CHECK(kMachines.json_rows("dtype linked:is_linked", rows).dump() ==
        R"([{"dtype":"fp8","is_linked":false},{"dtype":"bf16","is_linked":true}])");
}

TEST_CASE("a number that the list does not have is a mistake of the report", "[unit]") {
  CHECK_THROWS_WITH(kMachines.value("watts", kAlone), "no number of a report is called watts");
}

TEST_CASE("members of objects inside are called after all of them", "[unit]") {
  std::string leaves;
  for_each_leaf(Value{{"a", 1}, {"terms", {{"math", 2}, {"of", {{"b", 3}}}}}},
                [&leaves](const std::string& key, const Value& value) {
                  leaves += key + "=" + value.dump() + ";";
                });
  CHECK(leaves == "a=1;terms.math=2;terms.of.b=3;");
}

}  // namespace
}  // namespace stepcast::columns_test
