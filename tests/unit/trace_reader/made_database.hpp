// SPDX-License-Identifier: Apache-2.0
// A database as another program writes one, made of statements of SQL.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "trace_reader/sqlite_database.hpp"

namespace stepcast {

// The bytes of its file.
inline std::string made_database_bytes(const std::string& statements) {
  sqlite3* made = nullptr;
  sqlite3_open(":memory:", &made);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> closed(made, sqlite3_close);
  if (sqlite3_exec(made, statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::logic_error(sqlite3_errmsg(made));
  }
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(
      sqlite3_serialize(made, "main", &size, 0), sqlite3_free);
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
}

inline SqliteDatabase made_database(const std::string& statements) {
  return SqliteDatabase(made_database_bytes(statements), "report.sqlite");
}

}  // namespace stepcast
