// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_text.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/ascii.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast {

ShellText ShellText::of(ShellUnknownId unknown) {
  ShellText text;
  text.add(unknown, ShellQuoting::kQuoted);
  return text;
}

void ShellText::add(std::string_view text, ShellQuoting quoting) {
  if (text.empty()) {
    return;
  }
  if (!pieces_.empty() && !pieces_.back().unknown && pieces_.back().quoting == quoting) {
    pieces_.back().text += text;
  } else {
    pieces_.push_back({std::string(text), quoting, {}});
  }
}

void ShellText::add(ShellUnknownId unknown, ShellQuoting quoting) {
  pieces_.push_back({{}, quoting, unknown});
}

void ShellText::add(const ShellText& text, ShellQuoting quoting) {
  for (const ShellPiece& piece : text.pieces_) {
    if (piece.unknown) {
      add(*piece.unknown, quoting);
    } else {
      add(piece.text, quoting);
    }
  }
}

void ShellText::append(const ShellText& text) {
  for (const ShellPiece& piece : text.pieces_) {
    if (piece.unknown) {
      add(*piece.unknown, piece.quoting);
    } else {
      add(piece.text, piece.quoting);
    }
  }
}

std::size_t ShellText::size() const {
  std::size_t size = 0;
  for (const ShellPiece& piece : pieces_) {
    size += piece.text.size() + 1;
  }
  return size;
}

std::vector<ShellUnknownId> ShellText::unknowns() const {
  std::vector<ShellUnknownId> ids;
  for (const ShellPiece& piece : pieces_) {
    if (piece.unknown) {
      ids.push_back(*piece.unknown);
    }
  }
  return ids;
}

std::optional<std::string> ShellText::known() const {
  std::string text;
  for (const ShellPiece& piece : pieces_) {
    if (piece.unknown) {
      return std::nullopt;
    }
    text += piece.text;
  }
  return text;
}

std::optional<ShellUnknownId> ShellText::sole_unknown() const {
  return pieces_.size() == 1 ? pieces_.front().unknown : std::nullopt;
}

bool operator==(const ShellText& a, const ShellText& b) {
  const auto plain = [](const ShellText& text) {
    ShellText same;
    same.add(text, ShellQuoting::kQuoted);
    return same;
  };
  return plain(a).pieces_ == plain(b).pieces_;
}

bool is_absent(ShellUnknownKind kind) {
  return kind == ShellUnknownKind::kUnset || kind == ShellUnknownKind::kPosition;
}

ShellUnknownId ShellUnknowns::add(ShellUnknown unknown) {
  rows_.push_back(std::move(unknown));
  return rows_.size() - 1;
}

void ShellUnknowns::compare(const ShellText& text, const std::string& other) {
  constexpr std::size_t kMostKept = 8;
  const auto sole = text.sole_unknown();
  if (sole && rows_[*sole].compared.size() < kMostKept) {
    rows_[*sole].compared.insert(other.substr(0, 40));
  }
}

namespace {

// Puts known text in the place of unknowns. What an unknown stands for may hold unknowns in turn,
// all of them older, so this ends; a script can still make texts that double with each line.
class Resolution {
 public:
  Resolution(const ShellUnknowns& unknowns, const ShellUnknowns::Choice* choice)
      : unknowns_(unknowns), choice_(choice) {}

  std::string text(const ShellText& text) {
    std::string whole;
    for (const ShellPiece& piece : text.pieces()) {
      whole += piece.unknown ? joined(meaning(*piece.unknown)) : piece.text;
      count(piece.text.size());
    }
    return whole;
  }

  std::vector<std::string> words(const ShellFields& fields) {
    for (const ShellText& field : fields) {
      if (const auto sole = field.sole_unknown()) {
        const ShellPiece& piece = field.pieces().front();
        add(meaning(*sole), piece.quoting);
      } else {
        add_cut(field);
      }
    }
    return std::move(words_);
  }

 private:
  const ShellFields& meaning(ShellUnknownId id) {
    count(1);
    return choice_ != nullptr && choice_->unknown == id ? choice_->instead : unknowns_[id].guess;
  }

  std::string joined(const ShellFields& fields) {
    std::string whole;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      whole += (i == 0 ? "" : " ") + text(fields[i]);
    }
    return whole;
  }

  void add(const ShellFields& fields, ShellQuoting quoting) {
    for (const ShellText& field : fields) {
      if (quoting == ShellQuoting::kQuoted) {
        words_.push_back(text(field));
      } else {
        cut(text(field));
      }
    }
  }

  // Words between blanks.
  void cut(const std::string& whole) {
    std::string word;
    for (const char c : whole + ' ') {
      if (!ascii::is_space(c)) {
        word += c;
      } else if (!word.empty()) {
        words_.push_back(std::exchange(word, {}));
      }
    }
  }

  // A field of several pieces, of which unquoted unknowns may cut it.
  void add_cut(const ShellText& field) {
    std::string word;
    bool open = field.pieces().empty();
    for (const ShellPiece& piece : field.pieces()) {
      if (!piece.unknown || piece.quoting == ShellQuoting::kQuoted) {
        word += piece.unknown ? joined(meaning(*piece.unknown)) : piece.text;
        open = true;
        continue;
      }
      for (const char c : joined(meaning(*piece.unknown))) {
        if (!ascii::is_space(c)) {
          word += c;
          open = true;
        } else if (std::exchange(open, false)) {
          words_.push_back(std::exchange(word, {}));
        }
      }
    }
    if (open) {
      words_.push_back(word);
    }
  }

  void count(std::size_t characters) {
    count_ += characters;
    if (count_ > kLargestConfig) {
      throw ConfigError({}, "a script whose unknown parts make more than 4 MiB of text");
    }
  }

  const ShellUnknowns& unknowns_;
  const ShellUnknowns::Choice* choice_;
  std::vector<std::string> words_;
  std::size_t count_ = 0;
};

}  // namespace

std::string ShellUnknowns::text_of(const ShellText& text, const Choice* choice) const {
  return Resolution(*this, choice).text(text);
}

std::vector<std::string> ShellUnknowns::words_of(const ShellFields& fields,
                                                 const Choice* choice) const {
  return Resolution(*this, choice).words(fields);
}

std::set<ShellUnknownId> ShellUnknowns::roots_of(const std::vector<ShellUnknownId>& ids) const {
  std::set<ShellUnknownId> roots;
  std::set<ShellUnknownId> seen;
  std::vector<ShellUnknownId> open = ids;
  while (!open.empty()) {
    const ShellUnknownId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) {
      continue;
    }
    const std::vector<ShellUnknownId>& causes = rows_[id].causes;
    if (causes.empty()) {
      roots.insert(id);
    }
    open.insert(open.end(), causes.begin(), causes.end());
  }
  return roots;
}

std::set<ShellUnknownId> ShellUnknowns::within(const ShellFields& fields) const {
  std::set<ShellUnknownId> found;
  std::vector<ShellUnknownId> open;
  const auto look = [&open](const ShellFields& texts) {
    for (const ShellText& text : texts) {
      const std::vector<ShellUnknownId> ids = text.unknowns();
      open.insert(open.end(), ids.begin(), ids.end());
    }
  };
  look(fields);
  while (!open.empty()) {
    const ShellUnknownId id = open.back();
    open.pop_back();
    if (found.insert(id).second) {
      look(rows_[id].guess);
      for (const ShellFields& alternative : rows_[id].alternatives) {
        look(alternative);
      }
    }
  }
  return found;
}

}  // namespace stepcast
