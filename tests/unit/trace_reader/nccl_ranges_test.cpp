// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/nccl_ranges.hpp"

#include "catch.hpp"

namespace stepcast::nccl_ranges_test {
namespace {

constexpr std::int64_t kThread = 6;
constexpr std::uint64_t kCommunicator = 0xab;

NcclRange range(const std::string& function, std::int64_t start, std::int64_t end,
                const NcclPayload& payload = {}) {
  return {kThread, start, end, function, payload};
}

// A communicator of two ranks, made before all else.
const NcclRange kMade =
    range("ncclCommInitRankConfig", 0, 5, {kCommunicator, std::nullopt, std::nullopt, 2});

NcclPayload message(std::int64_t bytes, std::optional<std::int64_t> peer = std::nullopt) {
  return {kCommunicator, bytes, peer, std::nullopt};
}

TEST_CASE("A kernel carries what the call that launched it states", "[unit]") {
  const NcclRanges ranges({range("ncclReduceScatter", 40, 50, message(100)), kMade,
                           range("ncclAllGather", 10, 20, message(100)),
                           range("ncclAllReduce", 25, 30, message(7))});
  const auto gathered = ranges.launched_at(kThread, 15);
  REQUIRE(gathered);
  CHECK(gathered->name == "allgather");
  CHECK(gathered->group == "0xab");
  CHECK(gathered->ranks == 2);
  // Each of both ranks gives 100 bytes.
  CHECK(gathered->in_elements == 100.0);
  CHECK(gathered->out_elements == 200.0);
  CHECK(gathered->dtype == "Byte");
  const auto scattered = ranges.launched_at(kThread, 40);
  REQUIRE(scattered);
  CHECK(scattered->in_elements == 200.0);
  CHECK(scattered->out_elements == 100.0);
  CHECK(ranges.launched_at(kThread, 25)->in_elements == 7.0);
  CHECK_FALSE(ranges.launched_at(kThread, 20));  // between two calls
  CHECK_FALSE(ranges.launched_at(kThread + 1, 15));
}

TEST_CASE("A communicator that was made before the recording has no number of ranks", "[unit]") {
  const NcclRanges ranges({range("ncclAllGather", 10, 20, message(100))});
  CHECK(ranges.launched_at(kThread, 15)->ranks == 0);
  CHECK(ranges.launched_at(kThread, 15)->out_elements == 0.0);
}

TEST_CASE("Without a payload a call has its name alone", "[unit]") {
  const NcclRanges ranges({range("ncclAllReduce", 10, 20)});
  const auto call = ranges.launched_at(kThread, 15);
  REQUIRE(call);
  CHECK(call->name == "allreduce");
  CHECK(call->in_elements == 0.0);
  CHECK(call->group.empty());
}

TEST_CASE("The end of a group launches what was called in it", "[unit]") {
  const NcclRanges ranges({kMade, range("ncclGroupStart", 10, 11),
                           range("ncclSend", 12, 13, message(64, 1)),
                           range("ncclGroupEnd", 14, 20)});
  const auto sent = ranges.launched_at(kThread, 16);
  REQUIRE(sent);
  CHECK(sent->name == "send");
  CHECK(sent->in_elements == 64.0);
  CHECK(sent->group.empty());  // peers are told by their rank in it alone
  CHECK(sent->destination == -1);
}

TEST_CASE("Sends and receipts of every rank are an all-to-all", "[unit]") {
  std::vector<NcclRange> calls = {kMade,
                                  range("ncclGroupStart", 10, 11),
                                  range("ncclSend", 12, 13, message(64, 0)),
                                  range("ncclRecv", 13, 14, message(64, 0)),
                                  range("ncclSend", 14, 15, message(64, 1)),
                                  range("ncclRecv", 15, 16, message(64, 1)),
                                  range("ncclGroupEnd", 17, 20)};
  const auto exchange = NcclRanges(calls).launched_at(kThread, 18);
  REQUIRE(exchange);
  CHECK(exchange->name == "all_to_all");
  CHECK(exchange->ranks == 2);
  CHECK(exchange->in_elements == 128.0);
  CHECK(exchange->out_elements == 128.0);
  calls.erase(calls.begin() + 3);  // one receipt less: it is none
  CHECK_FALSE(NcclRanges(calls).launched_at(kThread, 18));
}

TEST_CASE("A group within another is launched with it", "[unit]") {
  const NcclRanges ranges({kMade, range("ncclGroupStart", 10, 11), range("ncclGroupStart", 11, 12),
                           range("ncclSend", 12, 13, message(64, 1)), range("ncclGroupEnd", 14, 15),
                           range("ncclGroupEnd", 16, 20)});
  CHECK_FALSE(ranges.launched_at(kThread, 14));
  CHECK(ranges.launched_at(kThread, 18)->in_elements == 64.0);
}

TEST_CASE("Of a group whose start was not recorded nothing is told", "[unit]") {
  const NcclRanges ranges(
      {kMade, range("ncclSend", 12, 13, message(64, 1)), range("ncclGroupEnd", 14, 20)});
  CHECK_FALSE(ranges.launched_at(kThread, 16));
}

}  // namespace
}  // namespace stepcast::nccl_ranges_test
