#include "protocols/http/route.h"

#include "gtest/gtest.h"

namespace sluice::http {
namespace {

TEST(RouteTest, TargetAndWay) {
  const Authority name{"Example.COM", 81, false}, address{"::1", 8, true};
  EXPECT_EQ(RouteOf(name, ""), "example.com:81");
  EXPECT_EQ(RouteOf(name, "from 192.0.2.1"), "example.com:81|from 192.0.2.1");
  EXPECT_EQ(RouteOf(address, ""), "::1:8");
}

TEST(RouteTest, LeadsToItsTargetWhateverTheWay) {
  for (const char* route : {"example.com:81", "example.com:81|b"}) {
    EXPECT_TRUE(LeadsTo(route, {"EXAMPLE.com", 81, false})) << route;
    EXPECT_FALSE(LeadsTo(route, {"example.com", 8, false})) << route;
    EXPECT_FALSE(LeadsTo(route, {"example.com", 811, false})) << route;
    EXPECT_FALSE(LeadsTo(route, {"xample.com", 81, false})) << route;
    EXPECT_FALSE(LeadsTo(route, {"example.co", 81, false})) << route;
    EXPECT_FALSE(LeadsTo(route, {"example.com.", 81, false})) << route;
    EXPECT_FALSE(LeadsTo(route, {"example.com:81", 8, false})) << route;
  }
  EXPECT_TRUE(LeadsTo("::1:8", {"::1", 8, true}));
  EXPECT_FALSE(LeadsTo("::1:8", {"::", 1, true}));
}

}  // namespace
}  // namespace sluice::http
