// SPDX-License-Identifier: Apache-2.0
// How the row of a published training run becomes an experiment, key by key. What a source words is
// read by one rule for all rows; what it does not state and what a rule infers is written into
// `assumed` with the reason. What no rule knows throws RefusedRow.
#pragma once

#include <optional>
#include <string>

#include "importers/foreign_row.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

// --- model (run_model.cpp) ----------------------------------------------------------------------

// The key `model` of an experiment, and what it says of the model that other keys depend on: one of
// ours by its name with what the row says otherwise, else from the row's own figures.
// NOLINTNEXTLINE(bugprone-exception-escape): JSON values move without throwing
struct RunModel {
  Record record;
  std::int64_t layers = 0;
  bool experts = false;
};

// `figures` is the row's `model`.
RunModel run_model(StatedObject& figures, std::int64_t sequence_length, ProfileCache& profiles);

// --- training and cluster (run_training.cpp) ----------------------------------------------------

// How a published text begins that says, for its recomputation, that activations went to the host.
inline constexpr std::string_view kActivationOffload = "activation offload";

// The keys of `training` about recomputation that a published text means: "none", "full",
// "selective (attention core)", "selective:layernorm,moe_act".
// `data` has what MaxText calls its policies.
Record recompute_keys(const std::string& published, const std::string& framework,
                      const DataRoot& data, Record& assumed);

// What of the cluster other keys depend on.
// NOLINTNEXTLINE(bugprone-exception-escape): JSON values move without throwing
struct RunCluster {
  Record record;
  std::int64_t gpus = 1;
};
RunCluster run_cluster(StatedObject& hardware, const DeviceSpec& device, Record& assumed);

// "bf16", "fp8", "fp8_block", "fp4" ... as `training.dtype` has it on the part.
std::string dtype_key(const std::string& published, const DeviceSpec& device);

// --- software (software_set.cpp, run_software.cpp) ----------------------------------------------

// The shipped set that describes the framework of a run; what the row does not state itself is
// added to `assumed`.
std::string software_set(StatedObject& row, ProfileCache& profiles, Record& assumed);

// The month that the title or the reference of a `source` names, 202506; 0 without one.
int month_of(StatedObject& source);
// A month as a text begins with, "2025-06", "2025_06" or "202506", likewise.
int written_month(std::string_view text);
// "2025-06" of 202506.
std::string month_text(int month);

// The set of torchtitan's compiled or eager code that holds in a month; 0 is that of
// December 2025.
std::string torchtitan_release(LaunchMode layers, int month, const ProfileCache& profiles);

// Whether AMD's scripts for MaxText (amd-agi/maxtext-slurm) launched it.
bool runs_maxtext_slurm(StatedObject& row);

// What a run states of its software on top of the set.
struct RunSoftware {
  std::string base;                   // a shipped set
  Record changes = Record::object();  // switches on top of it

  // The value of the key `software`.
  [[nodiscard]] Record record() const;
};

// Reads `train.overlap`, every key of it, into switches. What it says about the plan (context
// parallelism, the schedule) goes there.
void read_overlap(StatedObject& train, const RunModel& model, RunSoftware& software, Record& plan,
                  Record& assumed);

// What a run of Hugging Face's Trainer states beside `train.overlap`: the release of PyTorch, a
// variant in its notes (trainer_rows.cpp). Nothing for another framework.
void settle_trainer(StatedObject& row, const DeviceSpec& device, RunSoftware& software,
                    Record& plan, Record& assumed);

// When a run was, by PyTorch's release, 2.10 as 210, or by the month, 202604; 0: not known.
struct TorchDay {
  int release = 0;
  int month = 0;
};
// The kernel that scaled_dot_product_attention ran on the part, where it is not the set's.
void settle_scaled_attention(const DeviceSpec& device, const TorchDay& day, RunSoftware& software,
                             Record& assumed);

// --- sources (source_figures.cpp) ---------------------------------------------------------------

// What a source's own meaning of its figures (SourceFigures) makes of a row's plan, recipe and
// measurements.
void settle_figures(StatedObject& row, const RunModel& model, RunSoftware& software, Record& plan,
                    Record& training, Record& assumed);
// Weights, gradients and both moments in bf16, and gradients reduced in it.
void keep_states_in_16_bits(RunSoftware& software);
void correct_figures(StatedObject& row, Record& measured, Record& assumed);

// --- adapters (launch_scripts.cpp) --------------------------------------------------------------

// What a run trains: all weights from documents as long as its sequences, all of them from a packed
// data set, or adapters beside frozen ones.
enum class RunTask { kPretraining, kFineTuning, kAdapters };

// Throws RefusedRow for another task, as reinforcement learning.
RunTask task_of(StatedObject& row);

// Adds to the keys of `training` what a task other than pretraining has: `lora`, `documents`, and
// the set and switches of the software that such runs have. The rows name neither the rank nor the
// matrices, but the benchmark's rules and the frameworks' recipes do.
void settle_task(StatedObject& row, const DeviceSpec& device, Record& training, Record& plan,
                 RunSoftware& software, Record& assumed);

// --- launch scripts (launch_scripts.cpp) --------------------------------------------------------

// What the public scripts that launched a run say where its row is silent: the layout of its
// stages, modules that predict further tokens, what is recomputed, the cluster. Changes
// `experiment`, and says so in `assumed`, with the script.
void follow_launch_script(StatedObject& row, const std::string& gpu, const DataRoot& data,
                          Record& experiment, Record& assumed);

}  // namespace stepcast
