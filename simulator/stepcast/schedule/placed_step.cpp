// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/placed_step.hpp"
#include "stepcast/schedule/host_launches.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {
namespace {

class RankRecorder : public StepListener {
 public:
  RankRecorder(std::size_t rank, std::int64_t most_kernels)
      : rank_(rank), most_kernels_(most_kernels) {}

  void transfer(const TimedTransfer& transfer) override {
    if (transfer.from == rank_ || transfer.to == rank_) {
      const bool sends = transfer.from == rank_;
      transfers_.push_back(
          {transfer.to,
           {sends ? TransferEnd::kSends : TransferEnd::kReceives,
            static_cast<std::int64_t>(sends ? transfer.to : transfer.from),
            static_cast<std::int32_t>(transfer.micro_batch), transfer.start, transfer.end}});
    }
  }
  [[nodiscard]] bool wants_passes(std::size_t rank) const override { return rank == rank_; }
  void operators(const StepOps& operators) override { result_.operators = operators; }
  void pass(const PlacedPass& pass, const std::vector<StreamSpan>& spans) override {
    result_.kernels += std::ssize(spans);
    if (result_.kernels > most_kernels_) {
      return;
    }
    result_.programs.resize(std::max(result_.programs.size(), pass.program + 1));
    if (result_.programs[pass.program].empty()) {
      result_.programs[pass.program] = spans;
    }
    result_.passes.push_back(pass);
  }
  void rank_end(const RankEnd& end) override { result_.step = max(result_.step, end.end()); }

  PlacedStep take(Seconds host) {
    std::ranges::stable_sort(transfers_, [](const Received& a, const Received& b) {
      return std::pair(a.transfer.start, a.by) < std::pair(b.transfer.start, b.by);
    });
    for (const Received& received : transfers_) {
      result_.transfers.push_back(received.transfer);
    }
    result_.step += host;
    return std::move(result_);
  }

 private:
  struct Received {
    std::size_t by = 0;  // rank
    PlacedTransfer transfer;
  };

  std::size_t rank_;
  std::int64_t most_kernels_;
  std::vector<Received> transfers_;
  PlacedStep result_;
};

}  // namespace

PlacedStep placed_step(const StepContext& context, std::int64_t rank, std::int64_t most_kernels) {
  RankRecorder recorder(static_cast<std::size_t>(rank), most_kernels);
  StepTimer(context).at(context.clock, &recorder);
  return recorder.take(host_waits(context));
}

}  // namespace stepcast
