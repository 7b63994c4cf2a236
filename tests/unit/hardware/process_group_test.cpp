// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/process_group.hpp"

#include "catch.hpp"
#include "stepcast/trace_writer/process_groups.hpp"

namespace stepcast::process_group_test {
namespace {

// Those of the group of rank 0 that lie in its domain, one by one.
std::int64_t counted_in_domain(const ProcessGroup& group, std::int64_t domain) {
  std::int64_t members = 0;
  for (const std::int64_t rank : ranks_of(group, 0)) {
    members += rank < domain ? 1 : 0;
  }
  return members;
}

}  // namespace

TEST_CASE("two groups across each other are one, with gaps where they do not follow", "[unit]") {
  CHECK(joined({2, 1}, {4, 2}) == ProcessGroup{8, 1});
  CHECK(joined({4, 2}, {2, 1}) == ProcessGroup{8, 1});
  CHECK(joined({1, 7}, {4, 2}) == ProcessGroup{4, 2});
  CHECK(joined({2, 1}, {4, 8}) == ProcessGroup{8, 1, 2, 8});
  CHECK(joined({4, 8}, {2, 1}) == ProcessGroup{8, 1, 2, 8});
}

TEST_CASE("parts of a group with gaps keep its shape", "[unit]") {
  constexpr ProcessGroup kGroup{8, 1, 2, 8};  // 0 1, 8 9, 16 17, 24 25
  CHECK(kGroup.extent() == 32);
  CHECK(first_of(kGroup, 2) == ProcessGroup{2, 1});
  CHECK(first_of(kGroup, 4) == ProcessGroup{4, 1, 2, 8});
  CHECK(each_nth(kGroup, 1) == kGroup);
  CHECK(each_nth(kGroup, 2) == ProcessGroup{4, 8});
  CHECK(each_nth(kGroup, 4) == ProcessGroup{2, 16});
  CHECK(divides_runs(kGroup, 4));
  CHECK_FALSE(divides_runs({12, 1, 4, 8}, 6));
}

TEST_CASE("members of a domain are those that a count finds", "[property]") {
  for (const std::int64_t stride : {1, 2, 4, 8, 16}) {
    for (const std::int64_t size : {1, 2, 8, 32}) {
      for (const std::int64_t apart : {1, 2, 8}) {
        for (const std::int64_t outer : {1, 2, 4}) {
          const ProcessGroup group = joined({size, stride}, {outer, stride * size * apart});
          for (const std::int64_t domain : {1, 4, 8, 64}) {
            CAPTURE(stride, size, apart, outer, domain);
            CHECK(members_in_domain(group, domain) == counted_in_domain(group, domain));
          }
        }
      }
    }
  }
}

}  // namespace stepcast::process_group_test
