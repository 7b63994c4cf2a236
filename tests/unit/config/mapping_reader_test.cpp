// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/mapping_reader.hpp"

#include <array>
#include <regex>
#include <sstream>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::mapping_reader_test {
namespace {

using test::config_error;
using test::contains_text;

enum class Colour { kRed, kGreen };
constexpr std::array<NamedValue<Colour>, 2> kColours = {
    {{"red", Colour::kRed}, {"green", Colour::kGreen}}};

constexpr UnitRange kCapacity{{0.5, 1000.0}, "GB"};

// What the tests read: one key of every kind.
struct Everything {
  std::string name;
  std::int64_t count = 0;
  double share = 0.0;
  bool flag = false;
  Bytes capacity;
  Colour colour = Colour::kRed;
  std::vector<std::string> texts;
  std::int64_t inner = 0;
};

Everything read(const std::string& yaml) {
  const ConfigNode root = parse_config(yaml, "a.yaml");
  Diagnostics diagnostics;
  MappingReader reader(root, "", diagnostics);
  Everything result;
  result.name = reader.optional_text("name", "none");
  result.count = reader.optional_count("count", 7, {0, 1000});
  result.share = reader.optional_number("share", 0.25, kFraction);
  result.flag = reader.optional_flag("flag").value_or(true);
  result.capacity = reader.optional_quantity("capacity", Bytes(1), kCapacity);
  result.colour = reader.optional_choice<Colour>("colour", kColours, Colour::kGreen);
  result.texts = reader.optional_texts("texts");
  if (std::optional<MappingReader> inner = reader.optional_mapping("inner")) {
    result.inner = inner->required_count("count", kPositiveCount);
    inner->finish();
  }
  reader.finish();
  diagnostics.throw_if_any();
  return result;
}

std::string fault_of(const std::string& yaml) {
  return config_error([&] { read(yaml); });
}

TEST_CASE("values of every kind are read", "[unit]") {
  const Everything result = read(
      "name: x\ncount: 8\nshare: 0.5\nflag: false\ncapacity: 2 GiB\ncolour: red\n"
      "texts: [a, b]\ninner: {count: 3}\n");
  CHECK(result.name == "x");
  CHECK(result.count == 8);
  CHECK(result.share == 0.5);
  CHECK_FALSE(result.flag);
  CHECK(result.capacity == Bytes(2.0 * 1024 * 1024 * 1024));
  CHECK(result.colour == Colour::kRed);
  CHECK(result.texts == std::vector<std::string>{"a", "b"});
  CHECK(result.inner == 3);
}

TEST_CASE("a key that is absent or has no value takes its default", "[unit]") {
  const Everything result = read("count:\nshare: ~\n");
  CHECK(result.name == "none");
  CHECK(result.count == 7);
  CHECK(result.share == 0.25);
  CHECK(result.flag);
  CHECK(result.capacity == Bytes(1));
  CHECK(result.colour == Colour::kGreen);
}

TEST_CASE("an unknown key is refused with the nearest known one", "[unit]") {
  CHECK(fault_of("capcity: 2 GB\n") ==
        "a.yaml:1:1: error: unknown key 'capcity'; did you mean 'capacity'?");
  CHECK(fault_of("inner:\n  count: 1\n  cuont: 2\n") ==
        "a.yaml:3:3: error: unknown key 'cuont' in 'inner'; did you mean 'count'?");
  CHECK_THAT(fault_of("zzzzzz: 1\n"), contains_text("known keys: name, count, share"));
}

TEST_CASE("a whole number is digits and nothing else", "[unit]") {
  for (const char* value :
       {"eight", "8.0", "1e3", "010", "00", "0x10", "0o17", "1_000", "+8", "\"8\"", "'8'", ".inf",
        ".nan", "inf", "8 8", "true", "8,000", "\"\""}) {
    CAPTURE(value);
    CHECK_THAT(fault_of("count: " + std::string(value) + "\n"),
               contains_text("a.yaml:1:8: error: 'count': ") &&
                   contains_text("is not a whole number; write e.g. 8"));
  }
  CHECK(read("count: 0\n").count == 0);
}

TEST_CASE("a whole number outside its range is refused with the range", "[unit]") {
  for (const char* value :
       {"-1", "1001", "99999999999999999999999999999", "-99999999999999999999"}) {
    CAPTURE(value);
    CHECK_THAT(fault_of("count: " + std::string(value) + "\n"),
               contains_text("is out of range; give 0 to 1000"));
  }
}

TEST_CASE("a number is finite, plain and in its range", "[unit]") {
  for (const char* value :
       {".inf", "inf", "-.inf", ".nan", "nan", "\"0.5\"", "half", "0,5", "0x1p-1", "50%", "\"\""}) {
    CAPTURE(value);
    CHECK_THAT(fault_of("share: " + std::string(value) + "\n"),
               contains_text("is not a plain number; write e.g. 0.93"));
  }
  for (const char* value : {"1.5", "-0.1", "1e400"}) {
    CAPTURE(value);
    CHECK_THAT(fault_of("share: " + std::string(value) + "\n"),
               contains_text("is out of range; give 0 to 1.000"));
  }
  CHECK(read("share: 1\n").share == 1.0);
  CHECK(read("share: 5e-1\n").share == 0.5);
}

TEST_CASE("a truth value is true or false, not yes or a quoted word", "[unit]") {
  for (const char* value : {"yes", "True", "1", "\"true\"", "on"}) {
    CAPTURE(value);
    CHECK_THAT(fault_of("flag: " + std::string(value) + "\n"),
               contains_text("is neither true nor false"));
  }
}

TEST_CASE("a faulty quantity is refused with an example of a good one", "[unit]") {
  CHECK(fault_of("capacity: 80\n") ==
        "a.yaml:1:11: error: 'capacity': '80' has no unit; write e.g. 80 GB or 80 GiB");
  CHECK_THAT(fault_of("capacity: 80 Gb\n"), contains_text("has a wrong unit; write e.g. 80 GB"));
  CHECK_THAT(fault_of("capacity: much\n"), contains_text("is not a number with a unit"));
  CHECK_THAT(fault_of("capacity: 1e400 GB\n"), contains_text("is out of range"));
  CHECK_THAT(fault_of("capacity: -1 GB\n"),
             contains_text("'-1 GB' is out of range; give 0.5 GB to 1,000 GB"));
  CHECK_THAT(fault_of("capacity: 1.1e12 B\nname: [x]\n"),
             contains_text("'1.1e12 B' is out of range"));
}

TEST_CASE("an unknown choice is refused with the nearest or with all of them", "[unit]") {
  CHECK_THAT(fault_of("colour: grene\n"), contains_text("did you mean 'green'?"));
  CHECK_THAT(fault_of("colour: mauve\n"), contains_text("give one of: red, green"));
}

TEST_CASE("a value of the wrong kind is refused", "[unit]") {
  CHECK_THAT(fault_of("count: [1]\n"), contains_text("'count' must be a single value, not a list"));
  CHECK_THAT(fault_of("name: {a: 1}\n"),
             contains_text("'name' must be a single value, not a mapping"));
  CHECK_THAT(fault_of("inner: 3\n"),
             contains_text("'inner' must be a mapping, not a single value"));
  CHECK_THAT(fault_of("texts: a\n"), contains_text("'texts' must be a list; write [a, b]"));
  CHECK_THAT(fault_of("just text\n"), contains_text("the file must be a mapping"));
}

TEST_CASE("a missing key is refused where its mapping stands", "[unit]") {
  CHECK(fault_of("inner: {other: 1}\n") ==
        "a.yaml:1:8: error: 'inner' needs the key 'count'\n"
        "a.yaml:1:9: error: unknown key 'other' in 'inner'; known keys: count");
}

TEST_CASE("a missing mapping is one error, not one for each of its keys", "[unit]") {
  const ConfigNode root = parse_config("a: 1\n", "a.yaml");
  Diagnostics diagnostics;
  MappingReader reader(root, "", diagnostics);
  MappingReader hbm = reader.required_mapping("hbm");
  hbm.required_text("name");
  hbm.required_quantity<Bytes>("capacity", kCapacity);
  hbm.finish();
  REQUIRE(diagnostics.entries().size() == 1);
  CHECK(diagnostics.entries().front().message == "the file needs the key 'hbm'");
}

TEST_CASE("all problems of a file are reported at once, each with its place and a remedy",
          "[unit]") {
  const std::string faults = fault_of(
      "name: [x]\ncount: eight\nshare: 2\ncapacity: 80\ncolour: blue\ntexts: 3\n"
      "inner:\n  count: 0\n  extra: 1\ntypo: 1\n");
  std::istringstream lines(faults);
  const std::regex shape(R"(a\.yaml:\d+:\d+: error: [^A-Z].*[^.])");
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    CAPTURE(line);
    CHECK(std::regex_match(line, shape));
    CHECK_THAT(line, contains_text(";"));  // what is wrong; what to do
  }
  CHECK(count == 9);
}

TEST_CASE("a long value is clipped in a message", "[unit]") {
  CHECK(fault_of("count: " + std::string(5000, 'x') + "\n").size() < 200);
  CHECK(fault_of("capacity: " + std::string(5000, '9') + " GB\n").size() < 200);
  CHECK(fault_of("colour: " + std::string(5000, 'x') + "\n").size() < 200);
  CHECK(fault_of("capacity: -" + std::string(300, '9') + " B\n").size() < 200);
}

TEST_CASE("a record is told of at its keys, with what was expected and what is there", "[unit]") {
  const ConfigNode root =
      parse_config("{count: '3', share: 2, flag: 1, colour: \"gren\", name: 7, nmae2: x}", "a");
  Diagnostics diagnostics;
  MappingReader reader(root, RecordWording{"row", "; look it up"}, diagnostics);
  reader.required_count("count");
  reader.required_number("share", kFraction);
  reader.optional_flag("flag");
  reader.required_choice<Colour>("colour", kColours);
  reader.required_text("name");
  reader.required_text("name2");
  reader.required_text("kind");
  CHECK_FALSE(reader.good({"name2"}));
  reader.report_missing();
  CHECK(config_error([&] { diagnostics.throw_if_any(); }) ==
        "a:1:1: error: the row needs the key 'kind'; look it up\n"
        "a:1:2: error: 'count' must be a whole number from 1 to 1000000000000, not the text '3'\n"
        "a:1:14: error: 'share' must be a number from 0 to 1, not 2\n"
        "a:1:24: error: 'flag' must be true or false, not 1\n"
        "a:1:33: error: 'colour' must be one of red, green; it is the text 'gren'; did you mean "
        "'green'?\n"
        "a:1:49: error: 'name' must be a text, not 7\n"
        "a:1:58: error: the row needs the key 'name2'; is 'nmae2' meant to be it?");
}

TEST_CASE("a framework's word leads to our key, whatever key is spelt nearer to it", "[unit]") {
  const ConfigNode root = parse_config("{local_batch_size: 2}", "a");
  Diagnostics diagnostics;
  MappingReader reader(root, "training", diagnostics);
  reader.optional_count("micro_batch_size", 1);
  reader.optional_count("global_batch_size", 1);
  reader.finish();
  CHECK(config_error([&] { diagnostics.throw_if_any(); }) ==
        "a:1:2: error: unknown key 'local_batch_size' in 'training'; did you mean "
        "'micro_batch_size'?");
}

TEST_CASE("a record may have keys of others, but none that is a misspelt one", "[unit]") {
  const ConfigNode root = parse_config("{strid: 1, group: 2, note: 3}", "a");
  Diagnostics diagnostics;
  MappingReader reader(root, RecordWording{"row"}, diagnostics);
  reader.optional_count("stride", 1);
  reader.optional_count("groups", 1);
  reader.refuse_misspelt({"group"});
  reader.report_missing();
  CHECK(config_error([&] { diagnostics.throw_if_any(); }) ==
        "a:1:2: error: unknown key 'strid'; did you mean 'stride'?");
}

}  // namespace
}  // namespace stepcast::mapping_reader_test
