// The pure parts of the link: what becomes of a packet and when, whose it is, the queue, the options.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/link/link_model.h"
#include "bench/link/link_options.h"
#include "bench/link/packet_flow.h"
#include "bench/link/packet_queue.h"

namespace sluice::bench::link {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Fate = LinkDirection::Fate;

constexpr int64_t kMillis = sys::kNanosPerMilli;

// Enters a packet and gives its time on the link in nanoseconds; -1 lost, -2 queue full.
int64_t Enter(LinkDirection& link, uint64_t flow, size_t bytes, sys::MonotonicNanos now) {
  sys::MonotonicNanos arrival = 0;
  switch (link.Enter(flow, bytes, now, &arrival)) {
    case Fate::kArrives:
      return arrival - now;
    case Fate::kLost:
      return -1;
    case Fate::kQueueFull:
      return -2;
  }
  return -3;
}

TEST(LinkModelTest, WithoutARateThereIsOnlyTheDelay) {
  LinkOptions options;
  options.delay_nanos = 5 * kMillis;
  LinkDirection link(options);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(Enter(link, 1, 1500, 7), 5 * kMillis);
  EXPECT_EQ(link.flows(), 0u);
}

TEST(LinkModelTest, EachConnectionHasTheRateForItself) {
  LinkOptions options;
  options.bits_per_second = 12'000'000;  // a packet of 1500 bytes each millisecond
  options.delay_nanos = 5 * kMillis;
  LinkDirection link(options);
  EXPECT_EQ(Enter(link, 1, 1500, 0), 6 * kMillis);
  EXPECT_EQ(Enter(link, 1, 1500, 0), 7 * kMillis);
  EXPECT_EQ(Enter(link, 1, 750, 0), 7 * kMillis + kMillis / 2);
  EXPECT_EQ(Enter(link, 2, 1500, 0), 6 * kMillis) << "another connection does not wait";
  // Half of a packet's time later, 2 of the 2.5 ms are left to be waited for.
  EXPECT_EQ(Enter(link, 1, 1500, kMillis / 2), 2 * kMillis + kMillis + 5 * kMillis);
  EXPECT_EQ(Enter(link, 1, 1500, 100 * kMillis), 6 * kMillis) << "unused time is not saved up";
}

TEST(LinkModelTest, AConnectionsQueueIsBounded) {
  LinkOptions options;
  options.bits_per_second = 12'000'000;
  options.queue_packets = 3;
  LinkDirection link(options);
  for (int waiting = 0; waiting <= 3; ++waiting) EXPECT_EQ(Enter(link, 1, 1500, 0), (waiting + 1) * kMillis);
  EXPECT_EQ(Enter(link, 1, 1500, 0), -2);
  EXPECT_EQ(Enter(link, 1, 40, 0), -2);
  EXPECT_EQ(Enter(link, 2, 1500, 0), kMillis) << "the others' are not affected";
  EXPECT_EQ(Enter(link, 1, 1500, kMillis), 4 * kMillis) << "one has left";
}

TEST(LinkModelTest, LosesTheShareThatIsAskedForAndTheSameOnesWithTheSameSeed) {
  LinkOptions options;
  options.loss = 0.02;
  LinkDirection one(options), same(options);
  options.seed = 2;
  LinkDirection other(options);
  int lost = 0, different = 0;
  for (int i = 0; i < 100'000; ++i) {
    const int64_t fate = Enter(one, 1, 1500, i);
    lost += fate == -1;
    EXPECT_EQ(fate, Enter(same, 1, 1500, i));
    different += fate != Enter(other, 1, 1500, i);
  }
  EXPECT_NEAR(lost, 2000, 200);
  EXPECT_GT(different, 3000);
  options.loss = 1;
  LinkDirection all(options);
  EXPECT_EQ(Enter(all, 1, 1500, 0), -1);
}

TEST(LinkModelTest, ALostPacketHasUsedTheRate) {
  LinkOptions options;
  options.bits_per_second = 12'000'000;
  options.loss = 0.5;
  LinkDirection link(options);
  int64_t last = 0;
  for (int i = 1; i <= 50; ++i) {
    const int64_t took = Enter(link, 1, 1500, 0);
    if (took < 0) continue;
    EXPECT_EQ(took, i * kMillis);
    last = took;
  }
  EXPECT_GT(last, 0);
}

TEST(LinkModelTest, ForgetsConnectionsThatHaveNothingWaiting) {
  LinkOptions options;
  options.bits_per_second = 12'000'000;
  LinkDirection link(options);
  for (int i = 0; i < 100'000; ++i) Enter(link, static_cast<uint64_t>(i), 1500, i * kMillis);
  EXPECT_LE(link.flows(), 1024u);
  // Those that have are kept, however many.
  for (int i = 0; i < 5000; ++i) Enter(link, static_cast<uint64_t>(i), 1500, 200'000 * kMillis);
  EXPECT_GE(link.flows(), 5000u);
}

TEST(PacketQueueTest, GivesThemByTimeAndThenByOrder) {
  PacketQueue queue(10);
  EXPECT_TRUE(queue.empty());
  queue.Push("late", 0, 30);
  queue.Push("first", 1, 10);
  queue.Push("second", 0, 10);
  queue.Push("third", 1, 20);
  EXPECT_EQ(queue.NextArrival(), 10);
  std::vector<std::string> order;
  while (!queue.empty()) {
    order.push_back(std::string(queue.Front().bytes) + std::to_string(queue.Front().direction));
    queue.Pop();
  }
  EXPECT_THAT(order, ElementsAre("first1", "second0", "third1", "late0"));
}

TEST(PacketQueueTest, IsBoundedAndKeepsWhatItHas) {
  PacketQueue queue(2);
  const std::string large(kMtu, 'x');
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(queue.Push(large, 0, 1));
    EXPECT_TRUE(queue.Push("", 0, 2));
    EXPECT_FALSE(queue.Push("more", 0, 0));
    EXPECT_EQ(queue.Front().bytes, large);
    queue.Pop();
    EXPECT_EQ(queue.Front().bytes, "");
    queue.Pop();
  }
  EXPECT_EQ(queue.size(), 0u);
}

// An IPv4 packet from 10.0.0.1 to 10.0.0.2.
std::string Packet4(uint8_t protocol, const std::string& ports, uint16_t fragment = 0) {
  std::string packet("\x45\0\0\x1c\0\0", 6);
  packet += static_cast<char>(fragment >> 8);
  packet += static_cast<char>(fragment);
  packet += '\x40';
  packet += static_cast<char>(protocol);
  packet += std::string("\0\0\x0a\0\0\1\x0a\0\0\2", 10);
  return packet + ports + "the rest";
}

TEST(PacketFlowTest, AConnectionIsProtocolAddressesAndPorts) {
  const std::string packet = Packet4(6, std::string("\x10\0\0\x50", 4));
  EXPECT_NE(FlowOf(packet), 0u);
  EXPECT_EQ(FlowOf(packet), FlowOf(packet + "longer"));
  EXPECT_NE(FlowOf(packet), FlowOf(Packet4(6, std::string("\x10\1\0\x50", 4))));
  EXPECT_NE(FlowOf(packet), FlowOf(Packet4(17, std::string("\x10\0\0\x50", 4))));
  std::string elsewhere = packet;
  elsewhere[19] = 3;
  EXPECT_NE(FlowOf(packet), FlowOf(elsewhere));
  // ICMP has no ports: its bytes there say nothing.
  EXPECT_EQ(FlowOf(Packet4(1, "aaaa")), FlowOf(Packet4(1, "bbbb")));
}

TEST(PacketFlowTest, FragmentsGoByTheirAddresses) {
  EXPECT_EQ(FlowOf(Packet4(17, "aaaa", 0x2000)), FlowOf(Packet4(17, "bbbb", 0x00b9)));
  EXPECT_EQ(FlowOf(Packet4(17, "aaaa", 0x4000)), FlowOf(Packet4(17, "aaaa"))) << "don't fragment";
}

TEST(PacketFlowTest, Ipv6) {
  std::string packet("\x60\0\0\0\0\x8\6\x40", 8);
  packet += std::string(15, '\0') + '\1' + std::string(15, '\0') + '\2';
  EXPECT_NE(FlowOf(packet + "aaaa"), FlowOf(packet + "bbbb"));
  EXPECT_NE(FlowOf(packet), 0u);
  EXPECT_EQ(FlowOf(packet.substr(0, 39)), 0u);
}

TEST(PacketFlowTest, WhatIsNoPacket) {
  const std::string packet = Packet4(6, "aaaa");
  for (size_t size = 0; size < 20; ++size) EXPECT_EQ(FlowOf(packet.substr(0, size)), 0u) << size;
  EXPECT_NE(FlowOf(packet.substr(0, 20)), 0u);
  EXPECT_EQ(FlowOf("\x4f" + packet.substr(1)), 0u) << "its header is longer than it";
  EXPECT_EQ(FlowOf("\x44" + packet.substr(1)), 0u) << "its header is too short";
  EXPECT_EQ(FlowOf("\x50" + packet.substr(1)), 0u);
}

TEST(LinkOptionsTest, AllOfThem) {
  const absl::StatusOr<EmulatorOptions> options =
      ParseOptions({"--tun", "link0,link1", "--rate", "20M", "--delay", "2.5", "--loss", "0.5%", "--queue", "50",
                    "--seed", "9", "--cpu", "1", "--seconds", "60"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->devices, ElementsAre("link0", "link1"));
  EXPECT_EQ(options->link.bits_per_second, 20'000'000);
  EXPECT_EQ(options->link.delay_nanos, 2'500'000);
  EXPECT_EQ(options->link.loss, 0.005);
  EXPECT_EQ(options->link.queue_packets, 50);
  EXPECT_EQ(options->link.seed, 9u);
  EXPECT_EQ(options->server.cpu, 1);
  EXPECT_EQ(options->server.seconds, 60);
  EXPECT_EQ(ParseOptions({"--tun=a,b", "--rate=512k"})->link.bits_per_second, 512'000);
  EXPECT_EQ(ParseOptions({"--tun=a,b", "--rate=1.5G"})->link.bits_per_second, 1'500'000'000);
  EXPECT_EQ(ParseOptions({"--tun=a,b"})->link.bits_per_second, 0);
  EXPECT_TRUE(ParseOptions({"--help"})->help);
}

TEST(LinkOptionsTest, WhatIsWrong) {
  const auto fault = [](std::vector<std::string> words) {
    return std::string(ParseOptions(std::move(words)).status().message());
  };
  for (const char* names : {"", "a", "a,b,c", "a,a"}) {
    EXPECT_EQ(fault({"--tun", names}), "--tun A,B is needed: the names of two devices") << names;
  }
  for (const char* names : {"a,", "a,/b", "a,tun%d", "a,0123456789abcdef", "..,a"}) {
    EXPECT_THAT(fault({"--tun", names}), HasSubstr("cannot be a device's name")) << names;
  }
  for (const char* rate : {"20MB", "x", "0", "-1M", "999", "1e30"}) {
    EXPECT_THAT(fault({"--tun=a,b", "--rate", rate}), HasSubstr("bits a second are needed")) << rate;
  }
  EXPECT_THAT(fault({"--tun=a,b", "--loss", "101"}), HasSubstr("0 to 100 percent"));
  EXPECT_THAT(fault({"--tun=a,b", "--delay", "-1"}), HasSubstr("--delay -1"));
}

}  // namespace
}  // namespace sluice::bench::link
