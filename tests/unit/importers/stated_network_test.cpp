// SPDX-License-Identifier: Apache-2.0
#include "importers/stated_network.hpp"

#include "catch.hpp"

namespace stepcast::stated_network_test {
namespace {

constexpr BytesPerSecond kUsual(50e9);  // 400 Gb/s

// Gb/s of a GPU; 0 where the text states none.
double gigabits(const char* text, std::int64_t gpus = 8) {
  const StatedNetwork network = stated_network(text, gpus, kUsual);
  CAPTURE(text);
  CHECK(network.question.empty());
  return network.of_gpu ? network.of_gpu->value() * 8.0 / 1e9 : 0.0;
}

std::string question(const char* text) { return stated_network(text, 8, kUsual).question; }

TEST_CASE("A count of NICs and their rate is shared by the GPUs of a node", "[unit]") {
  CHECK(gigabits("8 x 400 Gb/s NDR") == Approx(400.0));
  CHECK(gigabits("8 x ConnectX-7 400 Gb/s") == Approx(400.0));
  CHECK(gigabits("8 x ConnectX-7 400 Gb/s per node") == Approx(400.0));
  CHECK(gigabits("8x400G RoCE") == Approx(400.0));
  CHECK(gigabits("8 \u00d7 NDR InfiniBand") == Approx(400.0));
  CHECK(gigabits("4 x 100Gb RoCE per node") == Approx(50.0));
  CHECK(gigabits("8 x Thor2 400G RoCE per node") == Approx(400.0));
  CHECK(gigabits("ionic RoCE (8 x 400 Gb/s per node), amd-spur") == Approx(400.0));
  CHECK(gigabits("8 NICs of 200 Gbps") == Approx(200.0));
}

TEST_CASE("A rate says whose it is", "[unit]") {
  CHECK(gigabits("1600 Gb/s RoCE node-node") == Approx(200.0));
  CHECK(gigabits("AWS EFA 3200 Gb/s per node") == Approx(400.0));
  CHECK(gigabits("NVLink; RDMA 400Gb/s (CX-7) per GPU") == Approx(400.0));
  CHECK(gigabits("EFA 3.2 Tb/s per node") == Approx(400.0));
  CHECK(gigabits("InfiniBand 25 GB/s per GPU") == Approx(200.0));
  CHECK(gigabits("NVLink intra-node; backend RDMA 400 Gb/s per GPU; H100 96GB HBM2e 2.4 TB/s, "
                 "500W power limit") == Approx(400.0));
}

TEST_CASE("A text without a rate of the network states none", "[unit]") {
  for (const char* text :
       {"", "NVLink + InfiniBand", "DGX H100: NVLink + InfiniBand NDR", "NVL72 domain",
        "NVLink 900 GB/s, InfiniBand", "64 hosts x 4 GPUs; NVL domains of 64 for EP",
        "one tray, 4 GPUs over NVLink", "not stated (64 nodes x 8 H100)"}) {
    CHECK(gigabits(text) == 0.0);
  }
}

TEST_CASE("A lone rate is taken where it is the usual one, else it is a question", "[unit]") {
  CHECK(gigabits("NVLink + 400Gbps RoCE") == Approx(400.0));
  CHECK(question("100 Gb/s Ethernet").find("whether a NIC, a GPU or a node") != std::string::npos);
  CHECK(question("8 x 400 Gb/s IB, 200 Gb/s per GPU").find("more than one rate") !=
        std::string::npos);
  CHECK(question("400").find("has no unit") != std::string::npos);
  CHECK(question("400").find("write it as 8 x 400 Gb/s per node") != std::string::npos);
}

}  // namespace
}  // namespace stepcast::stated_network_test
