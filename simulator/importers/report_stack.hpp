// SPDX-License-Identifier: Apache-2.0
// Which software ran what users report of, by one rule: the stack that the source names and the
// month of the source give the set.
//
//   stack        the framework that the row names, else the one that the thread is known to be
//                about, else that of the thread's repository; none is known of any other
//   month        the row's own date, else the one in which the thread was opened
//   torchtitan   the set of that month (configs/software/README.md), eager unless the row says that
//                it was compiled
//   Trainer      huggingface, or huggingface_deepspeed where the plan shards by ZeRO and not by
//                FSDP; attention by the part and PyTorch's month (trainer_rows.cpp)
//   Bridge       the container of that month or the last one before it
//   Megatron-LM  what its scripts run when they say nothing else: launched by the host, without
//                graphs (megatron_plain); who has more says so by switches
//   Primus       Megatron-LM on ROCm until its configurations turned Primus-Turbo on
//   any other    as the table of published frameworks has it (published_names.cpp)
//
// The set that a row names says what there was when somebody tried it, and whether the run was
// compiled; switches beside it are facts of the report and stay.
#pragma once

#include <string>

#include "importers/published_run.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

struct ReportedStack {
  std::string framework;  // as software_for takes it
  int month = 0;          // 202509; 0: not known
  std::string reason;     // whence both are known
};

// Of a source as "pytorch/torchtitan#1690"; a framework and a date that are stated, or empty.
// Throws RefusedRow where no framework is known.
ReportedStack reported_stack(const std::string& source, const std::string& framework,
                             const std::string& date);

// Gives `experiment` the set of the stack in the place of its own, and says so.
// `attention` is that of its model.
void set_software(const ReportedStack& stack, AttentionKind attention, ProfileCache& profiles,
                  Record& experiment, Record& assumed);

}  // namespace stepcast
