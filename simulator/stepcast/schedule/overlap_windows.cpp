// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/overlap_windows.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {
namespace {

// What `computation` hides goes over the fabric while it runs.
void expose(StreamTask& communication, Seconds exposed, StreamTask& computation) {
  const Seconds hidden = communication.duration - exposed;
  communication.hidden += hidden;
  communication.duration = exposed;
  if (hidden > Seconds{}) {
    computation.fabric = communication.fabric;
    computation.fabric_taken =
        std::min(1.0, computation.fabric_taken + hidden / computation.duration);
  }
}

bool of_shared_expert(const Op& op) { return op.block == Block::kSharedExpert; }

// Tokens on their way to the experts or back. What an exchange gathers or scatters besides over
// another axis is a task of its own.
bool exchanges_experts(const Op& op) {
  return communication_axis(op) == Axis::kExpert &&
         (op.id == OpId::kMoeDispatch || op.id == OpId::kMoeCombine);
}

StreamTask wait_for(Axis axis) {
  StreamTask join;
  join.axis = axis;
  join.mode = TaskMode::kJoin;
  return join;
}

bool over_context(const Op& op) { return communication_axis(op) == Axis::kContext; }
// Not what a step itself reads, which is gathered before it.
bool passes_on(const Op& op) {
  const auto* collective = std::get_if<Collective>(&op.work);
  return over_context(op) && collective != nullptr && collective->op != CollectiveOp::kAllGather;
}

bool gives_expert_weights(const Op& op) {
  return gives_weights(op) && (op.block == Block::kRoutedExperts || of_shared_expert(op));
}
bool gives_attention_weights(const Op& op) {
  return gives_weights(op) && op.block == Block::kAttention;
}

// The gradient of the weights of the experts' first product, or of either of the two that are one.
bool reads_redispatched(const Op& op) {
  const auto* product = std::get_if<GroupedGemm>(&op.work);
  return product != nullptr && product->pass == GemmPass::kWgrad && op.id != OpId::kExpertsDown;
}

}  // namespace

bool gives_weights(const Op& op) {
  const auto* one = std::get_if<Gemm>(&op.work);
  const auto* experts = std::get_if<GroupedGemm>(&op.work);
  return (one != nullptr && one->pass == GemmPass::kWgrad) ||
         (experts != nullptr && experts->pass == GemmPass::kWgrad);
}

// The product that reads what is gathered follows it; the one whose result is reduced precedes it.
void overlap_tensor_parallel(const OpList& ops, TaskList& tasks, std::int64_t tp) {
  const auto pieces = static_cast<double>(tp);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto* collective = std::get_if<Collective>(&ops[i].work);
    if (collective == nullptr || collective->axis != Axis::kTensor) {
      continue;
    }
    const bool gathers = collective->op == CollectiveOp::kAllGather;
    const std::size_t neighbour = gathers ? i + 1 : i - 1;
    const bool exists = gathers ? i + 1 < ops.size() : i > 0;
    if (exists && is_matrix_product(ops[neighbour])) {
      const Seconds product = tasks[neighbour].duration;
      const Seconds whole = tasks[i].duration;
      expose(tasks[i], min(whole, max(whole - product, Seconds{}) + min(whole, product) / pieces),
             tasks[neighbour]);
    }
  }
}

std::vector<std::size_t> sends_beside_steps(const OpList& ops) {
  std::vector<std::size_t> sends;
  for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
    if (passes_on(ops[i]) && std::holds_alternative<Attention>(ops[i + 1].work)) {
      sends.push_back(i);
    }
  }
  return sends;
}

void overlap_ring_attention(OpList& ops, TaskList& tasks) {
  const std::vector<std::size_t> sends = sends_beside_steps(ops);
  OpList order;
  TaskList placed;
  const auto wait = [&] {
    order.push_back({OpId::kAttentionCp, MemoryBound{}, Block::kAttention});
    placed.push_back(wait_for(Axis::kContext));
  };
  std::size_t next = 0;  // of `sends`
  bool under_way = false;
  bool beside = false;  // a step of attention, since it was sent
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const bool step = std::holds_alternative<Attention>(ops[i].work);
    if (under_way &&
        (over_context(ops[i]) || ops[i].id == OpId::kAttentionKvSum || (step && beside))) {
      wait();
      under_way = false;
    }
    order.push_back(ops[i]);
    placed.push_back(tasks[i]);
    if (next < sends.size() && sends[next] == i) {
      placed.back().mode = TaskMode::kStart;
      under_way = true;
      beside = false;
      ++next;
    }
    beside = beside || step;
  }
  if (under_way) {
    wait();
  }
  ops = std::move(order);
  tasks = std::move(placed);
}

void overlap_redispatch(const OpList& ops, TaskList& tasks) {
  const auto begin = std::ranges::find(ops, OpId::kMoeRedispatch, &Op::id);
  const auto reader = std::find_if(begin, ops.end(), reads_redispatched);
  if (reader == ops.end()) {
    return;
  }
  tasks[static_cast<std::size_t>(begin - ops.begin())].mode = TaskMode::kStart;
  tasks.insert(tasks.begin() + (reader - ops.begin()), wait_for(Axis::kExpert));
}

void delay_weight_gradients(OpList& ops, TaskList& tasks) {
  const auto last = std::find_if(ops.rbegin(), ops.rend(), exchanges_experts);
  const auto exchange = static_cast<std::size_t>(ops.rend() - last);  // and one further
  OpList order;
  TaskList placed;
  const auto place = [&](std::size_t i) {
    order.push_back(ops[i]);
    placed.push_back(tasks[i]);
  };
  const auto place_if = [&](std::size_t end, auto chosen) {
    for (std::size_t i = 0; i < end; ++i) {
      if (chosen(ops[i])) {
        place(i);
      }
    }
  };
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const bool later =
        (i < exchange && gives_expert_weights(ops[i])) || gives_attention_weights(ops[i]);
    if (!later) {
      place(i);
    }
    if (i + 1 == exchange) {
      placed.back().mode = TaskMode::kStart;
      place_if(exchange, gives_expert_weights);
      order.push_back({OpId::kMoeDispatch, MemoryBound{}, Block::kRoutedExperts});
      placed.push_back(wait_for(Axis::kExpert));
    }
  }
  place_if(ops.size(), gives_attention_weights);
  ops = std::move(order);
  tasks = std::move(placed);
}

std::vector<std::size_t> shared_expert_windows(const OpList& ops) {
  std::vector<std::size_t> exchanges;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (exchanges_experts(ops[i])) {
      exchanges.push_back(i);
    }
  }
  if (exchanges.size() < 2 || std::none_of(ops.begin(), ops.end(), of_shared_expert)) {
    return {};
  }
  return {exchanges.front(), exchanges.back()};
}

void overlap_shared_expert(const OpList& ops, TaskList& tasks) {
  const std::vector<std::size_t> windows = shared_expert_windows(ops);
  if (windows.empty()) {
    return;
  }
  TaskList shared;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (of_shared_expert(ops[i])) {
      shared.push_back(tasks[i]);
    }
  }
  TaskList moved;
  moved.reserve(tasks.size() + windows.size());
  std::size_t placed = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (of_shared_expert(ops[i])) {
      continue;
    }
    moved.push_back(tasks[i]);
    if (i != windows.front() && i != windows.back()) {
      continue;
    }
    moved.back().mode = TaskMode::kStart;
    const std::size_t until = i == windows.front() ? (shared.size() + 1) / 2 : shared.size();
    for (; placed < until; ++placed) {
      moved.push_back(shared[placed]);
    }
    moved.push_back(wait_for(Axis::kExpert));
  }
  tasks = std::move(moved);
}

}  // namespace stepcast
