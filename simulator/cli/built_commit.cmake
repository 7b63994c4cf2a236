# SPDX-License-Identifier: Apache-2.0
# Writes HEADER with the commit of SOURCE, "a1b2c3d" or "a1b2c3d with changes"; empty outside of git.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=7 HEAD
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(commit)
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit " with changes")
  endif()
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT [[
// Made with every build.
#pragma once

namespace stepcast::cli {

inline constexpr const char* kCommit = "@commit@";

}  // namespace stepcast::cli
]] @ONLY)
