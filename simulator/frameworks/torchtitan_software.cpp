// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan_software.hpp"

#include <algorithm>
#include <vector>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/framework_keys.hpp"

namespace stepcast {
namespace {

class SoftwareReader {
 public:
  SoftwareReader(FrameworkReader& settings, const TorchtitanJob& job, const TorchtitanParts& parts)
      : settings_(settings), job_(job), parts_(parts) {}

  TorchtitanSoftware software() {
    read_compile();
    read_states();
    read_graphs();
    if (settings_.is_on("optimizer.fused", "software.optimizer")) {
      changes_.field("optimizer", "fused");
    }
    if (!job_.is_before(kTorchtitanShardsAlways)) {
      changes_.field("mixed_precision", "always");
    }
    read_loss();
    read_attention();
    return {std::move(set_), changes_.take()};
  }

 private:
  // compile.enable with its components decides which set describes the operators.
  void read_compile() {
    const bool enabled = settings_.is_on("compile.enable", "software");
    const std::vector<std::string> components =
        settings_.texts("compile.components", "software")
            .value_or(std::vector<std::string>{"model", "loss"});
    const auto compiles = [&](std::string_view part) {
      return enabled && std::find(components.begin(), components.end(), part) != components.end();
    };
    set_ = compiles("model") ? job_.release.compiled : job_.release.eager;
    if (compiles("model") != compiles("loss")) {
      changes_.field("cross_entropy", compiles("loss") ? "compiled" : "eager");
    }
    settings_.not_carried("compile.backend", "another compiler than Inductor", "inductor");
    constexpr const char* kOfCompile = "compile.enable_async_tensor_parallel";
    const std::string async =
        settings_.has(kOfCompile)
            ? kOfCompile
            : std::string(framework_name(FrameworkVocabulary::kTorchtitan, "software.async_tp"));
    if (settings_.is_on(async, "software.async_tp")) {
      changes_.field("async_tp", true);
    }
  }

  void read_states() {
    if (settings_.text("training.dtype", "software.state_bytes").value_or("float32") ==
        "bfloat16") {
      // Weights in 16 bits need no policy to run in 16 bits.
      changes_.field("mixed_precision", "always");
      changes_.field("fsdp_parameters_fp32", false);
      changes_.begin("state_bytes");
      changes_.field("parameter", "2 B");
      changes_.field("gradient", "2 B");
      changes_.field("optimizer", "4 B");
      changes_.end();
    }
    settings_.not_carried("training.mixed_precision_param", "products in 32 bits; here in 16",
                          "bfloat16");
    const std::string reduced =
        settings_.text("training.mixed_precision_reduce", "software.gradient_reduce")
            .value_or("float32");
    if (reduced == "bfloat16") {
      changes_.field("gradient_reduce", "bf16");
    } else if (reduced != "float32") {
      settings_.leave_out("training.mixed_precision_reduce", reduced.substr(0, 60),
                          "another format of reduced gradients");
    }
  }

  // Recipes since f84224af0 capture the forward and the backward pass.
  void read_graphs() {
    const bool disabled = settings_.is_on("training.disable_cuda_graphs", "software.cuda_graph");
    if (job_.recipe && parts_.pp == 1 && !disabled && !job_.is_before("2026-08-13")) {
      changes_.field("cuda_graph", true);
    }
  }

  // A loss in chunks, of which there are eight unless the recipe says otherwise.
  void read_loss() {
    const std::string loss =
        settings_.text("loss.class", "software.memory.loss_chunks").value_or("");
    if (loss.starts_with("Chunked")) {
      changes_.begin("memory");
      changes_.field("loss_chunks",
                     settings_.count_or("loss.num_chunks", "software.memory.loss_chunks", 8));
      changes_.end();
    } else if (!loss.empty() && loss != "CrossEntropyLoss") {
      settings_.leave_out("loss.class", loss.substr(0, 60), "a loss that is not known here");
    }
  }

  // A kernel that the flavor or the recipe names. Variable lengths are FlashAttention with a mask
  // by document, on parts that have it FlashAttention 3 since 52e34d386; SDPA asks for cuDNN first
  // since 6a3a9da95.
  void read_attention() {
    const std::string backend = settings_.text("model.attn_backend", "software.attention")
                                    .value_or(std::string(parts_.attention));
    if (backend.starts_with("flex")) {
      changes_.field("attention", "flex");
    } else if (backend == "varlen") {
      changes_.field("attention", job_.is_before("2026-04-06") ? "flash2" : "flash3");
      changes_.begin("attention_library");
      changes_.field("name", "flash_attention");
      changes_.end();
    } else if (backend == "sdpa") {
      changes_.field("attention", job_.is_before("2025-10-09") ? "flash2" : "cudnn");
    } else if (!backend.empty()) {
      settings_.leave_out("model.attn_backend", backend.substr(0, 60),
                          "a kernel that is not known here");
    }
  }

  FrameworkReader& settings_;
  const TorchtitanJob& job_;
  const TorchtitanParts& parts_;
  std::string set_;
  ConfigWriter changes_;
};

}  // namespace

TorchtitanSoftware read_torchtitan_software(FrameworkReader& settings, const TorchtitanJob& job,
                                            const TorchtitanParts& parts) {
  return SoftwareReader(settings, job, parts).software();
}

}  // namespace stepcast
