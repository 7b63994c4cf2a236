// SPDX-License-Identifier: Apache-2.0
// In which language a file of somebody else is written, by its name and its first signs.
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

// kYaml is also what shows no sign of any.
enum class TextForm { kJson, kToml, kYaml, kShell, kPython };

// A file's ending counts before what stands in it.
TextForm form_of(std::string_view text, const std::string& file);

// Whether a text in JSON is an object.
bool is_json_text(std::string_view text);

}  // namespace stepcast
