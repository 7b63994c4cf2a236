// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/sqlite_database.hpp"

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "stepcast/base/error.hpp"
#include "text_file.hpp"
#include "unit/trace_reader/made_database.hpp"

namespace stepcast::sqlite_database_test {
namespace {

namespace fs = std::filesystem;

std::string fault_of(const std::string& bytes) {
  try {
    const SqliteDatabase database(bytes, "report.sqlite");
    for (const std::string& table : database.tables()) {
      database.read("SELECT * FROM " + table, [](const SqliteRow& /*row*/) {});
    }
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& fault, const std::string& what) {
  return fault.find(what) != std::string::npos;
}

const std::string kAlbums =
    "CREATE TABLE albums(id, title); INSERT INTO albums VALUES (3, 'Blue'), ('x', NULL), (2.5, "
    "x'00');";

TEST_CASE("A column gives what it holds, and nothing where it holds something else", "[unit]") {
  const SqliteDatabase database = made_database(kAlbums);
  std::vector<std::string> read;
  database.read("SELECT id, title FROM albums", [&](const SqliteRow& row) {
    read.push_back(std::to_string(row.whole(0).value_or(-1)) + " " + std::string(row.text(1)) +
                   " " + std::to_string(row.blob(1).size()));
  });
  CHECK(read == std::vector<std::string>{"3 Blue 0", "-1  0", "-1  1"});
}

TEST_CASE("A table has the columns that it was made with", "[unit]") {
  const SqliteDatabase database = made_database(kAlbums);
  CHECK(database.has("albums"));
  CHECK(database.has("albums", "title"));
  CHECK_FALSE(database.has("albums", "year"));
  CHECK_FALSE(database.has("songs"));
}

TEST_CASE("Views of a stranger's database are not there", "[unit]") {
  const SqliteDatabase database =
      made_database(kAlbums +
                    "CREATE VIEW songs AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                    "FROM n) SELECT i FROM n;");
  CHECK_FALSE(database.has("songs"));
  CHECK_THROWS_AS(database.read("SELECT * FROM songs", [](const SqliteRow& /*row*/) {}),
                  ConfigError);
}

TEST_CASE("A query that does not end is the fault of its file", "[unit]") {
  const SqliteDatabase database = made_database(kAlbums);
  try {
    database.read(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
        [](const SqliteRow& /*row*/) {});
    FAIL("it ended");
  } catch (const ConfigError& error) {
    CHECK(says(error.what(), "its pages go in circles, or rows that others name by 'id' have no"));
  }
}

TEST_CASE("A database that is cut off or damaged is called so", "[unit]") {
  std::string many = "CREATE TABLE albums(title);";
  for (int i = 0; i < 400; ++i) {
    many += "INSERT INTO albums VALUES ('" + std::string(100, 'a') + "');";
  }
  const std::string whole = made_database_bytes(many);
  CHECK(fault_of(whole).empty());
  CHECK(says(fault_of(whole.substr(0, whole.size() / 2)), "the database is damaged or cut off"));
  std::string damaged = whole;
  damaged.replace(4096, 200, 200, '\xff');  // the root of the table
  CHECK(says(fault_of(damaged), "the database is damaged or cut off"));
  CHECK(says(fault_of("SQLite format 3"), "the database is damaged or cut off"));
}

TEST_CASE("A text of more than 16 MiB is none of a trace", "[unit]") {
  const std::string bytes = made_database_bytes(
      "CREATE TABLE albums(title); INSERT INTO albums VALUES (hex(zeroblob(9000000)));");
  CHECK(says(fault_of(bytes), "more than 16 MiB"));
}

TEST_CASE("A file is read as it lies, whatever its name, and nothing comes to lie beside it",
          "[unit]") {
  const fs::path folder = test::scratch_path("a folder");
  fs::create_directory(folder);
  const fs::path file = folder / "a report? #1%20 of ranks 0&1.sqlite";
  std::ofstream(file, std::ios::binary) << made_database_bytes(kAlbums);
  fs::permissions(file, fs::perms::owner_read);
  CHECK(is_sqlite_database(file));
  CHECK(SqliteDatabase(file).has("albums"));
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
  fs::remove_all(folder);
}

TEST_CASE("A file is read whose path begins with two slashes", "[unit]") {
  const test::TextFile file("two slashes.sqlite", made_database_bytes(kAlbums));
  REQUIRE(file.path().is_absolute());
  CHECK(SqliteDatabase("/" + file.path().string()).has("albums"));
}

TEST_CASE("A file that cannot be opened, and a query of other columns, are not called damaged",
          "[unit]") {
  try {
    const SqliteDatabase missing(test::scratch_path("missing.sqlite"));
    FAIL("it was read");
  } catch (const ConfigError& error) {
    CHECK(
        says(error.what(), "the database cannot be opened (unable to open database file); check"));
  }
  try {
    made_database(kAlbums).read("SELECT year FROM albums", [](const SqliteRow& /*row*/) {});
    FAIL("it was read");
  } catch (const ConfigError& error) {
    CHECK(says(error.what(), "has tables of a form that is not read (no such column: year)"));
  }
}

TEST_CASE("What a writer left unfinished is not read", "[unit]") {
  const test::TextFile file("unfinished.sqlite", made_database_bytes(kAlbums));
  const test::TextFile beside("unfinished.sqlite-wal", "rows");
  try {
    const SqliteDatabase database(file.path());
    FAIL("it was read");
  } catch (const ConfigError& error) {
    CHECK(says(error.what(), "unfinished.sqlite-wal' lies beside the database"));
  }
}

}  // namespace
}  // namespace stepcast::sqlite_database_test
