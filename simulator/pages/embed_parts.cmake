# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a C++ source with the files of PARTS, and those of LIBRARY one after the other, as texts:
#   cmake -DOUT=... -DPARTS=... -DLIBRARY=... -P embed_parts.cmake
# CMake reads lists into the brackets and semicolons of a text, so that bytes are written as numbers.
function(append_text file)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  # A line for each 32 bytes.
  string(REGEX REPLACE "(................................................................................................................................)" "\"\\1\"\n" bytes "${bytes}")
  string(REGEX REPLACE "\n([^\"]+)$" "\n\"\\1\"" bytes "${bytes}")
  string(REGEX REPLACE "^([^\"]+)$" "\"\\1\"" bytes "${bytes}")
  set(source "${source}\n${bytes}" PARENT_SCOPE)
endfunction()

set(source "// Made by embed_parts.cmake of ${CMAKE_CURRENT_LIST_DIR}.\n#include \"pages/page.hpp\"\n\nnamespace stepcast {\n\nconst std::map<std::string_view, std::string_view>& page_parts() {\n  static const std::map<std::string_view, std::string_view> kParts = {")
foreach(part IN LISTS PARTS)
  cmake_path(GET part FILENAME name)
  string(APPEND source "\n    {\"${name}\",")
  append_text(${part})
  string(APPEND source "},")
endforeach()
string(APPEND source "\n    {\"d3.js\",")
foreach(part IN LISTS LIBRARY)
  append_text(${part})
endforeach()
string(APPEND source "}};\n  return kParts;\n}\n\n}  // namespace stepcast\n")
file(WRITE ${OUT} "${source}")
