// SPDX-License-Identifier: Apache-2.0
// The optimizer of Megatron and back. Sources: megatron/training/arguments.py,
// core/optimizer/optimizer_config.py (use_precision_aware_optimizer, store_param_remainders,
// muon_*), core/optimizer/cpu_offloading; of Primus: configs/modules/megatron/trainer_base.yaml.
#include "frameworks/megatron_core.hpp"
#include "frameworks/megatron_writer.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kOurs = "training.optimizer";

class OptimizerFields {
 public:
  explicit OptimizerFields(const MegatronFields& fields)
      : fields_(fields), settings_(fields.settings()), source_(fields.source()) {}

  ConfigNode optimizer() {
    const std::string theirs = settings_.text("optimizer", kOurs).value_or("adam");
    if (theirs == "muon" || theirs == "dist_muon") {
      start("muon");
      read_muon();
    } else if (theirs == "sgd") {
      start("sgd");
      if (settings_.number("sgd_momentum", "training.optimizer.momentum_dtype") == 0.0) {
        say("momentum_dtype", "none");
      }
      read_offload();
    } else {
      start("adamw");
      if (theirs != "adam" && theirs != "adamw") {
        settings_.assume(std::string(kOurs), "adamw",
                         "no such optimizer is priced; the file has " + theirs);
      }
      read_formats();
      read_offload();
    }
    return says_more_ ? writer_.take() : scalar_node(kind_);
  }

 private:
  void start(std::string_view kind) {
    kind_ = kind;
    writer_.field("kind", kind);
  }
  void say(std::string_view key, const ConfigScalar& value) {
    writer_.field(key, value);
    says_more_ = true;
  }

  void read_formats() {
    if (!settings_.is_on("use_precision_aware_optimizer", "training.optimizer.moments")) {
      return;
    }
    const auto format = [this](std::string_view field, std::string_view ours) {
      return settings_.text(field, ours).value_or("fp32");
    };
    const std::string first = format("exp_avg_dtype", "training.optimizer.first_moment");
    const std::string second = format("exp_avg_sq_dtype", "training.optimizer.second_moment");
    if (first == second) {
      say("moments", first);
    } else {
      say("first_moment", first);
      say("second_moment", second);
    }
    const std::string master = format("main_params_dtype", "training.optimizer.master");
    const bool remainders =
        settings_.flag("store_param_remainders", "training.optimizer.master").value_or(true);
    const bool bf16 = settings_.flag("bf16", "training.dtype").value_or(source_.bf16);
    say("master", master == "fp32" && remainders && bf16 ? "remainder" : master);
  }

  void read_muon() {
    if (const auto steps = fields_.count("training.optimizer.steps")) {
      say("steps", *steps);
    }
    if (const auto mode = settings_.text(MegatronFields::word("training.optimizer.tp_mode"),
                                         "training.optimizer.tp_mode")) {
      say("tp_mode", *mode);
    }
    // Primus calls it otherwise; both leave it out where nothing is said.
    const bool nesterov = settings_.is_on("muon_nesterov", "training.optimizer.nesterov");
    const bool primus = settings_.is_on("muon_use_nesterov", "training.optimizer.nesterov");
    say("nesterov", nesterov || primus);
    const bool split = settings_.flag("muon_split_qkv", "training.optimizer.qkv").value_or(true);
    const bool joint = settings_.is_on("muon_no_split_qkv", "training.optimizer.qkv");
    if (!split || joint) {
      say("qkv", "joint");
    }
    if (settings_.is_on("optimizer_cpu_offload", "training.optimizer.offload")) {
      settings_.assume("training.optimizer.offload", "false",
                       "no host iterates on Muon's matrices here");
    }
  }

  void read_offload() {
    const bool offload = settings_.is_on("optimizer_cpu_offload", "training.optimizer.offload");
    const double share =
        settings_.number("optimizer_offload_fraction", "training.optimizer.offload").value_or(1.0);
    const bool overlap =
        settings_.is_on("overlap_cpu_optimizer_d2h_h2d", "training.optimizer.offload");
    if (!offload || !(share > 0.0)) {
      return;
    }
    writer_.begin("offload");
    writer_.field("share", share);
    writer_.field("overlap", overlap);
    // Without precision-aware states the device makes fp32 shards first, and keeps them.
    const bool aware = settings_.is_on("use_precision_aware_optimizer", "training.optimizer");
    writer_.field("states", name(aware ? OffloadedStates::kOptimizer : OffloadedStates::kMoments));
    writer_.end();
    says_more_ = true;
  }

  const MegatronFields& fields_;
  FrameworkReader& settings_;
  const MegatronSource& source_;
  ConfigWriter writer_;
  std::string_view kind_;
  bool says_more_ = false;
};

template <typename E>
std::string word_of(E value) {
  return std::string(names_of<E>()[static_cast<std::size_t>(value)]);
}

// --- back -------------------------------------------------------------------------------------

class OptimizerWriter {
 public:
  OptimizerWriter(const OptimizerSpec& optimizer, MegatronFieldWriter& out)
      : optimizer_(optimizer), out_(out) {}

  void write() {
    std::visit(*this, optimizer_.rule);
    if (optimizer_.offload) {
      out_.on("optimizer_cpu_offload");
      out_.text("optimizer_offload_fraction", to_flow_yaml(scalar_node(optimizer_.offload->share)));
      if (optimizer_.offload->overlap) {
        out_.on("overlap_cpu_optimizer_d2h_h2d");
      }
    }
  }

  void operator()(const AdamWSpec& rule) {
    if (!rule.first || !rule.second) {
      return;
    }
    out_.on("use_precision_aware_optimizer");
    out_.text("exp_avg_dtype", word_of(*rule.first));
    out_.text("exp_avg_sq_dtype", word_of(*rule.second));
    if (optimizer_.master == MasterCopy::kFp16) {
      out_.text("main_params_dtype", "fp16");
    }
  }
  void operator()(const SgdSpec& rule) {
    out_.text("optimizer", "sgd");
    if (!rule.momentum.kept) {
      out_.text("sgd_momentum", "0.0");
    }
  }
  void operator()(const AdafactorSpec&) {}  // refused before
  void operator()(const MuonSpec& rule) {
    out_.text("optimizer", "muon");
    out_.count("muon_num_ns_steps", rule.steps);
    out_.text("muon_tp_mode", word_of(rule.tp_mode));
    if (rule.nesterov) {
      out_.on("muon_nesterov");
    }
    if (rule.qkv == QkvMatrices::kJoint) {
      out_.off("muon_split_qkv");
    }
  }

 private:
  const OptimizerSpec& optimizer_;
  MegatronFieldWriter& out_;
};

}  // namespace

ConfigNode read_megatron_optimizer(const MegatronFields& fields) {
  return OptimizerFields(fields).optimizer();
}

void write_megatron_optimizer(const OptimizerSpec& optimizer, MegatronFieldWriter& out) {
  OptimizerWriter(optimizer, out).write();
}

std::optional<ExportRefusal> why_megatron_lacks(const OptimizerSpec& optimizer) {
  if (optimizer.kind() == OptimizerKind::kAdafactor) {
    return ExportRefusal{"training.optimizer", "adafactor", "it has no such one",
                         "take adamw, sgd or muon"};
  }
  const auto* adamw = std::get_if<AdamWSpec>(&optimizer.rule);
  const auto in_blocks = [](const std::optional<StateFormat>& format) {
    return format == StateFormat::kBlock8;
  };
  if (adamw != nullptr && (in_blocks(adamw->first) || in_blocks(adamw->second))) {
    return ExportRefusal{"training.optimizer.moments", "8bit", "its moments have no scale a block",
                         "take fp32 or bf16"};
  }
  return std::nullopt;
}

}  // namespace stepcast
