// SPDX-License-Identifier: Apache-2.0
#include "frameworks/launch_size.hpp"

#include <algorithm>
#include <array>

#include "frameworks/setting.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

// A number that some option gives.
struct Figure {
  std::optional<std::int64_t> number;
  std::string option;  // as written
  Location where;
  bool is_known = true;
  std::string range;  // "2:4", of which the number is the upper end
};

struct Figures {
  Figure nodes;
  Figure processes;  // of torchrun, on a node
  Figure tasks;
  Figure tasks_per_node;
  Figure gpus;
  Figure gpus_per_node;
  Figure gpus_per_task;
};

constexpr std::string_view kMpiLaunchers = "mpirun mpiexec orterun mpiexec.hydra aprun";
// Launchers that start one process a GPU themselves.
constexpr std::string_view kProcessLaunchers =
    "torchrun deepspeed torch.distributed.run torch.distributed.launch accelerate msrun";
// Programs that start no more than one process unless they are told how many: torchrun's default.
constexpr std::string_view kSingle =
    "python python3 env exec nohup time torchrun torch.distributed.run torch.distributed.launch";

enum class Whose { kAny, kMpi, kOther };
struct SizeOption {
  std::string_view names;
  Figure Figures::*figure;
  Whose whose = Whose::kAny;
};
constexpr std::array kSizeOptions = {
    SizeOption{"--nnodes --num_nodes --num-nodes --nodes", &Figures::nodes},
    SizeOption{"-N", &Figures::nodes, Whose::kOther},
    SizeOption{"--nproc_per_node --nproc-per-node --num_gpus --local_worker_num",
               &Figures::processes},
    SizeOption{"-np --np --ntasks --n", &Figures::tasks},
    SizeOption{"-n", &Figures::tasks},
    SizeOption{"-N", &Figures::tasks_per_node, Whose::kMpi},
    SizeOption{"--npernode -npernode -ppn --ppn -perhost --map-by -map-by --ntasks-per-node",
               &Figures::tasks_per_node},
    SizeOption{"--gpus -G --worker_num", &Figures::gpus},
    SizeOption{"--gpus-per-node --gres --gpus_per_node", &Figures::gpus_per_node},
    SizeOption{"--gpus-per-task", &Figures::gpus_per_task},
};

// "4", "a100:4", "gpu:a100:4,nvme:1", "ppr:4:node", "2:4", "16-32"
void read_number(std::string_view value, Figure& figure) {
  if (value.starts_with("ppr:")) {
    figure.number = leading_number(value.substr(4));
    return;
  }
  if (const std::size_t gpu = value.find("gpu"); gpu != std::string_view::npos) {
    value.remove_prefix(gpu);
    value = value.substr(0, value.find_first_of(",("));
    const std::size_t colon = value.rfind(':');
    figure.number = colon == std::string_view::npos ? 1 : leading_number(value.substr(colon + 1));
    return;
  }
  value = value.substr(0, value.find_first_of(",("));
  const std::size_t colon = value.rfind(':');
  const bool range = colon != std::string_view::npos && leading_number(value);
  figure.range = range ? std::string(value) : std::string{};
  figure.number = colon == std::string_view::npos ? leading_number(value)
                                                  : whole_number_in(value.substr(colon + 1));
}

class FigureReader {
 public:
  Figures read(const std::vector<ShellWord>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      if (!word.starts_with('-')) {
        const std::string name =
            word.substr(word.rfind('/') == std::string::npos ? 0 : word.rfind('/') + 1);
        mpi_ = is_among(kMpiLaunchers, name) || (mpi_ && !is_among("srun torchrun flux", name));
        continue;
      }
      const std::size_t equals = word.find('=');
      const bool apart = equals == std::string::npos;
      const ShellWord* const value = !apart                 ? &words[i]
                                     : i + 1 < words.size() ? &words[i + 1]
                                                            : nullptr;
      if (value != nullptr) {
        take(word.substr(0, equals), apart ? value->text : word.substr(equals + 1), *value);
      }
    }
    return figures_;
  }

 private:
  void take(const std::string& name, const std::string& text, const ShellWord& word) {
    for (const SizeOption& option : kSizeOptions) {
      const bool applies = option.whose == Whose::kAny || (option.whose == Whose::kMpi) == mpi_;
      Figure& figure = figures_.*(option.figure);
      if (!applies || figure.number || !is_among(option.names, name)) {
        continue;
      }
      if (option.figure == &Figures::processes) {
        figure.number = whole_number_in(text);  // torchrun takes "gpu" and "auto" as well
      } else {
        read_number(text, figure);
      }
      figure.number = figure.number.value_or(0) > 0 ? figure.number : std::nullopt;
      figure.option = name;
      figure.where = word.where;
      figure.is_known = word.is_known;
    }
  }

  Figures figures_;
  bool mpi_ = false;
};

std::optional<std::int64_t> quotient(const Figure& whole, std::int64_t part) {
  const bool divides = whole.number && part > 0 && *whole.number % part == 0;
  return divides ? std::optional(*whole.number / part) : std::nullopt;
}

void assume_unknown(const Figure& figure, std::string ours, LaunchSize& size) {
  if (figure.number && (!figure.is_known || !figure.range.empty())) {
    const std::string line = " in line " + std::to_string(figure.where.line);
    size.assumptions.push_back(
        {std::move(ours), std::to_string(*figure.number),
         figure.option + line +
             (figure.is_known ? " allows " + figure.range + ", and the most is taken"
                              : " hangs on what nobody says; give --nodes, or its variable")});
  }
}

// What the count of tasks, of which each has one GPU, says where nothing else does.
void take_rest(const Figures& figures, bool per_gpu, LaunchSize& size) {
  if (!size.gpus_per_node && figures.tasks_per_node.number == 1 && !per_gpu) {
    size.gpus_per_node = 1;
    size.assumptions.push_back({"cluster.gpus_per_node", "1",
                                "one task a node, in line " +
                                    std::to_string(figures.tasks_per_node.where.line) +
                                    ", and nothing says how many GPUs it has"});
  }
  if (!size.nodes && size.gpus_per_node && !per_gpu) {
    size.nodes = quotient(figures.tasks, *size.gpus_per_node);
  }
  if (!size.nodes && size.gpus_per_node) {
    size.nodes = quotient(figures.gpus, *size.gpus_per_node);
  }
  size.gpus = figures.gpus.number ? figures.gpus.number
              : per_gpu           ? std::nullopt
                                  : figures.tasks.number;
}

std::string name_of_launcher(const ShellWord& word) {
  return word.text.substr(word.text.rfind('/') + 1);
}

// "python", "exec python -u", "env A=1 torchrun --master_port 6000"
bool is_single(const std::vector<ShellWord>& launcher) {
  const auto starts_one = [](const ShellWord& word) {
    return is_among(kSingle, name_of_launcher(word)) || word.text.starts_with('-') ||
           word.text.find('=') != std::string::npos || leading_number(word.text);
  };
  return !launcher.empty() && std::all_of(launcher.begin(), launcher.end(), starts_one);
}

}  // namespace

LaunchSize launch_size(const std::vector<ShellWord>& launcher) {
  const Figures figures = FigureReader().read(launcher);
  const bool per_gpu = std::any_of(launcher.begin(), launcher.end(), [](const ShellWord& word) {
    return is_among(kProcessLaunchers, name_of_launcher(word));
  });
  const bool many_tasks = figures.tasks_per_node.number.value_or(0) > 1;
  LaunchSize size;
  size.starts_one_process = is_single(launcher) && figures.processes.option.empty();
  size.nodes = figures.nodes.number;
  assume_unknown(figures.nodes, "cluster.nodes", size);
  size.gpus_per_node = figures.processes.number;
  assume_unknown(figures.processes, "cluster.gpus_per_node", size);
  const auto otherwise = [&](std::optional<std::int64_t> number) {
    size.gpus_per_node = size.gpus_per_node ? size.gpus_per_node : number;
  };
  otherwise(many_tasks && !per_gpu ? figures.tasks_per_node.number : std::nullopt);
  otherwise(figures.gpus_per_node.number);
  otherwise(quotient(figures.gpus, size.nodes.value_or(0)));
  std::int64_t of_tasks = 0;
  const bool fits = !__builtin_mul_overflow(figures.gpus_per_task.number.value_or(0),
                                            figures.tasks_per_node.number.value_or(0), &of_tasks);
  otherwise(fits && of_tasks > 0 ? std::optional(of_tasks) : std::nullopt);
  if (!per_gpu) {
    otherwise(quotient(figures.tasks, size.nodes.value_or(0)));
  }
  take_rest(figures, per_gpu, size);
  return size;
}

}  // namespace stepcast
