#include "protocols/dns/question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

namespace sluice::dns {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(QuestionTest, LiteralsNeedNoQuestion) {
  const auto prepared = PrepareQuery("[::1]", FamilyPreference::kIpv4Only);
  ASSERT_TRUE(std::holds_alternative<Result>(prepared));
  const Result& result = std::get<Result>(prepared);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result.addresses, ElementsAre(sys::SocketAddress::Loopback(sys::AddressFamily::kIpv6, 0)));
}

TEST(QuestionTest, BadNamesNeedNoQuestion) {
  const auto prepared = PrepareQuery("127.1", FamilyPreference::kPreferIpv4);
  ASSERT_TRUE(std::holds_alternative<Result>(prepared));
  EXPECT_EQ(std::get<Result>(prepared).outcome, Outcome::kInvalidName);
  EXPECT_EQ(std::get<Result>(prepared).status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(QuestionTest, NamesAreNormalised) {
  const auto prepared = PrepareQuery("WWW.Example.", FamilyPreference::kPreferIpv6);
  ASSERT_TRUE(std::holds_alternative<Question>(prepared));
  EXPECT_EQ(std::get<Question>(prepared).name, "www.example");
  EXPECT_TRUE(std::get<Question>(prepared).absolute);
  EXPECT_FALSE(std::get<Question>(PrepareQuery("www", FamilyPreference::kIpv4Only)).absolute);
}

TEST(QuestionTest, ThePreferredFamilyIsAskedFirst) {
  EXPECT_THAT(TypesOf(FamilyPreference::kPreferIpv6), ElementsAre(RecordType::kAaaa, RecordType::kA));
  EXPECT_THAT(TypesOf(FamilyPreference::kIpv4Only), ElementsAre(RecordType::kA));
}

Answer Failed(Outcome outcome, int64_t ttl_seconds = 0) {
  Answer answer;
  answer.outcome = outcome;
  answer.ttl_seconds = ttl_seconds;
  return answer;
}

Answer Loopback(int64_t ttl_seconds) {
  Answer answer;
  answer.outcome = Outcome::kOk;
  answer.addresses = {sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0)};
  answer.ttl_seconds = ttl_seconds;
  return answer;
}

TEST(QuestionTest, AddressesWinOverAnyFailureOfTheOtherFamily) {
  const Answer ok = Loopback(40);
  for (const Outcome outcome : {Outcome::kNotFound, Outcome::kNoData, Outcome::kServerFailure, Outcome::kTimeout}) {
    const Answer failed = Failed(outcome, 5);
    const Result result = CombineAnswers("a", FamilyPreference::kPreferIpv4, &ok, &failed);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.ttl_seconds, 40);
  }
  EXPECT_TRUE(CombineAnswers("a", FamilyPreference::kPreferIpv4, &ok, nullptr).ok());
}

TEST(QuestionTest, WithoutAddressesTheMostTellingOutcomeCounts) {
  struct Case {
    Outcome ipv4, ipv6, expected;
  };
  for (const Case& c : {Case{Outcome::kNoData, Outcome::kNoData, Outcome::kNoData},
                        Case{Outcome::kNotFound, Outcome::kNoData, Outcome::kNotFound},
                        Case{Outcome::kNoData, Outcome::kTimeout, Outcome::kTimeout},
                        Case{Outcome::kTimeout, Outcome::kNotFound, Outcome::kNotFound},
                        Case{Outcome::kServerFailure, Outcome::kNoData, Outcome::kServerFailure}}) {
    const Answer ipv4 = Failed(c.ipv4);
    const Answer ipv6 = Failed(c.ipv6);
    const Result result = CombineAnswers("a.test", FamilyPreference::kPreferIpv4, &ipv4, &ipv6);
    EXPECT_EQ(result.outcome, c.expected);
    EXPECT_FALSE(result.status.ok());
    EXPECT_THAT(std::string(result.status.message()), HasSubstr("a.test"));
  }
}

TEST(QuestionTest, ReverseNames) {
  EXPECT_EQ(ReverseName(*sys::SocketAddress::ParseIp("192.0.2.1", 80)), "1.2.0.192.in-addr.arpa");
  EXPECT_EQ(ReverseName(*sys::SocketAddress::ParseIp("2001:db8::1f", 80)),
            "f.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa");
}

}  // namespace
}  // namespace sluice::dns
