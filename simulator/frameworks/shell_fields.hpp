// SPDX-License-Identifier: Apache-2.0
// The fields that a word of a shell becomes while it is expanded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "frameworks/shell_expansion.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {

class ShellExpansion::Fields {
 public:
  Fields() = default;  // one text, never cut
  explicit Fields(std::string separators) : separators_(std::move(separators)) {}

  void add(std::string_view text, ShellQuoting quoting) {
    current_.add(text, quoting);
    open_ = open_ || !text.empty();
  }
  void add(const ShellText& text, ShellQuoting quoting) {
    current_.add(text, quoting);
    open_ = open_ || !text.empty();
  }
  // From here on there is a field, though an empty one.
  void open() { open_ = true; }
  // Text that no quotes hold together.
  void split(const ShellText& text) {
    for (const ShellPiece& piece : text.pieces()) {
      if (piece.unknown) {
        add(ShellText::of(*piece.unknown), ShellQuoting::kNone);
        continue;
      }
      for (const char c : piece.text) {
        split(c);
      }
    }
  }
  // Between the values of a list.
  void end_or_blank() {
    if (separators_) {
      end();
    } else {
      add(" ", ShellQuoting::kQuoted);
    }
  }
  void pass_empty_list() { ++empty_lists_; }
  [[nodiscard]] std::size_t empty_lists() const { return empty_lists_; }
  [[nodiscard]] std::size_t size() const { return done_.size() + (open_ ? 1 : 0); }

  ShellFields take() {
    end();
    return std::move(done_);
  }
  ShellText take_joined() { return std::move(current_); }

 private:
  void split(char c) {
    const bool cuts = separators_ && separators_->find(c) != std::string::npos;
    if (!cuts) {
      add(std::string_view(&c, 1), ShellQuoting::kNone);
    } else if (ascii::is_space(c)) {
      end();
    } else {
      open_ = true;  // a separator that is no blank ends a field, though an empty one
      end();
    }
  }
  void end() {
    if (std::exchange(open_, false)) {
      done_.push_back(std::exchange(current_, {}));
    }
  }

  std::optional<std::string> separators_;
  ShellFields done_;
  ShellText current_;
  bool open_ = false;
  std::size_t empty_lists_ = 0;
};

}  // namespace stepcast
