// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/sqlite_database.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>
#include <utility>

#include "stepcast/base/error.hpp"
#include "stepcast/base/printable.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kSqliteBeginning{"SQLite format 3\0", 16};
constexpr int kLongestValue = 16 << 20;  // bytes of a text or a blob
// Instructions of SQLite's machine between two looks at how far it is, and how many a byte of the
// file may take: a row has four bytes at least and takes a few dozen.
constexpr int kInstructionsOfTurn = 10'000;
constexpr std::int64_t kInstructionsOfByte = 64;

// A path as the part of a URI, in which only these bytes stand for themselves. The machine before
// it is empty, so that a path that begins with two slashes is not taken for one.
std::string uri_of(const std::filesystem::path& file) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";
  std::string uri = "file://";
  for (const char byte : std::filesystem::absolute(file).string()) {
    if (kPlain.find(byte) != std::string_view::npos) {
      uri.push_back(byte);
    } else {
      const auto value = static_cast<unsigned char>(byte);
      uri += {'%', kHex[value / 16], kHex[value % 16]};
    }
  }
  return uri + "?mode=ro&immutable=1";
}

// What a status of SQLite means for whoever gave the file, with what to do.
struct Fault {
  int status;
  std::string_view what;
  std::string_view remedy;
};
constexpr std::string_view kDamaged = "the database is damaged or cut off";
constexpr std::string_view kExportAgain = "export it again";
constexpr std::array kFaults = {
    Fault{SQLITE_CORRUPT, kDamaged, kExportAgain},
    Fault{SQLITE_NOTADB, kDamaged, kExportAgain},
    Fault{SQLITE_ERROR, "the database has tables of a form that is not read",
          "export it by a version whose tables are known"},
    Fault{SQLITE_NOMEM, "there is not enough memory to read the database", "record fewer steps"},
    Fault{SQLITE_IOERR, "the database cannot be read from its disk", "copy it to another"},
    Fault{SQLITE_CANTOPEN, "the database cannot be opened", "check that it may be read"},
    Fault{SQLITE_PERM, "the database cannot be opened", "check that it may be read"},
    Fault{SQLITE_TOOBIG,
          "the database holds a text or a blob of more than 16 MiB, as no trace does",
          kExportAgain},
    // Texts are looked up by their id, which takes a walk through all of them without a key.
    Fault{SQLITE_INTERRUPT,
          "the database takes more work to read than one of its size: its pages go in circles, or "
          "rows that others name by 'id' have no INTEGER PRIMARY KEY by that name",
          kExportAgain},
};

std::string fault_of(int status, const char* reason) {
  constexpr int kPrimary = 0xff;  // a status has its kind in the first byte
  const auto* const known = std::ranges::find(kFaults, status & kPrimary, &Fault::status);
  const bool is_known = known != kFaults.end();
  const std::string_view what = is_known ? known->what : "the database cannot be read";
  return std::string(what) + " (" + printable(reason) + "); " +
         std::string(is_known ? known->remedy : kExportAgain);
}

// A writer's files beside it hold what the database itself has not got yet.
void refuse_unfinished(const std::filesystem::path& file) {
  for (const char* ending : {"-wal", "-journal"}) {
    const std::filesystem::path beside = file.string() + ending;
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(beside, error);
    if (!error && size > 0) {
      throw ConfigError({file.string(), 0, 0},
                        "'" + beside.filename().string() +
                            "' lies beside the database, which is still written to or was left "
                            "unfinished; export it again");
    }
  }
}

}  // namespace

std::optional<std::int64_t> SqliteRow::whole(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_INTEGER
             ? std::optional<std::int64_t>(sqlite3_column_int64(statement_, column))
             : std::nullopt;
}

double SqliteRow::number(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view SqliteRow::text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) {
    return {};
  }
  // SQLite gives UTF-8 as unsigned bytes, the length of which it knows after the text.
  const unsigned char* const text = sqlite3_column_text(statement_, column);
  return text == nullptr
             ? std::string_view()
             : std::string_view(reinterpret_cast<const char*>(text),  // NOLINT
                                static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

std::string_view SqliteRow::blob(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_BLOB) {
    return {};
  }
  const void* const blob = sqlite3_column_blob(statement_, column);
  return blob == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(blob),
                                static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

void SqliteDatabase::Close::operator()(sqlite3* database) const { sqlite3_close(database); }
void SqliteDatabase::Finish::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteDatabase::SqliteDatabase(const std::filesystem::path& file) : name_(file.string()) {
  refuse_unfinished(file);
  sqlite3* opened = nullptr;
  const int status =
      sqlite3_open_v2(uri_of(file).c_str(), &opened,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  if (status != SQLITE_OK) {
    refuse(status);
  }
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  settle(error ? 0 : static_cast<std::size_t>(size));
}

SqliteDatabase::SqliteDatabase(std::string bytes, std::string name)
    : name_(std::move(name)), bytes_(std::move(bytes)) {
  sqlite3* opened = nullptr;
  int status =
      sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  STEPCAST_CHECK(status == SQLITE_OK, "SQLite has no memory");
  const auto size = static_cast<sqlite3_int64>(bytes_.size());
  // It is told not to write to them.
  status = sqlite3_deserialize(opened, "main",
                               reinterpret_cast<unsigned char*>(bytes_.data()),  // NOLINT
                               size, size, SQLITE_DESERIALIZE_READONLY);
  if (status != SQLITE_OK) {
    refuse(status);
  }
  settle(bytes_.size());
}

void SqliteDatabase::settle(std::size_t bytes) {
  sqlite3* const database = database_.get();
  struct Switch {
    int which;
    int on;
  };
  constexpr std::array kSwitches = {
      Switch{SQLITE_DBCONFIG_DEFENSIVE, 1}, Switch{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
      Switch{SQLITE_DBCONFIG_ENABLE_VIEW, 0}, Switch{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}};
  for (const Switch& set : kSwitches) {
    sqlite3_db_config(database, set.which, set.on, nullptr);  // NOLINT: a function of C
  }
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kLongestValue);
  constexpr std::int64_t kLeastBytes = 1 << 16;
  most_turns_ = (std::max(kLeastBytes, static_cast<std::int64_t>(bytes)) * kInstructionsOfByte) /
                kInstructionsOfTurn;
  const auto is_endless = [](void* self) -> int {
    const auto& own = *static_cast<const SqliteDatabase*>(self);
    return ++own.turns_ > own.most_turns_ ? 1 : 0;
  };
  sqlite3_progress_handler(database, kInstructionsOfTurn, is_endless, this);
  read("PRAGMA temp_store = MEMORY", [](const SqliteRow& /*row*/) {});
  read("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0",
       [&](const SqliteRow& row) { tables_.emplace_back(row.text(0)); });
}

bool SqliteDatabase::has(std::string_view table) const {
  return std::ranges::find(tables_, table) != tables_.end();
}

bool SqliteDatabase::has(std::string_view table, std::string_view column) const {
  bool found = false;
  if (has(table)) {
    read("PRAGMA table_info(\"" + std::string(table) + "\")",
         [&](const SqliteRow& row) { found = found || row.text(1) == column; });
  }
  return found;
}

std::string SqliteDatabase::column(std::string_view table, std::string_view name) const {
  return has(table, name) ? "t.\"" + std::string(name) + "\"" : std::string("NULL");
}

void SqliteDatabase::read(const std::string& query,
                          const std::function<void(const SqliteRow&)>& take) const {
  turns_ = 0;
  sqlite3_stmt* prepared = nullptr;
  int status = sqlite3_prepare_v2(database_.get(), query.c_str(), -1, &prepared, nullptr);
  const std::unique_ptr<sqlite3_stmt, Finish> statement(prepared);
  while (status == SQLITE_OK || status == SQLITE_ROW) {
    status = sqlite3_step(prepared);
    if (status == SQLITE_ROW) {
      take(SqliteRow(prepared));
    }
  }
  if (status != SQLITE_DONE) {
    refuse(status);
  }
}

void SqliteDatabase::refuse(int status) const {
  // Not every call leaves words of its own.
  const bool has_words = database_ && sqlite3_errcode(database_.get()) == status;
  const char* const reason = has_words ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(status);
  throw ConfigError({name_, 0, 0}, fault_of(status, reason));
}

bool is_sqlite_database(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return false;
  }
  std::array<char, kSqliteBeginning.size()> start{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), start.size());
  return stream.gcount() == static_cast<std::streamsize>(start.size()) &&
         std::string_view(start.data(), start.size()) == kSqliteBeginning;
}

}  // namespace stepcast
