// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_import.hpp"
#include "frameworks/framework_table.hpp"

#include "catch.hpp"
#include "frameworks/moe_layer_pattern.hpp"
#include "import_of.hpp"

namespace stepcast::megatron_import_test {
namespace {

using namespace stepcast::test;

constexpr std::string_view kModel =
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --vocab-size 32000 "
    "--position-embedding-type rope --normalization RMSNorm --disable-bias-linear "
    "--untie-embeddings-and-output-weights --swiglu --ffn-hidden-size 14336 "
    "--hidden-dropout 0 --attention-dropout 0 ";
constexpr std::string_view kTraining =
    "--seq-length 4096 --micro-batch-size 1 --global-batch-size 128 --bf16 ";

// Of 8 nodes of 8 H100.
ImportedExperiment imported(const std::string& arguments) {
  ImportInput input = input_of("torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py " +
                                   std::string(kModel) + std::string(kTraining) + arguments,
                               "run.sh");
  input.gpu = "h100_sxm";
  return import_megatron(input);
}

std::string problems(const std::string& arguments) {
  ImportInput input = input_of("torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py " +
                                   std::string(kModel) + std::string(kTraining) + arguments,
                               "run.sh");
  input.gpu = "h100_sxm";
  return problems_of(import_megatron, input);
}

bool has_remark(const ImportedExperiment& experiment, ImportOutcome outcome,
                const std::string& name) {
  for (const ImportRemark& remark : experiment.remarks) {
    if (remark.outcome == outcome && (remark.name == name || remark.ours == name)) {
      return true;
    }
  }
  return false;
}

TEST_CASE("query groups without their switch leave every head its own keys", "[unit]") {
  CHECK(value_of(imported("--num-query-groups 8"), "model.attention.kv_heads") == "32");
  CHECK(value_of(imported("--group-query-attention --num-query-groups 8"),
                 "model.attention.kv_heads") == "8");
}

TEST_CASE("feed-forward blocks are 4h wide, and 8h/3 in blocks of 64 with SwiGLU", "[unit]") {
  const std::string plain =
      "pretrain_gpt.py --num-layers 2 --hidden-size 1024 --num-attention-heads 16 --vocab-size "
      "1000 --max-position-embeddings 512 --seq-length 512 --micro-batch-size 1 "
      "--global-batch-size 8 --bf16";
  // 4 * 1024; 2/3 * 4096 = 2730.67, of which 42 * 64 = 2688.
  CHECK(value_of(import_megatron(input_of(plain, "a.sh")), "model.mlp.ffn_hidden") == "4096");
  CHECK(value_of(import_megatron(input_of(plain + " --swiglu", "a.sh")), "model.mlp.ffn_hidden") ==
        "2688");
}

TEST_CASE("a bare command line has LayerNorm, biases, learned positions, tied ends", "[unit]") {
  const ImportedExperiment experiment = import_megatron(
      input_of("--num-layers 2 --hidden-size 1024 --num-attention-heads 16 --vocab-size 1000 "
               "--max-position-embeddings 512 --seq-length 512 --micro-batch-size 1 "
               "--global-batch-size 8 --fp16",
               "standard input"));
  CHECK(value_of(experiment, "model.norm") == "layernorm");
  CHECK(value_of(experiment, "model.positions") == "learned");
  CHECK(value_of(experiment, "model.tied_embeddings") == "true");
  CHECK(value_of(experiment, "model.mlp.bias") == "true");
  CHECK(value_of(experiment, "training.dropout") == "true");
  CHECK(value_of(experiment, "training.dtype") == "fp16");
  CHECK(value_of(experiment, "cluster").empty());
}

TEST_CASE("latent attention has a rank of 32 where the arguments give none", "[unit]") {
  const ImportedExperiment experiment = imported("--multi-latent-attention");
  CHECK(value_of(experiment, "model.attention.kv_lora_rank") == "32");
  CHECK(has_remark(experiment, ImportOutcome::kDefaulted, "kv_lora_rank"));
}

TEST_CASE("virtual stages follow from the layers of each or from their count", "[unit]") {
  // 32 layers over 4 ranks are 8 a rank; 2 a virtual stage make 4 of them.
  CHECK(value_of(imported("--pipeline-model-parallel-size 4 "
                          "--num-layers-per-virtual-pipeline-stage 2"),
                 "plan.vpp") == "4");
  CHECK(value_of(imported("--pipeline-model-parallel-size 4 "
                          "--num-virtual-stages-per-pipeline-rank 2"),
                 "plan.vpp") == "2");
  CHECK(value_of(imported("--pipeline-model-parallel-size 4 "
                          "--pipeline-model-parallel-layout 'Et*4|(t*4|)*6t*4L'"),
                 "plan.vpp") == "2");
}

TEST_CASE("uneven first and last stages become a list in the order of the model", "[unit]") {
  CHECK(value_of(imported("--pipeline-model-parallel-size 4 "
                          "--decoder-first-pipeline-num-layers 6 "
                          "--decoder-last-pipeline-num-layers 10"),
                 "plan.stage_layout") == "[6, 8, 8, 10]");
  // With two chunks a rank, chunk after chunk: 6, 8, 8, 10 halved.
  CHECK(value_of(imported("--pipeline-model-parallel-size 4 "
                          "--num-virtual-stages-per-pipeline-rank 2 "
                          "--decoder-first-pipeline-num-layers 6 "
                          "--decoder-last-pipeline-num-layers 10"),
                 "plan.stage_layout") == "[3, 4, 4, 5, 3, 4, 4, 5]");
}

TEST_CASE("embedding and loss that count as layers balance the stages", "[unit]") {
  CHECK(value_of(imported("--num-layers 30 --pipeline-model-parallel-size 4 "
                          "--account-for-embedding-in-pipeline-split "
                          "--account-for-loss-in-pipeline-split"),
                 "plan.stage_layout") == "balanced");
  CHECK(value_of(imported("--num-layers 31 --pipeline-model-parallel-size 4 "
                          "--account-for-embedding-in-pipeline-split"),
                 "plan.stage_layout") == "[7, 8, 8, 8]");
}

TEST_CASE("sharding follows the distributed optimizer and the strategy of FSDP", "[unit]") {
  CHECK(value_of(imported(""), "plan.zero") == "0");
  CHECK(value_of(imported("--use-distributed-optimizer"), "plan.zero") == "1");
  CHECK(value_of(imported("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads"),
                 "plan.zero") == "2");
  // Without a strategy the arguments' default is full sharding, over all 64 ranks.
  CHECK(value_of(imported("--use-megatron-fsdp"), "plan.fsdp") == "64");
  CHECK(value_of(imported("--use-torch-fsdp2 --torch-fsdp2-no-reshard-after-forward"),
                 "plan.fsdp_reshard") == "false");
  const ImportedExperiment groups =
      imported("--use-megatron-fsdp --num-distributed-optimizer-instances 4");
  CHECK(value_of(groups, "plan.zero") == "3");
  CHECK(value_of(groups, "plan.hsdp") == "16");
}

TEST_CASE("zero bubbles are schedules by the names of the fork that they come from", "[unit]") {
  const std::string pipeline = "--pipeline-model-parallel-size 4 ";
  CHECK(value_of(imported(pipeline + "--enable-zero-bubble"), "plan.schedule") == "zb_h1");
  CHECK(value_of(imported(pipeline + "--zero-bubble-v-schedule"), "plan.schedule") == "zbv");
  CHECK(value_of(imported(pipeline + "--enable-zero-bubble --zero-bubble-v-schedule "
                                     "--zero-bubble-v-schedule-mem-setup half"),
                 "plan.schedule") == "v_half");
  CHECK(has_remark(imported(pipeline + "--interleave-group-size 8"), ImportOutcome::kNotCarried,
                   "interleave_group_size"));
  CHECK_THAT(problems("--tp-comm-anything 1"),
             contains_text("'tp_comm_anything' is not known here"));
}

TEST_CASE("pipelines within replicas are an order of ranks", "[unit]") {
  CHECK(value_of(imported("--use-tp-pp-dp-mapping"), "plan.order") == "tp-cp-ep-pp-dp");
  CHECK(value_of(imported(""), "plan.order").empty());
}

TEST_CASE("experts are divided as the rest is unless they have their own degree", "[unit]") {
  const std::string experts = "--num-experts 8 --tensor-model-parallel-size 2 --sequence-parallel ";
  CHECK(value_of(imported(experts), "plan.etp") == "2");
  CHECK(value_of(imported(experts + "--expert-tensor-parallel-size 1"), "plan.etp").empty());
  CHECK_THAT(problems("--num-experts 8 --tensor-model-parallel-size 2"),
             contains_text("needs sequence_parallel"));
}

TEST_CASE("tokens of all ranks are gathered unless a dispatcher is named", "[unit]") {
  CHECK(value_of(imported("--num-experts 8"), "plan.dispatcher") == "allgather");
  CHECK(value_of(imported("--num-experts 8 --moe-token-dispatcher-type flex "
                          "--moe-flex-dispatcher-backend hybridep"),
                 "plan.dispatcher") == "hybridep");
  CHECK(value_of(imported("--num-experts 8 --moe-token-dispatcher-type flex "
                          "--moe-enable-deepep"),
                 "plan.dispatcher") == "deepep");
  CHECK_THAT(problems("--num-experts 8 --moe-token-dispatcher-type flex "
                      "--moe-flex-dispatcher-backend ncclep"),
             contains_text("deepep and hybridep are priced"));
}

TEST_CASE("layers with experts are read from a number and from a text", "[unit]") {
  const auto pattern = moe_layer_pattern("([0]*3+[1]*5)", 8);
  REQUIRE(pattern);
  const std::optional<MoePlaces> places = moe_places(*pattern);
  REQUIRE(places);
  CHECK(places->first_dense_layers == 3);
  CHECK(places->every == 1);
  CHECK(places->exact);
  CHECK(moe_layer_pattern("[0, 1]*2", 4) == std::vector<bool>{false, true, false, true});
  CHECK_FALSE(moe_layer_pattern("[0]*1000000000", 4));
  CHECK_FALSE(moe_layer_pattern("[2]", 1));
  MoeSpec moe;
  moe.first_dense_layers = 1;
  moe.every = 2;
  CHECK(moe_layer_pattern(moe_layer_text(moe, 6), 6) ==
        std::vector<bool>{false, false, true, false, true, false});
}

TEST_CASE("a frequency counts from the first layer, ours from the last of every few", "[unit]") {
  const ImportedExperiment experiment = imported("--num-experts 8 --moe-layer-freq 2");
  CHECK(value_of(experiment, "model.moe.every") == "2");
  CHECK(has_remark(experiment, ImportOutcome::kAssumed, "model.moe.every"));
}

TEST_CASE("attention and the output matrix run in 8 bits where arguments say so", "[unit]") {
  const ImportedExperiment small = imported(
      "--fp8-format e4m3 --fp8-recipe mxfp8 --fp8-dot-product-attention --fp8-output-proj");
  CHECK(value_of(small, "software.attention_8bit") == "true");
  CHECK(value_of(small, "software.attention_block_scaled") == "true");
  CHECK(value_of(small, "software.head_8bit") == "true");
  const ImportedExperiment scaled = imported("--fp8-format hybrid --fp8-dot-product-attention");
  CHECK(value_of(scaled, "software.attention_8bit") == "true");
  CHECK(value_of(scaled, "software.attention_block_scaled").empty());
}

TEST_CASE("recipes of 8 bits become the formats that are priced", "[unit]") {
  CHECK(value_of(imported("--fp8-format hybrid"), "training.dtype") == "fp8");
  CHECK(value_of(imported("--fp8-format e4m3 --fp8-recipe blockwise"), "training.dtype") ==
        "fp8_block");
  CHECK(value_of(imported("--fp4-format e2m1"), "training.dtype") == "fp4");
  const ImportedExperiment blocks = imported("--fp8-format e4m3 --fp8-recipe mxfp8");
  CHECK(value_of(blocks, "training.dtype") == "fp8");
  CHECK(has_remark(blocks, ImportOutcome::kAssumed, "training.dtype"));
}

TEST_CASE("recomputation keeps Megatron's modules, methods and counts", "[unit]") {
  CHECK(value_of(imported("--recompute-activations"), "training.recompute_modules") ==
        "[core_attn]");
  CHECK(value_of(imported("--recompute-granularity full --recompute-method block "
                          "--recompute-num-layers 3"),
                 "training.recompute_layers") == "3");
  CHECK_THAT(problems("--recompute-granularity selective --recompute-modules core_atn"),
             contains_text("did you mean 'core_attn'"));
}

TEST_CASE("gradients wait for the end of backward unless overlap is asked for", "[unit]") {
  CHECK(
      value_of(imported(""), "software.overlap_grad_reduce").empty());  // as megatron_plain has it
  CHECK(value_of(imported("--use-distributed-optimizer --overlap-grad-reduce "
                          "--overlap-param-gather"),
                 "software.overlap_grad_reduce") == "true");
}

TEST_CASE("the optimizer is carried with its formats, its steps and what of it is on the host",
          "[unit]") {
  CHECK(value_of(imported(""), "training.optimizer") == "adamw");
  CHECK(value_of(imported("--optimizer sgd"), "training.optimizer") == "sgd");
  const ImportedExperiment aware = imported(
      "--use-distributed-optimizer --use-precision-aware-optimizer --exp-avg-dtype bf16 "
      "--exp-avg-sq-dtype fp8");
  CHECK(value_of(aware, "training.optimizer.first_moment") == "bf16");
  CHECK(value_of(aware, "training.optimizer.second_moment") == "fp8");
  CHECK(value_of(aware, "training.optimizer.master") == "remainder");
  CHECK(value_of(imported("--use-precision-aware-optimizer --main-params-dtype fp16"),
                 "training.optimizer.master") == "fp16");
  const ImportedExperiment muon = imported(
      "--optimizer muon --muon-num-ns-steps 10 --muon-tp-mode distributed "
      "--muon-no-split-qkv --use-distributed-optimizer");
  CHECK(value_of(muon, "training.optimizer.kind") == "muon");
  CHECK(value_of(muon, "training.optimizer.steps") == "10");
  CHECK(value_of(muon, "training.optimizer.tp_mode") == "distributed");
  CHECK(value_of(muon, "training.optimizer.nesterov") == "false");
  CHECK(value_of(muon, "training.optimizer.qkv") == "joint");
  CHECK(value_of(imported("--optimizer dist_muon"), "plan.zero") == "1");
  const ImportedExperiment offload = imported(
      "--optimizer-cpu-offload --optimizer-offload-fraction 0.5 --overlap-cpu-optimizer-d2h-h2d");
  CHECK(value_of(offload, "training.optimizer.offload.share") == "0.5");
  CHECK(value_of(offload, "training.optimizer.offload.overlap") == "true");
}

TEST_CASE("a global batch that is not given is one micro-batch a replica", "[unit]") {
  ImportInput input =
      input_of("torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py " + std::string(kModel) +
                   "--seq-length 4096 --micro-batch-size 2 --bf16 "
                   "--tensor-model-parallel-size 8 --sequence-parallel",
               "run.sh");
  input.gpu = "h100_sxm";
  CHECK(value_of(import_megatron(input), "training.global_batch_size") == "16");  // 2 * 64 / 8
}

TEST_CASE("what Megatron would refuse is refused with the argument and its line", "[unit]") {
  CHECK_THAT(problems("--pipeline-model-parallel-size 5"),
             contains_text("divide the number of GPUs"));
  CHECK_THAT(problems("--pipeline-model-parallel-size 64"), contains_text("num_layers"));
  CHECK_THAT(problems("--num-experts 6 --expert-model-parallel-size 4"),
             contains_text("must divide num_experts (6)"));
  CHECK_THAT(problems("--global-batch-size 100"), contains_text("must be a multiple of"));
  CHECK_THAT(problems("--num-layer 4"), contains_text("did you mean 'num_layers'"));
  CHECK_THAT(problems("--cp-comm-type ring --context-parallel-size 2"),
             contains_text("must be p2p"));
  CHECK_THAT(problems("--cp-comm-type a2a+p2p --context-parallel-size 4 "
                      "--hierarchical-context-parallel-sizes 2 4"),
             contains_text("product is context_parallel_size = 4"));
}

TEST_CASE("delayed gradients of weights belong to overlapped exchanges", "[unit]") {
  const std::string experts =
      "--num-experts 8 --expert-model-parallel-size 4 --moe-token-dispatcher-type alltoall ";
  CHECK_THAT(problems(experts + "--delay-wgrad-compute"),
             contains_text("needs overlap_moe_expert_parallel_comm"));
  const ImportedExperiment experiment =
      imported(experts + "--overlap-moe-expert-parallel-comm --delay-wgrad-compute");
  CHECK(value_of(experiment, "software.ep_overlap") == "true");
  CHECK(value_of(experiment, "software.delays_weight_gradients") == "true");
}

TEST_CASE("hierarchical context parallelism is heads among neighbours and a ring of groups",
          "[unit]") {
  const ImportedExperiment experiment = imported(
      "--cp-comm-type a2a+p2p --context-parallel-size 4 "
      "--hierarchical-context-parallel-sizes 2 2");
  CHECK(value_of(experiment, "plan.cp_algorithm") == "all_to_all_ring");
  CHECK(value_of(experiment, "plan.cp_all_to_all") == "2");
}

TEST_CASE("arguments that change nothing are listed, those that are not priced are named",
          "[unit]") {
  const ImportedExperiment experiment =
      imported("--lr 1e-4 --rampup-batch-size 16 16 1000 --wandb-project x");
  CHECK(has_remark(experiment, ImportOutcome::kWithoutEffect, "wandb_project"));
  CHECK(has_remark(experiment, ImportOutcome::kNotCarried, "rampup_batch_size"));
}

// Of one node, by a program and all its arguments.
ImportedExperiment run_of(const std::string& command) {
  ImportInput input = input_of("torchrun --nproc_per_node 8 " + command, "run.sh");
  input.gpu = "h100_sxm";
  return import_megatron(input);
}

std::string problems_of_run(const std::string& command) {
  ImportInput input = input_of("torchrun --nproc_per_node 8 " + command, "run.sh");
  input.gpu = "h100_sxm";
  return problems_of(import_megatron, input);
}

constexpr std::string_view kSizes =
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
    "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 ";

std::string note_of(const ImportedExperiment& experiment, const std::string& ours) {
  for (const ImportRemark& remark : experiment.remarks) {
    if (remark.outcome == ImportOutcome::kAssumed && remark.ours == ours) {
      return remark.note;
    }
  }
  return {};
}

TEST_CASE("encoders, models of images and retrievers are refused by the name of their program",
          "[unit]") {
  const std::string sizes = std::string(kSizes) + "--vocab-size 30522 ";
  CHECK(problems_of_run("pretrain_bert.py " + sizes) ==
        "run.sh: error: runs pretrain_bert.py, which trains BERT, an encoder, which no model here "
        "is");
  CHECK_THAT(problems_of_run("/opt/megatron/pretrain_t5.py " + sizes), contains_text("trains T5"));
  CHECK_THAT(problems_of_run("pretrain_vision_inpaint.py " + sizes),
             contains_text("trains a model of images"));
  CHECK_THAT(problems_of_run("tasks/main.py " + sizes), contains_text("is no pretraining"));
  // A script that can convert as well as train is one that trains.
  const std::string both =
      "torchrun tools/convert.py --load x " + sizes + "\ntorchrun tune.py " + sizes;
  CHECK(value_of(run_of("a.py\n" + both), "model.layers") == "32");
}

TEST_CASE(
    "keys of other models are refused whatever the program is called, and their usual values "
    "are not",
    "[unit]") {
  CHECK(problems("--bert-no-binary-head --bert-load x") ==
        "run.sh:1: error: 'bert_no_binary_head' is of BERT, an encoder, which no model here is");
  CHECK_THAT(problems("--decoder-seq-length 128"), contains_text("a decoder behind an encoder"));
  CHECK_THAT(problems("--patch-dim 16"), contains_text("a model that sees images"));
  CHECK_THAT(problems("--retro-add-retriever"), contains_text("is of RETRO"));
  CHECK(problems("--encoder-tensor-model-parallel-size 0").empty());
  CHECK(problems("--retro-encoder-layers 2").empty());
}

TEST_CASE("Megatron's own layers change the software set, and so do fusions that are off",
          "[unit]") {
  const ImportedExperiment local = imported("--transformer-impl local");
  CHECK(value_of(local, "software.attention") == "unfused");
  CHECK(value_of(local, "software.activation") == "compiled");
  const ImportedExperiment apart = imported("--transformer-impl local --no-bias-swiglu-fusion");
  CHECK(value_of(apart, "software.activation") == "eager");
  CHECK(value_of(imported("--transformer-impl local --use-flash-attn"), "software.attention") ==
        "flash2");
  // GELU's fusion is not that of a model with SwiGLU.
  CHECK(value_of(imported("--no-bias-gelu-fusion"), "software.activation").empty());
  CHECK(value_of(imported("--no-bias-swiglu-fusion"), "software.activation") == "eager");
  CHECK_THAT(problems("--transformer-impl inference_optimized"), contains_text("must be"));
  CHECK_THAT(problems("--spec my.layers other"), contains_text("'spec' names layers"));
}

TEST_CASE("a fusion that is off has an effect where its kernel would have run", "[unit]") {
  constexpr ImportOutcome kNamed = ImportOutcome::kNotCarried;
  const std::string off = "--no-masked-softmax-fusion --no-persist-layer-norm ";
  const ImportedExperiment local = imported(off + "--transformer-impl local");
  CHECK(has_remark(local, kNamed, "masked_softmax_fusion"));
  CHECK(has_remark(local, kNamed, "persist_layer_norm"));
  const ImportedExperiment other = imported(off);
  CHECK_FALSE(has_remark(other, kNamed, "masked_softmax_fusion"));
  CHECK(has_remark(other, ImportOutcome::kWithoutEffect, "persist_layer_norm"));
  CHECK(has_remark(imported("--use-legacy-models"), kNamed, "use_legacy_models"));
}

TEST_CASE("names of Megatron since 2019 are those of today", "[unit]") {
  const ImportedExperiment experiment = run_of(
      "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
      "--seq-length 4096 --max-position-embeddings 4096 --batch-size 2 "
      "--global-batch-size 64 --fp16 --vocab-size 32000 --model-parallel-size 2 "
      "--checkpoint-activations --checkpoint-num-layers 4 --DDP-impl torch");
  CHECK(value_of(experiment, "plan.tp") == "2");
  CHECK(value_of(experiment, "training.micro_batch_size") == "2");
  CHECK(value_of(experiment, "training.recompute") == "full");
  CHECK(value_of(experiment, "training.recompute_layers") == "4");
  CHECK(value_of(experiment, "software.base") == "megatron_2021");
  CHECK_THAT(note_of(experiment, "software"),
             contains_text("gave 'model_parallel_size' up on 2020-11-12"));
  // The set reduces beside backward already.
  CHECK(value_of(experiment, "software.overlap_grad_reduce").empty());
}

TEST_CASE("Megatron-DeepSpeed's words are read by its rules", "[unit]") {
  const ImportedExperiment experiment =
      run_of("pretrain_gpt.py " + std::string(kSizes) +
             "--vocab-size 32000 --deepspeed --zero-stage 2 --num-key-value-heads 8 --use-mpi "
             "--no-pipeline-parallel --glu-activation swiglu --ds-sequence-parallel-size 2");
  CHECK(value_of(experiment, "plan.zero") == "2");
  CHECK(value_of(experiment, "plan.cp") == "2");
  CHECK(value_of(experiment, "plan.cp_algorithm") == "all_to_all");
  CHECK(value_of(experiment, "model.attention.kv_heads") == "8");
  CHECK(value_of(experiment, "model.mlp.gated") == "true");
  CHECK(value_of(experiment, "software") == "megatron_deepspeed_2022");
  const std::string sizes = "pretrain_gpt.py " + std::string(kSizes) + "--vocab-size 32000 ";
  // A layer of one expert is a dense one; experts stand in every other layer.
  CHECK(value_of(run_of(sizes + "--deepspeed --num-experts 1"), "model.moe").empty());
  const ImportedExperiment experts =
      run_of(sizes + "--deepspeed --num-experts 8 --moe-expert-parallel-size 8");
  CHECK(value_of(experts, "model.moe.every") == "2");
  CHECK(value_of(experts, "model.moe.experts_per_token") == "1");
  CHECK(value_of(experts, "plan.ep") == "8");
  CHECK_THAT(problems_of_run(sizes + "--deepspeed --num-experts 8 --mlp-type residual"),
             contains_text("a dense block beside them"));
}

// As BLOOM was trained: BigScience's script says zero-stage 0, and its states were sharded.
TEST_CASE("DeepSpeed in bf16 without ZeRO divides the optimizer's states all the same", "[unit]") {
  const std::string run =
      "pretrain_gpt.py --num-layers 2 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "
      "--max-position-embeddings 512 --micro-batch-size 1 --global-batch-size 8 "
      "--vocab-size 32000 --deepspeed --zero-stage 0 ";
  CHECK(value_of(run_of(run + "--bf16"), "plan.zero") == "1");
  CHECK_THAT(note_of(run_of(run + "--bf16"), "plan.zero"), contains_text("divides its states"));
  CHECK(value_of(run_of(run + "--fp16"), "plan.zero") == "0");
  CHECK(value_of(run_of(run + "--bf16 --no-pipeline-parallel"), "plan.zero") == "0");
}

// Arguments that turn a field off, that have been renamed, or that imply another one.
TEST_CASE("What hangs on what nobody says is told under any name of it", "[unit]") {
  for (const std::string argument :
       {"--disable-bias-linear", "--untie-embeddings-and-output-weights", "--model-parallel-size 2",
        "--checkpoint-activations", "--tensor-model-parallel-size 2"}) {
    CAPTURE(argument);
    ImportInput input =
        input_of("A=\nif [ \"$MODE\" = big ]; then\n  A=\"" + argument +
                     "\"\nfi\npretrain_gpt.py " + std::string(kSizes) + "--vocab-size 32000 $A\n",
                 "run.sh");
    input.gpu = "h100_sxm";
    CHECK_THAT(problems_of(import_megatron, input),
               contains_text("nobody sets MODE") && contains_text("give MODE=VALUE"));
    input.overrides = {"MODE=big"};
    CHECK_NOTHROW(import_megatron(input));
  }
}

TEST_CASE("Megatron-DeepSpeed with FlashAttention is that of 2023", "[unit]") {
  for (const std::string argument :
       {"--use-flash-attn", "--use-flash-attn-v2", "--use-flash-attn-triton"}) {
    const ImportedExperiment experiment = run_of("pretrain_gpt.py " + std::string(kSizes) +
                                                 "--vocab-size 32000 --deepspeed " + argument);
    CHECK_THAT(note_of(experiment, "software"), contains_text("since July 2023"));
  }
}

TEST_CASE("positions have older words, and alibi has one here", "[unit]") {
  CHECK(value_of(imported("--position-embedding-type alibi"), "model.positions") == "alibi");
  CHECK(value_of(imported("--position-embedding-type rotary"), "model.positions") == "rope");
  const std::string run = "pretrain_gpt.py " + std::string(kSizes) + "--vocab-size 32000 ";
  CHECK(value_of(run_of(run), "model.positions") == "learned");
  CHECK(value_of(run_of(run + "--use-rotary-position-embeddings"), "model.positions") == "rope");
  CHECK_THAT(problems("--position-embedding-type relative"), contains_text("must be"));
}

TEST_CASE("a vocabulary is the tokenizer's, GPT-2's, or a shipped model's of the same sizes",
          "[unit]") {
  const auto vocabulary = [](const std::string& arguments) {
    return value_of(run_of("pretrain_gpt.py " + std::string(kSizes) + arguments),
                    "model.vocabulary");
  };
  CHECK(vocabulary("--vocab-file v.json --merge-file m.txt") == "50257");
  CHECK(vocabulary("--tokenizer-type HuggingFaceTokenizer --tokenizer-model /d/tokenizer_llama3") ==
        "128256");
  CHECK(vocabulary("--patch-tokenizer-type LLama3Tokenizer --extra-vocab-size 256") == "128256");
  CHECK(vocabulary("--pad-vocab-size-to 250880") == "250880");
  // 80 layers of 8192 with 64 heads, 8 of keys and values, and 28672: Llama 3 70B and its kin.
  CHECK(value_of(run_of("pretrain_gpt.py --num-layers 80 --hidden-size 8192 --num-attention-heads "
                        "64 --group-query-attention --num-query-groups 8 --ffn-hidden-size 29568 "
                        "--swiglu --seq-length 4096 --max-position-embeddings 4096 "
                        "--micro-batch-size 1 --global-batch-size 64 --bf16"),
                 "model.vocabulary") == "152064");
}

TEST_CASE("files of GPT-2's kind with another name have the number in it, or a range", "[unit]") {
  const auto note = [](const std::string& folder) {
    return run_of("pretrain_gpt.py " + std::string(kSizes) + "--tokenizer-type GPT2BPETokenizer " +
                  "--vocab-file " + folder + "vocab.json --merge-file merges.txt");
  };
  CHECK(value_of(note("nordic_131072/"), "model.vocabulary") == "131072");
  CHECK(value_of(note("gpt2-"), "model.vocabulary") == "50257");
  CHECK_THAT(note_of(note("mine/"), "model.vocabulary"),
             contains_text("do not have its name") && contains_text("32,000 to 256,000"));
}

TEST_CASE("a tokenizer that nobody names leaves the vocabulary assumed, and is told", "[unit]") {
  const ImportedExperiment run = run_of("pretrain_gpt.py " + std::string(kSizes) +
                                        "--tokenizer-type Llama2Tokenizer --tokenizer-model $2");
  CHECK_THAT(note_of(run, "tokenizer_model"), contains_text("give 2=VALUE"));
  CHECK(has_remark(run, ImportOutcome::kAssumed, "model.vocabulary"));
}

TEST_CASE("a vocabulary that nothing says is assumed, with its range and what that changes",
          "[unit]") {
  const ImportedExperiment experiment =
      run_of("pretrain_gpt.py --ffn-hidden-size 12288 " + std::string(kSizes));
  CHECK(value_of(experiment, "model.vocabulary") == "128000");
  const std::string note = note_of(experiment, "model.vocabulary");
  CHECK_THAT(note, contains_text("32,000 to 256,000: -"));
  CHECK_THAT(note, contains_text(" % of the FLOPs"));
  CHECK_THAT(note, contains_text(" GiB on the fullest GPU"));
  // Whatever a tokenizer's type is called, its file is another's.
  const ImportedExperiment typed =
      run_of("pretrain_gpt.py " + std::string(kSizes) +
             "--tokenizer-type Llama2Tokenizer --tokenizer-model /d/ours-100k.model");
  CHECK(value_of(typed, "model.vocabulary") == "32000");
  CHECK_THAT(note_of(typed, "model.vocabulary"), contains_text("32,000 to 256,000"));
}

TEST_CASE("a dense model is told of no expert parallelism", "[unit]") {
  const std::string told = problems_of_run("--nnodes 1 pretrain_gpt.py " + std::string(kSizes) +
                                           "--vocab-size 32000 --pipeline-model-parallel-size 16");
  CHECK_THAT(told, contains_text("must divide the number of GPUs (8)"));
  CHECK(told.find("expert") == std::string::npos);
}

TEST_CASE("the core's YAML says the activation by a function", "[unit]") {
  const ImportedExperiment experiment = import_megatron(input_of(
      "language_model: {num_layers: 2, hidden_size: 1024, num_attention_heads: 16,\n"
      "  num_moe_experts: null, gated_linear_unit: False, activation_func: swiglu, fp8: null}\n"
      "model_parallel: {tensor_model_parallel_size: 1, bf16: True}\n"
      "vocab_size: 1000\nmax_position_embeddings: 512\nseq_length: 512\nmicro_batch_size: 1\n"
      "global_batch_size: 8\nencoder_seq_length: null\nbert_binary_head: True\n",
      "model.yaml"));
  CHECK(value_of(experiment, "model.mlp.gated") == "true");
  CHECK(value_of(experiment, "model.mlp.ffn_hidden") == "2688");
  CHECK(value_of(experiment, "training.sequence_length") == "512");
}

TEST_CASE("Megatron's YAML is read whatever its groups are called", "[unit]") {
  const ImportedExperiment experiment = import_megatron(input_of(
      "language_model: {num_layers: 2, hidden_size: 1024, num_attention_heads: 16}\n"
      "model_parallel: {tensor_model_parallel_size: 1}\n"
      "vocab_size: 1000\nmax_position_embeddings: 512\nseq_length: 512\nmicro_batch_size: 1\n"
      "global_batch_size: 8\nbf16: true\n",
      "model.yaml"));
  CHECK(value_of(experiment, "model.hidden_size") == "1024");
}

TEST_CASE("a functional test of Megatron's is its arguments, with anchors and variables",
          "[unit]") {
  const std::string text =
      "ENV_VARS: {CUDA_DEVICE_MAX_CONNECTIONS: 1}\n"
      "BASE: &base\n"
      "  --num-layers: 24\n"
      "  --hidden-size: 1024\n"
      "  --load: ${CHECKPOINT}\n"
      "MODEL_ARGS:\n"
      "  <<: *base\n"
      "  --num-layers: 12\n"
      "  --num-attention-heads: ${HEADS}\n"
      "  --vocab-size: 1000\n"
      "  --vocab-size: 1024\n"
      "  --max-position-embeddings: 512\n"
      "  --seq-length: 512\n"
      "  --micro-batch-size: 1\n"
      "  --global-batch-size: 8\n"
      "  --bf16: true\n"
      "TEST_TYPE: regular\n";
  ImportInput input = input_of(text, "model_config.yaml");
  input.gpu = "h100_sxm";
  CHECK_THAT(problems_of(import_megatron, input),
             Catch::Matchers::Contains("nobody sets HEADS, and decides num_attention_heads; give "
                                       "HEADS=VALUE"));
  input.overrides = {"HEADS=16"};
  const ImportedExperiment run = import_megatron(input);
  CHECK(value_of(run, "model.layers") == "12");
  CHECK(value_of(run, "model.hidden_size") == "1024");
  CHECK(value_of(run, "model.vocabulary") == "1024");
}

TEST_CASE("exports of the same experiment say the same, and comments what they cannot", "[unit]") {
  const ImportedExperiment experiment = imported("--use-distributed-optimizer");
  const FrameworkInfo& megatron = frameworks().front();
  const std::vector<ExportedFile> files =
      exported(megatron, experiment.experiment, {}, data_root());
  REQUIRE(files.size() == 1);
  CHECK_THAT(files.front().text, contains_text("--use-distributed-optimizer"));
  CHECK_THAT(files.front().text, contains_text("NNODES=8"));
}

TEST_CASE("a file that is not read may have a name that nobody knows", "[unit]") {
  const std::string command = "pretrain_gpt.py " + std::string(kSizes) +
                              "--vocab-size 32000 --deepspeed --zero-stage 1 --deepspeed_config ";
  CHECK(has_remark(run_of(command + "ds.$NAME.json"), ImportOutcome::kNotCarried,
                   "deepspeed_config"));
  CHECK_THAT(problems_of_run(command + "ds.json --seq-length $LENGTH"),
             contains_text("give LENGTH=VALUE"));
}

TEST_CASE("python or torchrun by itself is one GPU unless the model is divided or nodes are given",
          "[unit]") {
  const auto size = [](const std::string& arguments, std::optional<std::int64_t> nodes) {
    ImportInput input = input_of(
        "python pretrain_gpt.py " + std::string(kSizes) + "--vocab-size 32000 " + arguments,
        "run.sh");
    input.gpu = "h100_sxm";
    input.nodes = nodes;
    const ImportedExperiment run = import_megatron(input);
    return value_of(run, "cluster.nodes") + " " + value_of(run, "cluster.gpus_per_node");
  };
  CHECK(size("", {}) == "1 1");
  CHECK(size("--tensor-model-parallel-size 2", {}) == "1 ");  // a node of as many as usual
  CHECK(size("", 2) == "2 ");
}

TEST_CASE("words of BigCode, MegaBlocks, Megatron-LLaMA and MindSpeed have a meaning here",
          "[unit]") {
  const std::string sizes = "pretrain_gpt.py " + std::string(kSizes) + "--vocab-size 32000 ";
  CHECK(value_of(run_of(sizes + "--attention-head-type multiquery --fim-rate 0.5"),
                 "model.attention.kv_heads") == "1");
  const std::string blocks = sizes + "--moe-num-experts=64 --moe-top-k=1 --moe-loss-weight=0.1 ";
  CHECK(value_of(run_of(blocks), "model.moe.experts") == "64");
  CHECK(value_of(run_of(blocks), "model.moe.experts_per_token") == "1");
  CHECK_THAT(problems_of_run(blocks + "--moe-expert-model-parallelism"),
             contains_text("give moe_expert_model_parallelism=false expert_model_parallel_size=N"));
  const ImportedExperiment llama =
      run_of(sizes + "--RMSNorm --causal-lm --overlapped-distributed-optimizer");
  CHECK(value_of(llama, "model.norm") == "rmsnorm");
  CHECK(value_of(llama, "model.tied_embeddings").empty());
  CHECK(value_of(llama, "plan.zero") == "1");
  const ImportedExperiment speed =
      run_of(sizes +
             "--swiglu --num-experts 64 --moe-ffn-hidden-size 1408 --n-shared-experts 2 "
             "--first-k-dense-replace 1 --moe-layer-freq -1 --use-fused-swiglu "
             "--spec mindspeed_llm.tasks.models.spec.qwen3_spec layer_spec");
  CHECK(value_of(speed, "model.moe.shared_expert_ffn_hidden") == "2816");
  CHECK(value_of(speed, "model.moe.first_dense_layers") == "1");
}

}  // namespace
}  // namespace stepcast::megatron_import_test
