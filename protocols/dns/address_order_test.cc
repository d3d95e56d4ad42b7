#include "protocols/dns/address_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace sluice::dns {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

sys::SocketAddress V4(uint8_t last) { return sys::SocketAddress::Ipv4(0xc0000200u + last, 0); }
sys::SocketAddress V6(uint8_t last) {
  std::array<uint8_t, 16> bytes{0x20, 0x01, 0x0d, 0xb8};
  bytes[15] = last;
  return sys::SocketAddress::Ipv6(bytes, 0);
}

TEST(AddressOrderTest, InterleavesThePreferredFamilyFirst) {
  const std::vector<sys::SocketAddress> v4 = {V4(1), V4(2), V4(3)};
  const std::vector<sys::SocketAddress> v6 = {V6(1), V6(2)};
  EXPECT_THAT(OrderAddresses(v4, v6, FamilyPreference::kPreferIpv4), ElementsAre(V4(1), V6(1), V4(2), V6(2), V4(3)));
  EXPECT_THAT(OrderAddresses(v4, v6, FamilyPreference::kPreferIpv6), ElementsAre(V6(1), V4(1), V6(2), V4(2), V4(3)));
}

TEST(AddressOrderTest, LeavesOutTheFamilyThatIsNotWanted) {
  EXPECT_THAT(OrderAddresses({V4(1)}, {V6(1)}, FamilyPreference::kIpv4Only), ElementsAre(V4(1)));
  EXPECT_THAT(OrderAddresses({V4(1)}, {V6(1)}, FamilyPreference::kIpv6Only), ElementsAre(V6(1)));
  EXPECT_THAT(OrderAddresses({V4(1)}, {}, FamilyPreference::kIpv6Only), IsEmpty());
}

TEST(AddressOrderTest, FallsBackToTheOtherFamily) {
  EXPECT_THAT(OrderAddresses({}, {V6(1)}, FamilyPreference::kPreferIpv4), ElementsAre(V6(1)));
  EXPECT_THAT(OrderAddresses({V4(1)}, {}, FamilyPreference::kPreferIpv6), ElementsAre(V4(1)));
  EXPECT_THAT(OrderAddresses({}, {}, FamilyPreference::kPreferIpv4), IsEmpty());
}

TEST(AddressOrderTest, DropsRepetitions) {
  EXPECT_THAT(OrderAddresses({V4(1), V4(1), V4(2)}, {V6(1), V6(1)}, FamilyPreference::kPreferIpv4),
              ElementsAre(V4(1), V6(1), V4(2)));
}

TEST(AddressOrderTest, IsBounded) {
  std::vector<sys::SocketAddress> v4, v6;
  for (int i = 0; i < 200; ++i) {
    v4.push_back(V4(static_cast<uint8_t>(i)));
    v6.push_back(V6(static_cast<uint8_t>(i)));
  }
  const std::vector<sys::SocketAddress> list = OrderAddresses(v4, v6, FamilyPreference::kPreferIpv4);
  ASSERT_EQ(list.size(), kMaxAddresses);
  EXPECT_EQ(list.back(), V6(kMaxAddresses / 2 - 1));
}

}  // namespace
}  // namespace sluice::dns
