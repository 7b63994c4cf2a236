// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_script.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frameworks/shell_expression.hpp"
#include "frameworks/shell_words.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kBatchLine = "#SBATCH";

// The options of "#SBATCH" lines, which Slurm reads where a shell sees comments.
std::vector<ShellWord> batch_directives(std::string_view text, const std::string& file) {
  std::vector<ShellWord> words;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view directive = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!directive.starts_with(kBatchLine)) {
      continue;
    }
    directive.remove_prefix(kBatchLine.size());
    std::string word;
    for (const char c : std::string(directive) + ' ') {
      if (!ascii::is_space(c)) {
        word += c;
      } else if (!word.empty()) {
        words.push_back({std::exchange(word, {}), {file, line, 1}});
      }
    }
  }
  return words;
}

ShellBranch branch_of(bool taken) { return taken ? ShellBranch::kTaken : ShellBranch::kNotTaken; }

constexpr int kDeepestCall = 16;  // functions and scripts inside scripts
constexpr std::array<std::string_view, 5> kDeclarations = {"export", "local", "declare", "readonly",
                                                           "typeset"};

enum class BlockKind { kIf, kLoop, kCase, kGroup };

// An if, a loop, a case or a group that is open.
struct ShellBlock {
  BlockKind kind = BlockKind::kGroup;
  bool around = true;   // whether what is around it runs
  bool active = true;   // whether what is here runs
  bool taken = false;   // a branch was
  bool asks = false;    // a while, whose condition decides
  std::string subject;  // of a case
};

class Runner {
 public:
  Runner(const std::string& file, const ShellSources& sources, ShellVariables& variables,
         ShellScript& script)
      : file_(file), sources_(sources), variables_(variables), script_(script) {}

  void run(std::string_view text, int line, int depth) {
    if (depth > kDeepestCall) {
      throw ConfigError({file_, line, 0}, "calls itself, or scripts in scripts, without end");
    }
    ShellWordReader reader(text, file_, line, variables_);
    reader.count(text.size());
    ShellWordReader* const outer_reader = std::exchange(reader_, &reader);
    std::vector<ShellBlock> outer_blocks = std::exchange(blocks_, {});
    const int outer_depth = std::exchange(depth_, depth);
    while (next_command()) {
      statement();
    }
    depth_ = outer_depth;
    blocks_ = std::move(outer_blocks);
    reader_ = outer_reader;
  }

 private:
  [[nodiscard]] bool active() const { return blocks_.empty() || blocks_.back().active; }
  [[nodiscard]] bool runs() const { return active() && !gated_; }

  // Goes to the start of a command; false at the end of the text.
  bool next_command() {
    gated_ = false;
    while (true) {
      reader_->skip_blanks();
      if (reader_->at_end()) {
        return false;
      }
      if (reader_->starts_with("&&") || reader_->starts_with("||")) {
        gated_ = status_ != reader_->starts_with("&&");
        reader_->skip(2);
      } else if (reader_->starts_with(";;")) {
        reader_->skip(2);
        end_case_branch();
      } else if (std::string_view("\n;&|").find(reader_->peek()) != std::string_view::npos) {
        gated_ = gated_ && reader_->peek() == '\n';
        reader_->skip(1);
      } else if (reader_->peek() == '(') {
        reader_->skip(1);
        open(BlockKind::kGroup);
      } else if (reader_->peek() == ')') {
        reader_->skip(1);
        close();
      } else if (reader_->peek() == '<' || reader_->peek() == '>') {
        redirection();
      } else {
        reader_->follow(branch_of(runs()));
        return true;
      }
    }
  }

  void open(BlockKind kind, bool asks = false) {
    if (blocks_.size() > 1000) {
      reader_->fail("has more than 1000 blocks in each other");
    }
    blocks_.push_back({kind, runs(), runs(), false, asks, {}});
    gated_ = false;
  }
  void close() {
    if (!blocks_.empty()) {
      blocks_.pop_back();
    }
  }

  void end_case_branch() {
    if (!blocks_.empty() && blocks_.back().kind == BlockKind::kCase) {
      blocks_.back().active = false;
      case_pattern();
    }
  }

  // "a|b*)" before the commands of a branch; nothing before esac.
  void case_pattern() {
    ShellBlock& block = blocks_.back();
    do {
      reader_->skip(reader_->peek() == '\n' ? 1 : 0);
      reader_->skip_blanks();
    } while (reader_->peek() == '\n');
    reader_->follow(branch_of(block.around));
    bool matches = false;
    while (reader_->at_word() && !reader_->starts_with("esac")) {
      matches = matches_pattern(block.subject, reader_->word().joined()) || matches;
      reader_->skip_blanks();
      const bool more = reader_->peek() == '|';
      reader_->skip(more || reader_->peek() == ')' ? 1 : 0);
      reader_->skip_blanks();
      if (!more) {
        break;
      }
    }
    block.active = block.around && matches && !block.taken;
    block.taken = block.taken || matches;
  }

  void statement() {
    if (at_assignment(*reader_)) {
      assign();
      return;
    }
    if (!reader_->at_word()) {
      reader_->skip(1);
      return;
    }
    const ShellToken first = reader_->word();
    if (!keyword(first)) {
      simple_command(first);
    }
  }

  bool keyword(const ShellToken& first) {
    const std::string& word = first.raw;
    if (word == "if" || word == "{") {
      open(word == "if" ? BlockKind::kIf : BlockKind::kGroup);
    } else if (word == "then" || word == "elif" || word == "else") {
      branch(word);
    } else if (word == "while" || word == "until") {
      open(BlockKind::kLoop, true);
    } else if (word == "do") {
      if (!blocks_.empty() && blocks_.back().asks) {
        blocks_.back().active = blocks_.back().around && status_;
      }
    } else if (word == "fi" || word == "done" || word == "esac" || word == "}") {
      close();
    } else if (word == "for") {
      first_turn();
    } else if (word == "case") {
      reader_->skip_blanks();
      const std::string subject = reader_->word().joined();
      reader_->skip_blanks();
      reader_->word();  // in
      open(BlockKind::kCase);
      blocks_.back().subject = subject;
      case_pattern();
    } else if (word == "[[" || word == "[" || word == "test") {
      test(word);
    } else if (word != "!" && word != "time" && word != "exec") {
      return declaration(first);
    } else {
      negated_ = negated_ != (word == "!");
    }
    return true;
  }

  void branch(const std::string& word) {
    if (blocks_.empty() || blocks_.back().kind != BlockKind::kIf) {
      return;
    }
    ShellBlock& block = blocks_.back();
    if (word == "then") {
      block.active = block.around && !block.taken && status_;
      block.taken = block.taken || block.active;
    } else {
      block.active = block.around && !block.taken;
      block.taken = block.taken || word == "else";
    }
  }

  void first_turn() {
    reader_->skip_blanks();
    const std::string name = reader_->word().joined();
    std::optional<std::string> value;
    reader_->skip_blanks();
    while (reader_->at_word()) {
      const ShellToken word = reader_->word();
      if (word.raw != "in" && !value && !word.fields.empty()) {
        value = word.fields.front();
      }
      reader_->skip_blanks();
    }
    if (runs() && value) {
      variables_.set(name, {*value});
    }
    open(BlockKind::kLoop);
  }

  void test(const std::string& word) {
    const std::string end = word == "[[" ? "]]" : word == "[" ? "]" : "";
    if (word == "[[") {
      reader_->begin_test();
    }
    std::vector<std::string> words;
    reader_->skip_blanks();
    while (reader_->at_word()) {
      const ShellToken token = reader_->whole_word();
      if (token.raw == end || token.raw == end + ";") {
        break;
      }
      words.push_back(token.fields.front());
      reader_->skip_blanks();
    }
    reader_->end_test();
    if (runs()) {
      status_ = shell_test(words) != std::exchange(negated_, false);
    }
  }

  bool declaration(const ShellToken& first) {
    if (first.raw == "function" || reader_->starts_with("()")) {
      define(first);
      return true;
    }
    if (std::find(kDeclarations.begin(), kDeclarations.end(), first.raw) == kDeclarations.end()) {
      return false;
    }
    reader_->skip_blanks();
    while (reader_->at_word()) {
      if (at_assignment(*reader_)) {
        assign();
      } else {
        reader_->word();
      }
      reader_->skip_blanks();
    }
    status_ = status_ || runs();
    return true;
  }

  // NAME() { ... }: its text is kept and runs where it is called.
  void define(const ShellToken& first) {
    std::string name = first.raw;
    if (name == "function") {
      reader_->skip_blanks();
      name = reader_->word().raw;
    }
    reader_->skip(reader_->starts_with("()") ? 2 : 0);
    while (reader_->peek() == ' ' || reader_->peek() == '\n') {
      reader_->skip(1);
    }
    if (reader_->peek() != '{') {
      return;
    }
    reader_->skip(1);
    const int line = reader_->here().line;
    const std::size_t begin = reader_->at();
    for (int depth = 1; depth > 0 && !reader_->at_end();) {
      const char c = reader_->peek();
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      reader_->skip(1);
    }
    const std::size_t end = std::max(reader_->at(), begin + 1) - 1;
    functions_[name] = {std::string(reader_->text().substr(begin, end - begin)), line};
  }

  void assign() {
    const std::optional<ShellAssignment> assignment = read_assignment(*reader_);
    if (runs() && assignment) {
      status_ = true;
      apply(*assignment, variables_);
    }
  }

  // "> file", "2>&1", "<<EOF": true where a here-document begins, whose end is kept.
  void redirection() {
    const bool document = reader_->starts_with("<<") && !reader_->starts_with("<<<");
    while (std::string_view("<>&|-").find(reader_->peek()) != std::string_view::npos &&
           !reader_->at_end()) {
      reader_->skip(1);
    }
    reader_->skip_blanks();
    const std::string word = reader_->at_word() ? reader_->word().joined() : std::string{};
    if (document) {
      document_end_ = word;
    }
  }

  void simple_command(const ShellToken& first) {
    ShellCommand command;
    const auto add = [&](const ShellToken& token) {
      for (const std::string& field : token.fields) {
        command.words.push_back({field, token.where});
      }
    };
    add(first);
    reader_->skip_blanks();
    while (reader_->at_word() || reader_->peek() == '<' || reader_->peek() == '>') {
      if (!reader_->at_word()) {
        redirection();
      } else {
        const ShellToken token = reader_->word();
        const bool stream = (reader_->peek() == '>' || reader_->peek() == '<') &&
                            (token.raw == "1" || token.raw == "2");
        if (!stream) {
          add(token);
        }
      }
      reader_->skip_blanks();
    }
    const std::string end = std::exchange(document_end_, {});
    const int line = reader_->here().line + 1;
    const std::string_view document =
        end.empty() ? std::string_view{} : reader_->here_document(end);
    if (runs() && !command.words.empty()) {
      status_ = !std::exchange(negated_, false);
      execute(std::move(command), document, line);
    }
  }

  void execute(ShellCommand command, std::string_view document, int line) {
    const std::string name = command.words.front().text;
    if (name == "false" || name == "unset") {
      status_ = name == "unset";
      for (const ShellWord& word : command.words) {
        variables_.values.erase(word.text);
      }
      return;
    }
    if ((name == "source" || name == ".") && command.words.size() > 1) {
      if (const auto text = sources_(command.words[1].text)) {
        run(*text, 1, depth_ + 1);
      }
      return;
    }
    if (const auto called = functions_.find(name); called != functions_.end()) {
      const auto [text, begin] = called->second;
      run(text, begin, depth_ + 1);
      return;
    }
    const bool scripted = name == "sbatch" || name == "bash" || name == "sh" || name == "srun";
    script_.commands.push_back(std::move(command));
    if (scripted && !document.empty()) {
      run(document, line, depth_ + 1);
    }
  }

  const std::string& file_;
  const ShellSources& sources_;
  ShellVariables& variables_;
  ShellScript& script_;
  ShellWordReader* reader_ = nullptr;
  std::vector<ShellBlock> blocks_;
  std::map<std::string, std::pair<std::string, int>> functions_;
  std::string document_end_;
  int depth_ = 0;
  bool gated_ = false;  // && or || keeps the command from running
  bool negated_ = false;
  bool status_ = true;  // of the last command
};

}  // namespace

ShellScript run_script(std::string_view text, const std::string& file,
                       const std::map<std::string, std::string>& given,
                       const ShellSources& sources) {
  ShellVariables variables;
  variables.given = given;
  for (const auto& [name, value] : given) {
    variables.values[name] = {value};
  }
  ShellScript script;
  script.directives = batch_directives(text, file);
  Runner(file, sources, variables, script).run(text, 1, 0);
  script.variables = std::move(variables.values);
  script.unknown = std::move(variables.unknown);
  return script;
}

}  // namespace stepcast
