#include "protocols/service/self_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace sluice::service {
namespace {

using sys::AddressFamily;
using sys::SocketAddress;
using ::testing::ElementsAre;

TEST(SelfLoopsTest, WhatLeadsIntoACycleNeverEnds) {
  EXPECT_THAT(OnACycle({-1}), ElementsAre(false));
  EXPECT_THAT(OnACycle({0}), ElementsAre(true));
  EXPECT_THAT(OnACycle({1, 0}), ElementsAre(true, true));
  EXPECT_THAT(OnACycle({1, 2, -1}), ElementsAre(false, false, false));
  EXPECT_THAT(OnACycle({1, 2, 1}), ElementsAre(true, true, true));
}

SocketAddress Ip(const char* text, uint16_t port) { return *SocketAddress::ParseIp(text, port); }

std::vector<bool> Loops(const std::vector<SocketAddress>& targets, const std::vector<SocketAddress>& bound) {
  Snapshot snapshot;
  for (const SocketAddress& target : targets) {
    auto service = std::make_unique<ServiceOptions>();
    service->target.address = target;
    snapshot.services.push_back(std::move(service));
  }
  return FindSelfLoops(snapshot, bound);
}

TEST(SelfLoopsTest, ATargetOnTheListenersOwnAddressIsALoop) {
  EXPECT_THAT(Loops({Ip("127.0.0.1", 80)}, {Ip("127.0.0.1", 80)}), ElementsAre(true));
  EXPECT_THAT(Loops({Ip("127.0.0.1", 81)}, {Ip("127.0.0.1", 80)}), ElementsAre(false));
  EXPECT_THAT(Loops({Ip("127.0.0.2", 80)}, {Ip("127.0.0.1", 80)}), ElementsAre(false));
  const SocketAddress path = *SocketAddress::ParseUnix("/run/x");
  EXPECT_THAT(Loops({path}, {path}), ElementsAre(true));
}

TEST(SelfLoopsTest, AWildcardListenerIsReachedByEveryAddressOfTheMachine) {
  EXPECT_THAT(Loops({Ip("127.0.0.9", 80)}, {Ip("0.0.0.0", 80)}), ElementsAre(true));
  EXPECT_THAT(Loops({Ip("0.0.0.0", 80)}, {Ip("127.0.0.1", 80)}), ElementsAre(true));
  EXPECT_THAT(Loops({Ip("::1", 80)}, {Ip("::", 80)}), ElementsAre(true));
  EXPECT_THAT(Loops({Ip("192.0.2.7", 80)}, {Ip("0.0.0.0", 80)}), ElementsAre(false));
}

TEST(SelfLoopsTest, ATargetReachesAListenerByAnyOfItsAddresses) {
  const std::vector<SocketAddress> listeners = {Ip("127.0.0.1", 1080), Ip("0.0.0.0", 3128), Ip("::", 3128)};
  EXPECT_TRUE(ReachesAny(Ip("127.0.0.1", 1080), listeners));
  EXPECT_TRUE(ReachesAny(Ip("127.0.0.7", 3128), listeners));
  EXPECT_TRUE(ReachesAny(Ip("::1", 3128), listeners));
  EXPECT_TRUE(ReachesAny(Ip("0.0.0.0", 1080), listeners));
  EXPECT_FALSE(ReachesAny(Ip("127.0.0.2", 1080), listeners));
  EXPECT_FALSE(ReachesAny(Ip("127.0.0.1", 1081), listeners));
  EXPECT_FALSE(ReachesAny(Ip("192.0.2.7", 3128), listeners));
}

TEST(SelfLoopsTest, TwoServicesThatLeadToEachOtherLoopAndAChainOutDoesNot) {
  EXPECT_THAT(Loops({Ip("127.0.0.1", 2), Ip("127.0.0.1", 1)}, {Ip("127.0.0.1", 1), Ip("127.0.0.1", 2)}),
              ElementsAre(true, true));
  EXPECT_THAT(Loops({Ip("127.0.0.1", 2), Ip("192.0.2.7", 1)}, {Ip("127.0.0.1", 1), Ip("127.0.0.1", 2)}),
              ElementsAre(false, false));
}

}  // namespace
}  // namespace sluice::service
