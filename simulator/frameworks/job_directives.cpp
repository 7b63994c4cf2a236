// SPDX-License-Identifier: Apache-2.0
#include "frameworks/job_directives.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "frameworks/setting.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

enum class BatchSystem { kSlurm, kPbs, kGridEngine, kPjm, kLsf, kFlux };

struct BatchMark {
  std::string_view mark;
  BatchSystem system;
  std::string_view identifiers;  // variables of a job that runs
};
constexpr auto kMarks = std::to_array<BatchMark>({
    {"#SBATCH", BatchSystem::kSlurm, "SLURM_JOB_ID SLURM_JOBID"},
    {"#PBS", BatchSystem::kPbs, "PBS_JOBID"},
    {"#$", BatchSystem::kGridEngine, "JOB_ID"},
    {"#PJM", BatchSystem::kPjm, "PJM_JOBID"},
    {"#BSUB", BatchSystem::kLsf, "LSB_JOBID"},
    {"# flux:", BatchSystem::kFlux, "FLUX_JOB_ID"},
    {"#flux:", BatchSystem::kFlux, "FLUX_JOB_ID"},
});

const BatchMark* mark_of(std::string_view line) {
  const auto* const mark = std::find_if(kMarks.begin(), kMarks.end(), [&](const BatchMark& row) {
    return line.starts_with(row.mark);
  });
  return mark == kMarks.end() ? nullptr : mark;
}

// Letters that are short for options of Slurm, and of Flux.
constexpr auto kShort = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"-N", "--nodes"},
    {"-n", "--ntasks"},
    {"-G", "--gpus"},
});

// Resources that are whole nodes, by their names on Japanese machines with Grid Engine and PBS.
constexpr std::string_view kWholeNodes = "node_f f_node rt_F rt_AF rt_QF rt_HF node nodes select";

std::vector<std::string> directive_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char quote = '\0';
  for (const char c : std::string(line) + ' ') {
    const bool ends_quote = quote != '\0' && c == quote;
    const bool begins_quote = quote == '\0' && (c == '"' || c == '\'');
    if (ends_quote || begins_quote) {
      quote = ends_quote ? '\0' : c;
    } else if (quote != '\0' || !ascii::is_space(c)) {
      word += c;
    } else if (word.starts_with('#')) {
      return words;  // a remark behind the options
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

std::vector<std::string> list_parts(std::string_view text, std::string_view between) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(between), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

class Directives {
 public:
  std::vector<std::string> options(BatchSystem system, const std::vector<std::string>& words) {
    switch (system) {
      case BatchSystem::kSlurm:
      case BatchSystem::kFlux:
        slurm(words);
        break;
      case BatchSystem::kLsf:
        lsf(words);
        break;
      default:
        resources(words);
    }
    return std::move(options_);
  }

 private:
  void add(std::string_view name, std::string_view value) {
    if (leading_number(value).value_or(0) > 0) {
      options_.push_back(std::string(name) + "=" + std::string(value));
    }
  }

  // "-N 16", "-N16" and "--nodes 16".
  void slurm(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string word = words[i];
      const auto* const row = std::find_if(kShort.begin(), kShort.end(), [&](const auto& known) {
        return word.starts_with(known.first) && !word.starts_with("--");
      });
      if (row != kShort.end()) {
        const std::string rest = word.substr(2);
        word = std::string(row->second) + (rest.empty() ? "" : "=" + rest);
      }
      const bool takes = i + 1 < words.size() && word.starts_with("--") &&
                         word.find('=') == std::string::npos && !words[i + 1].starts_with('-');
      options_.push_back(takes ? word + "=" + words[++i] : word);
    }
  }

  // "-nnodes 16", "-gpu num=4:mode=shared", "-n 64", "-R span[ptile=4]"
  void lsf(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const std::string& value = words[i + 1];
      if (words[i] == "-nnodes") {
        add("--nodes", value);
      } else if (words[i] == "-n") {
        add("--ntasks", value);
      } else if (words[i] == "-gpu") {
        resource_list(value);
      } else if (words[i] == "-R" && value.find("ptile=") != std::string::npos) {
        add("--ntasks-per-node", std::string_view(value).substr(value.find("ptile=") + 6));
      }
    }
  }

  // "-l select=16:ngpus=4", "-L node=16,gpu=8", "--mpi max-proc-per-node=4", "-pe mpi 64"
  void resources(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string value = i + 1 < words.size() ? words[i + 1] : std::string{};
      if (words[i] == "-l" || words[i] == "-L" || words[i] == "--mpi") {
        resource_list(value);
      } else if (words[i] == "--rsc-list" || words[i].starts_with("--rsc-list=")) {
        resource_list(words[i].find('=') == std::string::npos ? value : words[i].substr(11));
      }
    }
  }

  void resource_list(const std::string& list) {
    for (const std::string& part : list_parts(list, ":,")) {
      const std::size_t equals = part.find('=');
      const std::string name = part.substr(0, equals);
      const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
      if (is_among(kWholeNodes, name)) {
        add("--nodes", value);
      } else if (is_among("ngpus gpus gpu num", name)) {
        add("--gpus-per-node", value);
      } else if (is_among("mpiprocs ppn max-proc-per-node", name)) {
        add("--ntasks-per-node", value);
      } else if (name == "proc") {
        add("--ntasks", value);
      }
    }
  }

  std::vector<std::string> options_;
};

}  // namespace

std::vector<ShellWord> batch_directives(std::string_view text, const std::string& file) {
  std::vector<ShellWord> words;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view directive = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const BatchMark* const mark = mark_of(directive);
    if (mark == nullptr) {
      continue;
    }
    directive.remove_prefix(mark->mark.size());
    for (std::string& option : Directives().options(mark->system, directive_words(directive))) {
      words.push_back({std::move(option), {file, line, 0}});
    }
  }
  return words;
}

std::map<std::string, std::string> batch_variables(const std::vector<ShellWord>& options) {
  struct Variable {
    std::string_view name;
    std::string_view option;
  };
  constexpr auto kJobVariables = std::to_array<Variable>({
      {"SLURM_NNODES", "--nodes="},
      {"SLURM_JOB_NUM_NODES", "--nodes="},
      {"NHOSTS", "--nodes="},
      {"PJM_NODE", "--nodes="},
      {"SLURM_NTASKS", "--ntasks="},
      {"SLURM_NTASKS_PER_NODE", "--ntasks-per-node="},
      {"SLURM_GPUS_PER_NODE", "--gpus-per-node="},
      {"SLURM_GPUS_ON_NODE", "--gpus-per-node="},
  });
  std::map<std::string, std::string> variables;
  for (const ShellWord& option : options) {
    for (const Variable& row : kJobVariables) {
      const std::string value =
          option.text.starts_with(row.option) ? option.text.substr(row.option.size()) : "";
      if (whole_number_in(value)) {
        variables.emplace(row.name, value);
      }
    }
  }
  return variables;
}

std::map<std::string, std::string> job_identifiers(std::string_view text) {
  std::map<std::string, std::string> variables;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const BatchMark* const mark = mark_of(text.substr(0, end));
    for (const std::string_view name :
         names_in(mark == nullptr ? std::string_view{} : mark->identifiers)) {
      variables.emplace(name, "1");
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return variables;
}

}  // namespace stepcast
