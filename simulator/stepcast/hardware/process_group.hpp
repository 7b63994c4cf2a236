// SPDX-License-Identifier: Apache-2.0
// Which ranks talk to each other, and where they sit.
//
// A group is `size` ranks that are `stride` apart, so on a fabric whose domains hold D GPUs it has
// min(size, max(1, D / stride)) members in a domain. A group over two axes that are not numbered
// next to each other has gaps: runs of `run` ranks that are `stride` apart, the first ranks of
// which are `jump` apart.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stepcast {

struct ProcessGroup {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t run = 0;   // 0: the group is a single run
  std::int64_t jump = 0;  // 0 likewise
  auto operator<=>(const ProcessGroup&) const = default;

  [[nodiscard]] constexpr std::int64_t run_size() const { return run > 0 ? run : size; }
  [[nodiscard]] constexpr std::int64_t runs() const { return size / run_size(); }
  // Of all numbers between its first member and the first one that could join it.
  [[nodiscard]] constexpr std::int64_t extent() const {
    return run > 0 ? runs() * jump : size * stride;
  }
};

// Every rank of `a` beside every rank of `b`: groups of one rank that lie across each other.
constexpr ProcessGroup joined(ProcessGroup a, ProcessGroup b) {
  const auto [inner, outer] = std::minmax(
      a, b, [](const ProcessGroup& x, const ProcessGroup& y) { return x.stride < y.stride; });
  if (a.size == 1 || b.size == 1) {
    return a.size == 1 ? b : a;
  }
  if (inner.size * inner.stride == outer.stride) {
    return {a.size * b.size, inner.stride};
  }
  return {a.size * b.size, inner.stride, inner.size, outer.stride};
}

// Whether the first `count` members of a group and those that stand in their places among the next
// ones are groups of the same shape.
constexpr bool divides_runs(ProcessGroup group, std::int64_t count) {
  return group.run_size() % count == 0 || count % group.run_size() == 0;
}

// The first `count` members, which must divide its runs.
constexpr ProcessGroup first_of(ProcessGroup group, std::int64_t count) {
  return count > group.run_size() ? ProcessGroup{count, group.stride, group.run, group.jump}
                                  : ProcessGroup{count, group.stride};
}

// The first of each `count` members, which must divide its runs.
constexpr ProcessGroup each_nth(ProcessGroup group, std::int64_t count) {
  const std::int64_t size = group.size / count;
  if (count >= group.run_size() && group.run > 0) {
    return {size, group.jump * (count / group.run)};
  }
  return group.run > 0 ? ProcessGroup{size, group.stride * count, group.run / count, group.jump}
                       : ProcessGroup{size, group.stride * count};
}

// Members of the group in one domain of `domain_size` neighbouring GPUs.
constexpr std::int64_t members_in_domain(ProcessGroup group, std::int64_t domain_size) {
  const std::int64_t of_run =
      std::min(group.run_size(), std::max<std::int64_t>(1, domain_size / group.stride));
  const bool whole = group.run > 0 && of_run == group.run;
  return whole
             ? of_run * std::min(group.runs(), std::max<std::int64_t>(1, domain_size / group.jump))
             : of_run;
}

// Domains that the group touches.
constexpr std::int64_t domains_spanned(ProcessGroup group, std::int64_t domain_size) {
  const std::int64_t members = members_in_domain(group, domain_size);
  return (group.size + members - 1) / members;
}

}  // namespace stepcast
