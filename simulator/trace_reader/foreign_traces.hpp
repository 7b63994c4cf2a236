// SPDX-License-Identifier: Apache-2.0
// Files that people take for traces of PyTorch's profiler: what each is, and what to give in its
// place. They are told by how they begin, by the keys of their JSON, by what their events carry,
// or, where nothing else tells them, by the ending of their name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace stepcast {

// Of the first bytes of a file that a signature may lie in.
inline constexpr std::size_t kSignatureBytes = 512;

// "a tar archive; unpack it and give a trace of it"; empty for a beginning that tells nothing.
std::string_view trace_by_beginning(std::string_view start);

// Likewise of a name, "report.nsys-rep".
std::string_view trace_by_name(std::string_view file);

// Likewise of the keys of a JSON text's outermost object, in any order.
std::string_view trace_by_keys(std::span<const std::string> keys);

// Likewise of the tables of an SQLite database; empty for one that is read.
std::string_view trace_by_tables(std::span<const std::string> tables);

// Likewise of an event that carries an argument `key` ("hlo_op").
std::string_view trace_by_argument(std::string_view key);

// Of a JSON text that is a list.
inline constexpr std::string_view kListOfEvents =
    "a list, not an object with 'traceEvents'; give what export_chrome_trace of PyTorch's profiler "
    "wrote";

}  // namespace stepcast
