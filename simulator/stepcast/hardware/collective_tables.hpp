// SPDX-License-Identifier: Apache-2.0
// The constants of hardware_profiles/collectives, each described once (constant.hpp).
#pragma once

#include "stepcast/hardware/collective_constants.hpp"
#include "stepcast/hardware/constant.hpp"

namespace stepcast::collective_tables {

inline constexpr auto kLatency = &ClusterScale::latency;

inline constexpr Range<double> kFromNothing{0.0, 1e8};

// The library's estimates are constants of its source, which no faster machine changes.
using Tuning = ProtocolTuning;
inline constexpr auto kTuning = std::to_array<Constant<Tuning>>(
    {{"base", "us", limits::kMicroseconds, kByHand, "start, as the library estimates it",
      &Tuning::base},
     {"hop", "us", limits::kMicroseconds, kByHand, "dependent step, as the library estimates it",
      &Tuning::hop},
     {"rate", "GB/s", limits::kGigabytesPerSecond, kByHand,
      "of a bus, in nccl-tests' sense, as the library estimates it", &Tuning::rate}});

using AcrossNetwork = NetworkTuning;
inline constexpr auto kNetworkTuning = std::to_array<Constant<AcrossNetwork>>(
    {{"ll128_hop", "us", limits::kMicroseconds, kByHand,
      "step between domains by LL128, as the library estimates it", &AcrossNetwork::ll128_hop},
     {"simple_hop", "us", limits::kMicroseconds, kByHand,
      "step between domains by Simple, as the library estimates it", &AcrossNetwork::simple_hop},
     {"overhead", "us", limits::kMicroseconds, kByHand,
      "least step inside a domain of a ring that leaves it, three times that by Simple",
      &AcrossNetwork::overhead},
     {"ll_rate", "GB/s", limits::kGigabytesPerSecond, kByHand,
      "most of a bus between domains by LL, as the library states it", &AcrossNetwork::ll_rate},
     {"plateau", "", Range<double>{1.0, 10.0}, kByHand,
      "of the latency of all-reduces by Simple between domains, as the library corrects it",
      &AcrossNetwork::plateau}});

using Ll = LlConstants;
inline constexpr auto kLl = std::to_array<Constant<Ll>>(
    {Constant<Ll>{"base", "us", limits::kMicroseconds, Range<double>{0.5, 50.0},
                  "start of a collective by LL", &Ll::base}
         .with(kLatency),
     Constant<Ll>{"hop", "us", limits::kMicroseconds, Range<double>{0.3, 10.0},
                  "dependent step inside a domain by LL", &Ll::hop}
         .with(kLatency),
     Constant<Ll>{"network_hop", "us", limits::kMicroseconds, kByHand,
                  "dependent step between domains by LL", &Ll::network_hop}
         .with(kLatency),
     {"rate", "GB/s", limits::kGigabytesPerSecond, Range<double>{10.0, 2000.0},
      "of a rank by LL over all that it sends, receives or keeps", &Ll::rate}});

using Ll128 = Ll128Constants;
inline constexpr auto kLl128 = std::to_array<Constant<Ll128>>(
    {Constant<Ll128>{"base", "us", limits::kMicroseconds, kByHand, "start of a collective by LL128",
                     &Ll128::base}
         .with(kLatency),
     Constant<Ll128>{"hop", "us", limits::kMicroseconds, kByHand,
                     "dependent step inside a domain by LL128", &Ll128::hop}
         .with(kLatency),
     Constant<Ll128>{"network_hop", "us", limits::kMicroseconds, kByHand,
                     "dependent step between domains by LL128", &Ll128::network_hop}
         .with(kLatency),
     {"share", "", limits::kShare, kByHand, "of the rate that Simple reaches", &Ll128::share}});

using Simple = SimpleConstants;
inline constexpr auto kSimple = std::to_array<Constant<Simple>>(
    {Constant<Simple>{"base", "us", limits::kMicroseconds, Range<double>{0.5, 400.0},
                      "start of a collective by Simple", &Simple::base}
         .with(kLatency),
     Constant<Simple>{"hop", "us", limits::kMicroseconds, Range<double>{2.0, 40.0},
                      "dependent step inside a domain by Simple", &Simple::hop}
         .with(kLatency),
     Constant<Simple>{"long_hop", "us", limits::kMicroseconds, kByHand,
                      "dependent step inside a domain by Simple, of a ring that leaves it",
                      &Simple::long_hop}
         .with(kLatency),
     Constant<Simple>{"network_hop", "us", limits::kMicroseconds, kByHand,
                      "dependent step between domains by Simple", &Simple::network_hop}
         .with(kLatency),
     {"ring_share", "", limits::kShare, Range<double>{0.3, 1.0},
      "of the wire rate that rings reach", &Simple::ring_share},
     {"tree_share", "", limits::kShare, kByHand,
      "of a tensor's rate through a tree, of the ring's bus rate", &Simple::tree_share},
     {"own_rate", "GB/s", limits::kGigabytesPerSecond, Range<double>{100.0, 10'000.0},
      "at which a rank copies its own part", &Simple::own_rate},
     {"own_apart", "MB", Range<double>{1e-3, 1e7}, kByHand,
      "of a rank's own part, with which half of its copying no longer keeps the link waiting",
      &Simple::own_apart},
     {"own_exposed", "", limits::kShare, kByHand,
      "of the copying of a rank's own part, that keeps the link waiting however long it is",
      &Simple::own_exposed},
     {"whole_part", "MiB", kFromNothing, kByHand,
      "of a rank's own part, up to which it goes from node to node whole: a slice for each channel",
      &Simple::whole_part}});

using Switch = InSwitchConstants;
inline constexpr auto kInSwitch = std::to_array<Constant<Switch>>(
    {{"least_ranks", "", limits::kCounted, kByHand,
      "ranks from which on the library reduces in the switch", &Switch::least_ranks},
     Constant<Switch>{"base", "us", limits::kMicroseconds, Range<double>{15.0, 100.0},
                      "start of a reduction in the switch", &Switch::base}
         .with(kLatency),
     {"share", "", limits::kShare, Range<double>{0.2, 1.0}, "of the wire rate, over the tensor",
      &Switch::share},
     {"ramp", "us", limits::kMicroseconds, Range<double>{0.0, 300.0},
      "lost on the way to full chunks", &Switch::ramp},
     {"ramp_bytes", "MB", Range<double>{1e-3, 1e7}, Range<double>{1.0, 500.0},
      "of the tensor, from which on chunks are full", &Switch::ramp_bytes}});

inline constexpr auto kFloor = std::to_array<Constant<CollectiveConstants>>(
    {{"all_reduce_floor", "MiB", kFromNothing, kByHand,
      "bytes of a rank from which on an all-reduce takes at least what either of its halves "
      "takes alone; below, the library has quicker ways of its own for it",
      &CollectiveConstants::all_reduce_floor},
     Constant<CollectiveConstants>{
         "captured", "us", limits::kMicroseconds, kByHand,
         "of a collective in a captured graph, beyond one that is queued in a stream",
         &CollectiveConstants::captured}
         .with(kLatency)});

using Message = MessageConstants;
inline constexpr auto kMessage = std::to_array<Constant<Message>>(
    {{"ll_bytes", "KiB", kFromNothing, kByHand, "for one peer, up to which messages go by LL",
      &Message::ll_bytes},
     {"ll_rate", "GB/s", limits::kGigabytesPerSecond, Range<double>{0.5, 100.0},
      "of one peer's messages by LL, each of which has a channel of its own", &Message::ll_rate},
     {"ll_peer", "us", limits::kMicroseconds, kByHand,
      "of each peer's message by LL after the first", &Message::ll_peer},
     Constant<Message>{"base", "us", limits::kMicroseconds, Range<double>{1.0, 100.0},
                       "start of point-to-point messages by Simple", &Message::base}
         .with(kLatency),
     {"share", "", limits::kShare, Range<double>{0.3, 1.0}, "of the wire rate that messages reach",
      &Message::share},
     {"own_rate", "GB/s", limits::kGigabytesPerSecond, Range<double>{100.0, 10'000.0},
      "at which a rank copies its own part of an all-to-all", &Message::own_rate},
     {"ramp", "us", limits::kMicroseconds, Range<double>{0.0, 100.0},
      "lost on the way to full chunks", &Message::ramp},
     {"ramp_transfer", "us", Range<double>{1e-3, limits::kMicroseconds.highest}, kByHand,
      "of a message, after which its chunks are full", &Message::ramp_transfer},
     {"network_share", "", limits::kShare, kByHand,
      "of what rings achieve on the NICs, with many peers", &Message::network_share},
     {"issue", "us", limits::kMicroseconds, kByHand, "of one message over the network",
      &Message::issue},
     {"connection_miss", "us", limits::kMicroseconds, kByHand,
      "more of a message whose connection the NIC does not hold", &Message::connection_miss},
     {"connections", "", limits::kCounted, kByHand, "connections that a NIC holds",
      &Message::connections}});

inline constexpr Range<double> kSlowdown{1.0, 10.0};
inline constexpr Range<double> kPart{0.0, 1.0};
inline constexpr Range<double> kTimesOwn{0.0, 2.0};
using Beside = BesideComputation;
inline constexpr auto kBeside = std::to_array<Constant<Beside>>(
    {{"ring", "", kSlowdown, kByHand,
      "times longer that a gather or a reduction takes beside a kernel at the highest clock that "
      "asks for nothing of HBM",
      &Beside::ring},
     {"exchange", "", kSlowdown, kByHand,
      "the same of an all-to-all between two ranks, of messages and of an exchange of tokens",
      &Beside::exchange},
     {"own_at_clock", "", kTimesOwn, kByHand,
      "share of a collective's time that passes at the clock of the units, over the share of its "
      "bytes that a rank copies for itself",
      &Beside::own_at_clock},
     {"hbm_share", "", limits::kShare, kByHand,
      "of HBM that a collective keeps beside kernels that ask for all of it: its bytes in flight "
      "over those of both",
      &Beside::hbm_share},
     {"hbm_queue", "", kPart, kByHand,
      "of its longest wait for HBM, beside a kernel that asks for half of it",
      &Beside::hbm_queue}});

inline constexpr auto kPartsOfTuning = [](auto& visit) {
  visit.part("ll", &TuningConstants::ll, parts_of(kTuning));
  visit.part("ll128", &TuningConstants::ll128, parts_of(kTuning));
  visit.part("simple", &TuningConstants::simple, parts_of(kTuning));
  visit.part("in_switch", &TuningConstants::in_switch, parts_of(kTuning));
  visit.part("network", &TuningConstants::network, parts_of(kNetworkTuning));
};

inline constexpr auto kParts = [](auto& visit) {
  using File = CollectiveConstants;
  visit.part("tuning", &File::tuning, kPartsOfTuning);
  visit.part("ll", &File::ll, parts_of(kLl));
  visit.part("ll128", &File::ll128, parts_of(kLl128));
  visit.part("simple", &File::simple, parts_of(kSimple));
  visit.part("in_switch", &File::in_switch, parts_of(kInSwitch));
  visit.own(kFloor);
  visit.part("message", &File::message, parts_of(kMessage));
  visit.part("beside_computation", &File::beside, parts_of(kBeside));
};

}  // namespace stepcast::collective_tables
