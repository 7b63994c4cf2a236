// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/autograd_nodes.hpp"

#include <set>

#include "catch.hpp"
#include "unit/trace_writer/traced_step.hpp"

namespace stepcast::autograd_nodes_test {
namespace {

using test::category_of_event;
using test::Json;
using test::nanoseconds_of;
using test::traced_events;

constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";

DeviceSlice forward(std::int64_t sequence) {
  DeviceSlice slice;
  slice.sequence = sequence;
  return slice;
}
DeviceSlice backward(std::int64_t sequence) {
  DeviceSlice slice;
  slice.sequence = sequence;
  slice.in_backward = true;
  slice.launched_by = HostThread::kBackward;
  return slice;
}
DeviceSlice recomputed() {
  DeviceSlice slice;
  slice.recomputed = true;
  slice.launched_by = HostThread::kBackward;
  return slice;
}
DeviceSlice gathered() {
  DeviceSlice slice;
  slice.launched_by = HostThread::kBackward;
  return slice;
}

// A slice of the host.
struct HostSlice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t thread = 0;
  Json event;
};

std::vector<HostSlice> host_slices(const std::vector<Json>& events) {
  std::vector<HostSlice> slices;
  for (const Json& event : events) {
    if (category_of_event(event) == "cpu_op" || category_of_event(event) == "python_function") {
      const std::int64_t begin = nanoseconds_of(event.at("ts"));
      slices.push_back({begin, begin + nanoseconds_of(event.at("dur")), event.at("tid"), event});
    }
  }
  return slices;
}

bool is_recomputed(const Json& event) { return event.at("args").value("Recomputed", false); }

bool is_forward(const Json& event) {
  return event.at("args").contains("Sequence number") && event.at("args").at("Fwd thread id") == 0;
}

bool is_inner_node(const Json& event) {
  const std::string name = event.at("name");
  return category_of_event(event) == "cpu_op" && !event.at("args").contains("External id") &&
         name.find(kEngine) == std::string::npos;
}

// An arrow between threads of the host.
struct Arrow {
  std::vector<Json> starts;
  std::vector<Json> ends;
};

std::map<std::int64_t, Arrow> backward_arrows(const std::vector<Json>& events) {
  std::map<std::int64_t, Arrow> arrows;
  for (const Json& event : events) {
    if (category_of_event(event) == "fwdbwd") {
      Arrow& arrow = arrows[event.at("id")];
      (event.at("ph") == "s" ? arrow.starts : arrow.ends).push_back(event);
    }
  }
  return arrows;
}

using Place = std::pair<std::int64_t, std::int64_t>;  // thread, time
Place place_of(const Json& event) { return {event.at("tid"), nanoseconds_of(event.at("ts"))}; }

}  // namespace

TEST_CASE("calls of one backward that follow each other are a node, to whose first an arrow leads",
          "[unit]") {
  const AutogradThread thread = autograd_thread(
      {forward(5), forward(6), backward(6), backward(6), backward(5), gathered(), backward(5)});
  REQUIRE(thread.nodes.size() == 3);
  CHECK(thread.nodes[0].around.first == 2);
  CHECK(thread.nodes[0].around.last == 3);
  CHECK(thread.nodes[0].arrow == 1);
  CHECK(thread.nodes[0].forward == 1);
  CHECK(thread.nodes[1].arrow == 2);
  CHECK(thread.nodes[1].forward == 0);
  CHECK(thread.nodes[2].around.first == 6);
  CHECK(thread.nodes[2].arrow == 0);
  CHECK(thread.recomputations.empty());
}

TEST_CASE("a node begins with what is recomputed for it, and a gather between is not recomputed",
          "[unit]") {
  const AutogradThread thread = autograd_thread(
      {forward(5), recomputed(), recomputed(), gathered(), recomputed(), backward(5), backward(5)});
  REQUIRE(thread.nodes.size() == 1);
  CHECK(thread.nodes[0].around.first == 1);
  CHECK(thread.nodes[0].around.last == 6);
  CHECK(thread.nodes[0].own == 5);
  REQUIRE(thread.recomputations.size() == 2);
  CHECK(thread.recomputations[0].first == 1);
  CHECK(thread.recomputations[0].last == 2);
  CHECK(thread.recomputations[1].first == 4);
  CHECK(thread.recomputations[1].last == 4);
}

TEST_CASE("an arrow leads from each forward operator to the node that runs its backward",
          "[unit]") {
  for (const std::string& plan : {test::kFsdp, test::kTensorAndPipeline, test::kExperts,
                                  test::kZeroBubble, test::kDualPipe, test::kFullRecompute}) {
    CAPTURE(plan);
    const std::vector<Json>& events = traced_events(plan);
    std::map<Place, std::int64_t> forwards;
    std::map<Place, std::int64_t> nodes;
    for (const HostSlice& slice : host_slices(events)) {
      if (is_forward(slice.event)) {
        forwards[{slice.thread, slice.begin}] = slice.event.at("args").at("Sequence number");
      } else if (is_inner_node(slice.event)) {
        nodes[{slice.thread, slice.begin}] = slice.event.at("args").at("Sequence number");
      }
    }
    int wrong = 0;
    std::set<std::int64_t> paired;
    for (const auto& [id, arrow] : backward_arrows(events)) {
      REQUIRE((arrow.starts.size() == 1 && arrow.ends.size() == 1));
      const Json& from = arrow.starts.front();
      const Json& to = arrow.ends.front();
      const auto forward = forwards.find(place_of(from));
      const auto node = nodes.find(place_of(to));
      const bool joins = forward != forwards.end() && node != nodes.end() &&
                         forward->second == node->second && paired.insert(node->second).second;
      const bool leads = place_of(from).first != place_of(to).first &&
                         place_of(from).second < place_of(to).second && to.at("bp") == "e" &&
                         from.at("name") == "fwdbwd" && to.at("name") == "fwdbwd";
      wrong += joins && leads ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(paired.size() == forwards.size());
    CHECK(paired.size() > 100);
  }
}

TEST_CASE("what is recomputed says so and stands in a frame of its own inside of backward",
          "[unit]") {
  for (const std::string& plan : {test::kFullRecompute, test::kSelectiveRecompute}) {
    CAPTURE(plan);
    std::vector<HostSlice> frames;
    std::vector<HostSlice> nodes;
    std::vector<HostSlice> calls;
    for (const HostSlice& slice : host_slices(traced_events(plan))) {
      if (category_of_event(slice.event) == "python_function") {
        frames.push_back(slice);
      } else if (is_inner_node(slice.event)) {
        nodes.push_back(slice);
      } else if (is_recomputed(slice.event)) {
        calls.push_back(slice);
      }
    }
    const auto stand_inside = [](const std::vector<HostSlice>& inner,
                                 const std::vector<HostSlice>& outer) {
      for (const HostSlice& slice : inner) {
        const bool inside = std::any_of(outer.begin(), outer.end(), [&](const HostSlice& other) {
          return other.thread == slice.thread && other.begin < slice.begin && slice.end < other.end;
        });
        if (!inside) {
          return false;
        }
      }
      return true;
    };
    CHECK(calls.size() > 50);
    CHECK(stand_inside(calls, frames));
    CHECK(stand_inside(frames, nodes));
  }
}

// Of 16 layers and 2 micro-batches attention runs once forward and once more before backward.
TEST_CASE("full recomputation runs each layer's forward twice, marked the second time", "[unit]") {
  const auto attentions = [](const std::string& plan) {
    std::map<bool, int> calls;
    for (const Json& event : traced_events(plan)) {
      if (category_of_event(event) == "kernel" &&
          event.at("name").get<std::string>().find("fprop") != std::string::npos) {
        ++calls[is_recomputed(event)];
      }
    }
    return calls;
  };
  CHECK(attentions(test::kFullRecompute) == std::map<bool, int>{{false, 32}, {true, 32}});
  CHECK(attentions(test::kFsdp) == std::map<bool, int>{{false, 32}});
}

}  // namespace stepcast::autograd_nodes_test
