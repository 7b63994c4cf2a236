// SPDX-License-Identifier: Apache-2.0
#include "frameworks/bridge_python.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "frameworks/bridge_recipe.hpp"
#include "frameworks/words.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

struct Statement {
  std::string text;  // without comments, on one line
  int line = 0;
  std::size_t indent = 0;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && ascii::is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && ascii::is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool is_dotted_name(std::string_view text) {
  return !text.empty() && !ascii::is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return ascii::is_word(c) || c == '.'; });
}

// Lines joined while brackets are open, without comments and documentation.
class StatementReader {
 public:
  StatementReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<Statement> statements() {
    while (at_ < text_.size()) {
      read_statement();
    }
    return std::move(statements_);
  }

 private:
  void read_statement() {
    Statement statement{{}, line_, 0};
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
      ++statement.indent;
      ++at_;
    }
    int open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
        if (open == 0) {
          break;
        }
        statement.text += ' ';
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '"' || c == '\'') {
        quoted(statement.text);
        continue;
      }
      open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      open = std::max(open, 0);
      statement.text += c;
      ++at_;
    }
    if (open > 0) {
      throw ConfigError({file_, statement.line, 0}, "has a bracket that nothing closes");
    }
    if (!trimmed(statement.text).empty()) {
      statements_.push_back(std::move(statement));
    }
  }

  void quoted(std::string& text) {
    const std::string three(3, text_[at_]);
    const std::string mark = text_.substr(at_).starts_with(three) ? three : three.substr(0, 1);
    const std::size_t end = text_.find(mark, at_ + mark.size());
    if (end == std::string_view::npos) {
      throw ConfigError({file_, line_, 0}, "has a quote that nothing closes");
    }
    const std::string_view inside = text_.substr(at_ + mark.size(), end - at_ - mark.size());
    line_ += static_cast<int>(std::count(inside.begin(), inside.end(), '\n'));
    if (mark.size() == 1) {
      text += '"' + std::string(inside) + '"';
    }
    at_ = end + mark.size();
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<Statement> statements_;
  std::size_t at_ = 0;
  int line_ = 1;
};

// Parts between commas that no bracket or quote holds.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  int open = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    quoted = quoted != (c == '"');
    if (!quoted && i < text.size()) {
      open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    }
    if (c == ',' && ((open <= 0 && !quoted) || i == text.size())) {
      if (const std::string_view part = trimmed(text.substr(begin, i - begin)); !part.empty()) {
        parts.push_back(part);
      }
      begin = i + 1;
    }
  }
  return parts;
}

bool is_number(std::string_view text) {
  const bool signed_one = text.starts_with('-');
  text.remove_prefix(signed_one ? 1 : 0);
  return !text.empty() && ascii::is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return ascii::is_alphanumeric(c) || c == '.' || c == '_' || c == '-' || c == '+';
         });
}

PythonAssignment read_value(std::string target, std::string_view written) {
  PythonAssignment assignment{std::move(target), scalar_at({}, std::string(written)), true};
  if (written.size() >= 2 && written.front() == '"' && written.find('"', 1) == written.size() - 1) {
    assignment.value.text = written.substr(1, written.size() - 2);
  } else if (written.size() >= 2 && written.front() == '[' && written.back() == ']') {
    std::vector<std::string> items;
    for (const std::string_view part : parts_of(written.substr(1, written.size() - 2))) {
      const PythonAssignment item = read_value({}, part);
      assignment.literal =
          assignment.literal && item.literal && item.value.kind == ConfigNode::Kind::kScalar;
      items.push_back(item.value.text);
    }
    if (assignment.literal) {
      assignment.value = list_node(items);
    }
  } else if (is_number(written)) {
    std::erase(assignment.value.text, '_');
  } else if (written.starts_with("torch.") && is_dotted_name(written)) {
    const std::string_view type = written.substr(6);
    assignment.value.text = type == "bfloat16"  ? "bf16"
                            : type == "float16" ? "fp16"
                            : type == "float32" ? "fp32"
                                                : std::string(type);
  } else {
    assignment.literal = written == "True" || written == "False" || written == "None";
  }
  return assignment;
}

// "Name(a=1, b=2)" as assignments of a and b; nothing where the text is no call.
bool read_call(const std::string& prefix, std::string_view written,
               std::vector<PythonAssignment>& assignments) {
  const std::size_t open = written.find('(');
  if (open == std::string_view::npos || !written.ends_with(')') ||
      !is_dotted_name(trimmed(written.substr(0, open)))) {
    return false;
  }
  for (const std::string_view part :
       parts_of(written.substr(open + 1, written.size() - open - 2))) {
    const std::size_t equals = part.find('=');
    const std::string_view key = trimmed(part.substr(0, std::min(equals, part.size())));
    if (equals != std::string_view::npos && is_dotted_name(key)) {
      assignments.push_back(
          read_value(prefix + std::string(key), trimmed(part.substr(equals + 1))));
    }
  }
  return true;
}

void read_line(const Statement& statement, const std::string& file, PythonFunction& function) {
  const std::string_view text = trimmed(statement.text);
  const std::size_t equals = text.find('=');
  const std::string_view target = trimmed(text.substr(0, std::min(equals, text.size())));
  const std::size_t before = function.assignments.size();
  if (equals != std::string_view::npos && text.substr(equals + 1).starts_with('=')) {
    return;  // a comparison
  }
  if (equals == std::string_view::npos || !is_dotted_name(target)) {
    function.calls.emplace_back(text);
  } else {
    const std::string_view value = trimmed(text.substr(equals + 1));
    const std::string name(target);
    PythonAssignment whole = read_value(name, value);
    const bool call = !whole.literal && read_call(name + ".", value, function.assignments);
    if (!call || function.assignments.size() == before) {
      function.assignments.push_back(std::move(whole));
    }
  }
  for (std::size_t i = before; i < function.assignments.size(); ++i) {
    static_cast<ConfigPlace&>(function.assignments[i].value) = {
        std::make_shared<const std::string>(file), statement.line, 1};
  }
}

// Short options of the launcher, and names that recipes have for Megatron's fields.
constexpr std::array kFieldNames = {
    Word{"tp", "tensor_model_parallel_size"},
    Word{"pp", "pipeline_model_parallel_size"},
    Word{"cp", "context_parallel_size"},
    Word{"vp", "virtual_pipeline_model_parallel_size"},
    Word{"ep", "expert_model_parallel_size"},
    Word{"et", "expert_tensor_parallel_size"},
    Word{"gb", "global_batch_size"},
    Word{"mb", "micro_batch_size"},
    Word{"sl", "seq_length"},
    Word{"num_moe_experts", "num_experts"},
    Word{"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
    Word{"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"},
    Word{"pp_layout", "pipeline_model_parallel_layout"},
    Word{"moe_a2a_overlap", "overlap_moe_expert_parallel_comm"},
    Word{"sequence_length", "seq_length"},
    Word{"g", "gpu"},
    Word{"ng", "num_gpus"},
    Word{"gn", "gpus_per_node"},
    Word{"c", "compute_dtype"},
    Word{"mr", "model_recipe_name"},
    Word{"ms", "max_steps"},
    Word{"cv", "config_variant"},
};

// Parts of a recipe that change nothing that is predicted.
constexpr std::string_view kIgnored =
    "env_vars logger checkpoint rng scheduler rerun_state_machine profiling dist validation "
    "straggler inprocess_restart nvrx_straggler ft tensor_inspect peft_path";

// --- a recipe in Python -------------------------------------------------------------------------

std::string precision_in(std::string_view text) {
  constexpr std::array kWords = {Word{"mxfp8", "fp8mx"},      Word{"fp8_mx", "fp8mx"},
                                 Word{"current", "fp8cs"},    Word{"fp8_cs", "fp8cs"},
                                 Word{"delayed", "fp8ds"},    Word{"fp8_ds", "fp8ds"},
                                 Word{"subchannel", "fp8sc"}, Word{"fp8_sc", "fp8sc"},
                                 Word{"nvfp4", "nvfp4"},      Word{"bf16", "bf16"}};
  const Word* const found = row_within(kWords, &Word::theirs, text);
  return found == nullptr ? std::string{} : std::string(found->ours);
}

// "DEEPSEEK_V3_PRETRAIN_CONFIG_GB300_FP8_MX_V1", of a WorkloadBaseConfig.
std::optional<BridgeRecipe> workload_name(const std::string& name) {
  const std::string lower = ascii::lower_case(name);
  const std::size_t middle = lower.find("_pretrain_config_");
  if (middle == std::string::npos || lower == name) {
    return std::nullopt;
  }
  BridgeRecipe recipe;
  recipe.model = lower.substr(0, middle);
  recipe.task = "pretrain";
  const std::string rest = lower.substr(middle + 17);
  recipe.gpu = rest.substr(0, rest.find('_'));
  recipe.precision = precision_in(rest);
  return recipe;
}

class PythonRecipes {
 public:
  PythonRecipes(const ImportInput& input, const std::string& wanted)
      : input_(input), functions_(python_functions(input.text, input.file)) {
    chosen_ = choose(wanted);
  }

  BridgeFile file() {
    BridgeFile file;
    const std::string& name = functions_[chosen_].name;
    const std::optional<BridgeRecipe> workload = workload_name(name);
    file.recipe = workload ? *workload : parse_bridge_recipe(name).value_or(BridgeRecipe{});
    follow(chosen_, 0, file);
    return file;
  }

 private:
  std::size_t choose(const std::string& wanted) const {
    std::vector<std::size_t> recipes;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const std::string& name = functions_[i].name;
      if (name == wanted ||
          (wanted.empty() && (parse_bridge_recipe(name) || workload_name(name)))) {
        recipes.push_back(i);
      }
    }
    if (recipes.size() == 1) {
      return recipes.front();
    }
    if (recipes.empty() && wanted.empty() && functions_.size() == 1) {
      return 0;
    }
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(recipes.size(), 5); ++i) {
      names += (i > 0 ? ", " : ": ") + functions_[recipes[i]].name;
    }
    throw ConfigError(
        {input_.file, 0, 0},
        recipes.empty() ? "has no recipe" + (wanted.empty() ? std::string{} : " '" + wanted + "'") +
                              "; a recipe is a function such as "
                              "llama3_8b_pretrain_8gpu_h100_bf16_config"
                        : "has " + std::to_string(recipes.size()) +
                              " recipes; give recipe=NAME behind the file, one of" + names);
  }

  void follow(std::size_t index, int depth, BridgeFile& file) {
    for (const PythonAssignment& assignment : functions_[index].assignments) {
      const std::size_t dot = assignment.target.find('.');
      if (dot == std::string::npos && !assignment.literal) {
        begin_from(assignment.value.text, depth, file);
      } else if (dot != std::string::npos) {
        take(assignment, file);
      }
    }
    for (const std::string& call : functions_[index].calls) {
      if (call.starts_with("set_deepseek_v3_pipeline_model_parallel_layout")) {
        lays_out_ = true;
      } else if (!call.starts_with("return") && call.find('(') != std::string::npos) {
        file.calls.push_back(call.substr(0, call.find('(')));
      }
    }
    if (depth == 0 && lays_out_) {
      lay_out(file);
    }
  }

  // cfg = other_recipe(): one of this file, or one of the framework's own.
  void begin_from(const std::string& value, int depth, BridgeFile& file) {
    constexpr int kDeepestRecipe = 8;
    std::string name = value.substr(0, value.find('('));
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      if (functions_[i].name == name && depth < kDeepestRecipe && i != chosen_) {
        follow(i, depth + 1, file);
        return;
      }
    }
    name = name.starts_with('_') ? name.substr(1) : name;
    if (const auto known = bridge_table_entry(name, input_.data)) {
      file.settings.insert(file.settings.begin(), known->settings.begin(), known->settings.end());
    }
    const std::size_t task = name.find("_pretrain");
    if (file.recipe.model.empty() && task != std::string::npos) {
      file.recipe.model = name.substr(0, task);
    }
  }

  // What a recipe that this one begins from says of the format does not count beside another one.
  static void forget_precision(BridgeFile& file) {
    static constexpr std::string_view kFields =
        "fp8 fp8_recipe fp8_param_gather fp4 fp4_recipe fp4_param_gather grad_reduce_in_fp32 "
        "first_last_layers_bf16 fp8_dot_product_attention num_layers_at_start_in_bf16 "
        "num_layers_at_end_in_bf16 reuse_grad_buf_for_mxfp8_param_ag";
    std::erase_if(file.settings,
                  [](const Setting& setting) { return is_among(kFields, setting.name); });
  }

  static void take(const PythonAssignment& assignment, BridgeFile& file) {
    const std::string& target = assignment.target;
    const std::size_t first = target.find('.') + 1;
    const std::string section = target.substr(first, target.find('.', first) - first);
    if (is_among(kIgnored, section)) {
      return;
    }
    if (section == "mixed_precision" && target.find('.', first) == std::string::npos) {
      const std::string precision = precision_in(assignment.value.text);
      forget_precision(file);
      file.recipe.precision = precision.empty() ? file.recipe.precision : precision;
      return;
    }
    if (!assignment.literal) {
      file.values.push_back(target);
      return;
    }
    file.settings.push_back({bridge_field(target.substr(first)), assignment.value});
  }

  // The layout that the framework has for the model and its stages.
  void lay_out(BridgeFile& file) const {
    const std::int64_t stages = degree_in(file.settings, "pipeline_model_parallel_size") *
                                degree_in(file.settings, "virtual_pipeline_model_parallel_size");
    std::string layout = bridge_table_layout(file.recipe.model, stages, input_.data);
    if (!layout.empty()) {
      file.settings.push_back(
          text_setting("pipeline_model_parallel_layout", std::move(layout), {}));
    }
  }

  const ImportInput& input_;
  std::vector<PythonFunction> functions_;
  std::size_t chosen_ = 0;
  bool lays_out_ = false;
};

}  // namespace

std::vector<PythonFunction> python_functions(std::string_view text, const std::string& file) {
  std::vector<PythonFunction> functions;
  bool inside = false;
  for (const Statement& statement : StatementReader(text, file).statements()) {
    const std::string_view line = trimmed(statement.text);
    if (line.starts_with("def ")) {
      functions.push_back({std::string(trimmed(line.substr(4, line.find('(') - 4))), {}, {}});
      inside = true;
      continue;
    }
    if (statement.indent > 0 && inside) {
      read_line(statement, file, functions.back());
      continue;
    }
    inside = false;
    PythonFunction own;
    read_line(statement, file, own);
    if (!own.assignments.empty()) {
      const std::string& target = own.assignments.front().target;
      const std::size_t dot = target.find('.');
      own.name =
          own.assignments.size() > 1 || line.ends_with(')') ? target.substr(0, dot) : std::string{};
      if (own.name.empty() && !functions.empty() && functions.back().name.empty()) {
        functions.back().assignments.push_back(std::move(own.assignments.front()));
      } else {
        functions.push_back(std::move(own));
      }
    }
  }
  return functions;
}

std::string bridge_field(std::string_view path) {
  constexpr std::string_view kAdapters = "peft.";
  const std::string_view name = path.substr(path.rfind('.') + 1);
  if (path.starts_with(kAdapters) || path.find(".peft.") != std::string_view::npos) {
    return "peft_" + std::string(name);
  }
  const std::string_view field = ours_of(kFieldNames, name);
  return std::string(field.empty() ? name : field);
}

std::int64_t degree_in(const std::vector<Setting>& settings, std::string_view name) {
  constexpr std::int64_t kMost = 1024;
  std::int64_t value = 1;
  for (const Setting& setting : settings) {
    if (setting.name == name) {
      value = leading_number(setting.value.text).value_or(1);
    }
  }
  return value > 0 && value < kMost ? value : 1;
}

BridgeFile read_python_recipe(const ImportInput& input, const std::string& wanted) {
  return PythonRecipes(input, wanted).file();
}

}  // namespace stepcast
