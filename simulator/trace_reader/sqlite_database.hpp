// SPDX-License-Identifier: Apache-2.0
// A database of SQLite that another program wrote, to be read and never written.
//
// Its file is opened as one that nobody changes, so that no lock, journal or other file comes to
// lie beside it. What a stranger's file could make SQLite run is switched off: views, triggers and
// virtual tables are not there, and its schema may call no function with effects. A text or a blob
// of more than 16 MiB is a fault of the file, and so is a query that takes far more work than its
// size: where pages go in circles, or where rows are looked up by an id that is no key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace stepcast {

// A row while it is read. Columns count from 0; texts and blobs live until the next row.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}

  // Empty where the column holds no whole number.
  [[nodiscard]] std::optional<std::int64_t> whole(int column) const;
  [[nodiscard]] double number(int column) const;
  // Empty where the column holds no text, and no blob.
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] std::string_view blob(int column) const;

 private:
  sqlite3_stmt* statement_;
};

class SqliteDatabase {
 public:
  // Throws ConfigError for a file that cannot be read, is damaged, or is still written to.
  explicit SqliteDatabase(const std::filesystem::path& file);
  // Of the bytes of such a file; `name` is for messages.
  SqliteDatabase(std::string bytes, std::string name);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& tables() const { return tables_; }
  [[nodiscard]] bool has(std::string_view table) const;
  [[nodiscard]] bool has(std::string_view table, std::string_view column) const;

  // The column of a table that a query calls t, and nothing where it has none: "t.\"end\"", "NULL".
  [[nodiscard]] std::string column(std::string_view table, std::string_view name) const;

  // Calls `take` for each row. Throws ConfigError, with SQLite's reason, where the file is damaged,
  // cannot be read, or has no such columns.
  void read(const std::string& query, const std::function<void(const SqliteRow&)>& take) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Finish {
    void operator()(sqlite3_stmt* statement) const;
  };

  void settle(std::size_t bytes);
  [[noreturn]] void refuse(int status) const;

  std::string name_;
  std::string bytes_;  // of a database that lies in memory
  std::unique_ptr<sqlite3, Close> database_;
  std::vector<std::string> tables_;
  std::int64_t most_turns_ = 0;     // of the progress that SQLite reports, in one query
  mutable std::int64_t turns_ = 0;  // of the query that is read
};

// Whether a file begins as a database of SQLite; false for what is no file on a disk.
bool is_sqlite_database(const std::filesystem::path& file);

}  // namespace stepcast
