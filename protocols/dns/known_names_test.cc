#include "protocols/dns/known_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::dns {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

sys::SocketAddress Ip(absl::string_view text) { return *sys::SocketAddress::ParseIp(text, 0); }

Answer Positive(absl::string_view address, int64_t ttl_seconds) {
  Answer answer;
  answer.outcome = Outcome::kOk;
  answer.addresses = {Ip(address)};
  answer.ttl_seconds = ttl_seconds;
  return answer;
}

Answer Negative(Outcome outcome, int64_t ttl_seconds) {
  Answer answer;
  answer.outcome = outcome;
  answer.ttl_seconds = ttl_seconds;
  return answer;
}

std::vector<std::string> Texts(const std::optional<Result>& result) {
  if (!result) return {"unknown"};
  std::vector<std::string> texts;
  for (const sys::SocketAddress& address : result->addresses) texts.push_back(address.IpText());
  return texts;
}

class KnownNamesTest : public ::testing::Test {
 protected:
  KnownNames::Options Options() {
    KnownNames::Options options;
    options.cache_ipv4_entries = options.cache_ipv6_entries = 16;
    options.clock = &clock_;
    return options;
  }
  static Question Ask(std::string name, FamilyPreference family = FamilyPreference::kPreferIpv4) {
    return {std::move(name), false, family};
  }

  sys::ManualClock clock_;
};

TEST_F(KnownNamesTest, StaticRecordsComeFirstAndAreFinal) {
  KnownNames::Options options = Options();
  options.static_records = {
      {"Web.Test", Ip("192.0.2.1")}, {"gone.test", Ip("0.0.0.0")}, {"localhost", Ip("192.0.2.2")}};
  KnownNames known(options);
  known.SetHosts(ParseHosts("192.0.2.9 web.test gone.test\n"));
  EXPECT_THAT(Texts(known.Find(Ask("web.test"))), ElementsAre("192.0.2.1"));
  EXPECT_TRUE(known.Find(Ask("web.test"))->from_cache);
  EXPECT_EQ(known.Find(Ask("web.test", FamilyPreference::kIpv6Only))->outcome, Outcome::kNoData);
  EXPECT_EQ(known.Find(Ask("gone.test"))->outcome, Outcome::kNotFound);
  EXPECT_THAT(Texts(known.Find(Ask("localhost"))), ElementsAre("192.0.2.2"));
}

TEST_F(KnownNamesTest, HostsComeBeforeTheCache) {
  KnownNames known(Options());
  known.Store("web.test", RecordType::kA, Positive("192.0.2.9", 60));
  known.Store("web.test", RecordType::kAaaa, Positive("2001:db8::9", 60));
  known.SetHosts(ParseHosts("192.0.2.1 web.test\n0.0.0.0 blocked.test\n"));
  EXPECT_THAT(Texts(known.Find(Ask("web.test"))), ElementsAre("192.0.2.1"));
  EXPECT_EQ(known.Find(Ask("blocked.test"))->outcome, Outcome::kNotFound);
  // The file has nothing for the wanted family: the name servers may.
  EXPECT_THAT(Texts(known.Find(Ask("web.test", FamilyPreference::kIpv6Only))), ElementsAre("2001:db8::9"));
}

TEST_F(KnownNamesTest, SpecialNames) {
  KnownNames known(Options());
  EXPECT_THAT(Texts(known.Find(Ask("localhost"))), ElementsAre("127.0.0.1", "::1"));
  EXPECT_THAT(Texts(known.Find(Ask("a.localhost", FamilyPreference::kIpv6Only))), ElementsAre("::1"));
  EXPECT_EQ(known.Find(Ask("notlocalhost")), std::nullopt);
  EXPECT_EQ(known.Find(Ask("a.invalid"))->outcome, Outcome::kNotFound);
  EXPECT_EQ(known.Find(Ask("invalid"))->outcome, Outcome::kNotFound);
  EXPECT_EQ(known.Find(Ask("ainvalid")), std::nullopt);
}

TEST_F(KnownNamesTest, FakeResolve) {
  KnownNames::Options options = Options();
  options.fake_resolve = true;
  options.static_records = {{"real.test", Ip("192.0.2.1")}};
  KnownNames known(options);
  EXPECT_THAT(Texts(known.Find(Ask("any.test"))), ElementsAre("127.0.0.2", "::2"));
  EXPECT_THAT(Texts(known.Find(Ask("real.test"))), ElementsAre("192.0.2.1"));
}

TEST_F(KnownNamesTest, EachWantedFamilyMustBeKnown) {
  KnownNames known(Options());
  known.Store("a.test", RecordType::kA, Positive("192.0.2.1", 60));
  EXPECT_EQ(known.Find(Ask("a.test")), std::nullopt);
  EXPECT_THAT(Texts(known.Find(Ask("a.test", FamilyPreference::kIpv4Only))), ElementsAre("192.0.2.1"));
  known.Store("a.test", RecordType::kAaaa, Negative(Outcome::kNoData, 30));
  EXPECT_THAT(Texts(known.Find(Ask("a.test"))), ElementsAre("192.0.2.1"));
}

TEST_F(KnownNamesTest, TtlsAreKept) {
  KnownNames known(Options());
  const auto ask = [&] { return known.Find(Ask("a.test", FamilyPreference::kIpv4Only)); };
  known.Store("a.test", RecordType::kA, Positive("192.0.2.1", 0));
  EXPECT_EQ(ask(), std::nullopt);
  known.Store("a.test", RecordType::kA, Positive("192.0.2.1", 60));
  clock_.Advance(20 * sys::kNanosPerSecond);
  ASSERT_NE(ask(), std::nullopt);
  EXPECT_EQ(ask()->ttl_seconds, 40);
  clock_.Advance(40 * sys::kNanosPerSecond);
  EXPECT_EQ(ask(), std::nullopt);
}

TEST_F(KnownNamesTest, FailuresAreForgottenSoon) {
  KnownNames known(Options());
  const auto ask = [&] { return known.Find(Ask("a.test", FamilyPreference::kIpv4Only)); };
  for (const Outcome outcome : {Outcome::kServerFailure, Outcome::kTimeout, Outcome::kRefused, Outcome::kMalformed}) {
    known.Store("a.test", RecordType::kA, Negative(outcome, 0));
    ASSERT_NE(ask(), std::nullopt);
    EXPECT_EQ(ask()->outcome, outcome);
    clock_.Advance(3 * sys::kNanosPerSecond);
    EXPECT_EQ(ask(), std::nullopt);
  }
}

TEST_F(KnownNamesTest, TheSearchListIsFollowed) {
  KnownNames known(Options());
  known.SetSearch({{"a.test", "b.test"}, 1});
  const auto ask = [&] { return known.Find(Ask("web", FamilyPreference::kIpv4Only)); };
  known.Store("web.b.test", RecordType::kA, Positive("192.0.2.1", 60));
  EXPECT_EQ(ask(), std::nullopt);  // web.a.test comes first, and nobody knows it
  known.Store("web.a.test", RecordType::kA, Negative(Outcome::kNotFound, 30));
  EXPECT_THAT(Texts(ask()), ElementsAre("192.0.2.1"));
  known.Store("web.b.test", RecordType::kA, Negative(Outcome::kNoData, 30));
  EXPECT_EQ(ask(), std::nullopt);
  known.Store("web", RecordType::kA, Negative(Outcome::kNotFound, 30));
  EXPECT_EQ(ask()->outcome, Outcome::kNoData);
  // An absolute name is not completed.
  EXPECT_EQ(known.Find({"web", true, FamilyPreference::kIpv4Only})->outcome, Outcome::kNotFound);
}

}  // namespace
}  // namespace sluice::dns
