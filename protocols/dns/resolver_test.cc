#include "protocols/dns/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protocols/dns/lookups.h"
#include "protocols/dns/testing/message_builder.h"
#include "protocols/dns/testing/mock_dns_server.h"
#include "protocols/dns/testing/resolver_fixture.h"
#include "sys/thread/mutex.h"

namespace sluice::dns {
namespace {

using testing::A;
using testing::Aaaa;
using testing::Cname;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::InMillis;
using ::testing::IsEmpty;
using testing::kTypeA;
using testing::kTypeAaaa;
using testing::kTypePtr;
using testing::MockDnsServer;
using testing::Noise;
using testing::Reply;
using testing::Results;
using ::testing::SizeIs;
using testing::Soa;
using testing::Texts;

constexpr uint16_t kServfail = 2;
constexpr uint16_t kNxDomain = 3;
constexpr uint16_t kRefused = 5;

class ResolverTest : public testing::ResolverFixture {};

TEST_F(ResolverTest, AsksForBothFamiliesAndInterleavesThem) {
  first_.Set("both.test", kTypeA, {.answers = {A("both.test", "192.0.2.1"), A("both.test", "192.0.2.2")}});
  first_.Set("both.test", kTypeAaaa, {.answers = {Aaaa("both.test", "2001:db8::1")}});
  Start(Options());
  EXPECT_THAT(Texts(Ask("both.test")), ElementsAre("192.0.2.1", "2001:db8::1", "192.0.2.2"));
  EXPECT_THAT(Texts(Ask("both.test", FamilyPreference::kPreferIpv6)),
              ElementsAre("2001:db8::1", "192.0.2.1", "192.0.2.2"));
  EXPECT_THAT(Texts(Ask("both.test", FamilyPreference::kIpv4Only)), ElementsAre("192.0.2.1", "192.0.2.2"));
  EXPECT_THAT(Texts(Ask("both.test", FamilyPreference::kIpv6Only)), ElementsAre("2001:db8::1"));
  EXPECT_EQ(first_.count("both.test"), 2);
}

TEST_F(ResolverTest, OneFamilyIsOneQuery) {
  first_.SetA("a.test", "192.0.2.1");
  Start(Options());
  EXPECT_THAT(Texts(AskIpv4("a.test")), ElementsAre("192.0.2.1"));
  EXPECT_EQ(first_.count("a.test", kTypeAaaa), 0);
  EXPECT_EQ(resolver_->stats().queries_sent, 1);
}

TEST_F(ResolverTest, FollowsAliases) {
  first_.Set("www.test", kTypeA, {.answers = {Cname("www.test", "cdn.test", 5), A("cdn.test", "192.0.2.1", 100)}});
  Start(Options());
  const Result result = AskIpv4("www.test");
  EXPECT_THAT(Texts(result), ElementsAre("192.0.2.1"));
  EXPECT_EQ(result.ttl_seconds, 5);
  EXPECT_FALSE(result.from_cache);
}

// A truncated answer is asked for again over TCP, and only what TCP brings is used.
TEST_F(ResolverTest, TruncatedAnswersComeOverTcp) {
  Reply reply;
  reply.truncated = true;
  reply.truncated_answers = {A("big.test", "192.0.2.66")};
  std::vector<std::string> expected;
  for (int i = 1; i <= 40; ++i) {
    expected.push_back(absl::StrCat("198.51.100.", i));
    reply.answers.push_back(A("big.test", expected.back()));
  }
  first_.Set("big.test", kTypeA, reply);
  Start(Options());
  EXPECT_EQ(Texts(AskIpv4("big.test")), expected);
  const std::vector<MockDnsServer::Seen> seen = first_.seen();
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_FALSE(seen[0].tcp);
  EXPECT_TRUE(seen[1].tcp);
  EXPECT_EQ(Texts(*resolver_->TryCache({"big.test", FamilyPreference::kIpv4Only})), expected);
}

TEST_F(ResolverTest, ATcpServerIsAskedOverTcp) {
  first_.SetA("a.test", "192.0.2.1");
  ResolverOptions options = Options();
  options.name_servers[0].tcp = true;
  Start(std::move(options));
  EXPECT_THAT(Texts(Ask("a.test")), ElementsAre("192.0.2.1"));
  for (const MockDnsServer::Seen& seen : first_.seen()) EXPECT_TRUE(seen.tcp);
}

class NoiseTest : public testing::ResolverFixture, public ::testing::WithParamInterface<Noise> {};

// Whatever comes before the right answer is ignored, and the waiting goes on.
TEST_P(NoiseTest, IsIgnored) {
  for (const uint16_t type : {kTypeA, kTypeAaaa}) {
    Reply reply;
    reply.noise = {GetParam(), GetParam()};
    reply.answers = {type == kTypeA ? A("a.test", "192.0.2.1") : Aaaa("a.test", "2001:db8::1")};
    first_.Set("a.test", type, reply);
  }
  Start(Options());
  EXPECT_THAT(Texts(Ask("a.test")), ElementsAre("192.0.2.1", "2001:db8::1"));
  EXPECT_EQ(first_.count("a.test"), 2);  // not by asking again
}

INSTANTIATE_TEST_SUITE_P(All, NoiseTest,
                         ::testing::Values(Noise::kWrongId, Noise::kWrongQuestion, Noise::kQuestionBit,
                                           Noise::kWrongSource, Noise::kEmpty, Noise::kGarbage));

TEST_F(ResolverTest, IdsAndPortsCannotBeGuessed) {
  Start(Options());
  for (int i = 0; i < 100; ++i) AskIpv4(absl::StrCat("n", i, ".test"));
  std::set<uint16_t> ids, ports;
  for (const MockDnsServer::Seen& seen : first_.seen()) {
    ids.insert(seen.id);
    ports.insert(seen.source_port);
  }
  EXPECT_GT(ids.size(), 90u);
  EXPECT_GT(ports.size(), 90u);
}

TEST_F(ResolverTest, TtlZeroIsNotCached) {
  first_.SetA("zero.test", "192.0.2.1", 0);
  Start(Options());
  for (int i = 1; i <= 5; ++i) {
    EXPECT_THAT(Texts(AskIpv4("zero.test")), ElementsAre("192.0.2.1"));
    EXPECT_EQ(first_.count("zero.test", kTypeA), i);
  }
}

TEST_F(ResolverTest, ConcurrentLookUpsOfANameShareOneQuery) {
  first_.Set("shared.test", kTypeA, {.answers = {A("shared.test", "192.0.2.1", 0)}, .held = true});
  Start(Options());
  Results results;
  for (int i = 0; i < 200; ++i) resolver_->Resolve({"Shared.test", FamilyPreference::kIpv4Only}, results.Callback());
  ASSERT_TRUE(first_.WaitForQueries("shared.test", kTypeA, 1));
  first_.Release("shared.test", kTypeA);
  const std::vector<Result> all = results.WaitFor(200);
  ASSERT_THAT(all, SizeIs(200));
  for (const Result& result : all) EXPECT_THAT(Texts(result), ElementsAre("192.0.2.1"));
  EXPECT_LE(first_.count("shared.test"), 10);
}

TEST_F(ResolverTest, AHugeTtlEndsAtTheLimit) {
  first_.SetA("old.test", "192.0.2.1", 4294967295u);
  Start(Options());
  AskIpv4("old.test");
  clock_.Advance((kMaxTtlSeconds - 1) * sys::kNanosPerSecond);
  EXPECT_TRUE(AskIpv4("old.test").from_cache);
  clock_.Advance(2 * sys::kNanosPerSecond);
  EXPECT_FALSE(AskIpv4("old.test").from_cache);
  EXPECT_EQ(first_.count("old.test", kTypeA), 2);
}

TEST_F(ResolverTest, AServerThatFailsOrRefusesHandsOnAtOnce) {
  for (const uint16_t rcode : {kServfail, kRefused}) {
    const std::string name = absl::StrCat("rcode", rcode, ".test");
    first_.Set(name, kTypeA, {.rcode = rcode});
    second_.SetA(name, "192.0.2.2");
    Start(BothServers());
    const sys::MonotonicNanos before = testing::Now();
    EXPECT_THAT(Texts(AskIpv4(name)), ElementsAre("192.0.2.2"));
    // The first server's time is over two seconds.
    EXPECT_LT(testing::Now() - before, 2 * sys::kNanosPerSecond);
  }
}

TEST_F(ResolverTest, ASilentServerIsPassedBySoon) {
  first_.SetDefault({.silent = true});
  second_.SetA("a.test", "192.0.2.2");
  Start(BothServers());
  const sys::MonotonicNanos before = testing::Now();
  EXPECT_THAT(Texts(Ask("a.test")), ElementsAre("192.0.2.2"));
  EXPECT_LT(testing::Now() - before, 3 * sys::kNanosPerSecond);
}

// It is silent for its first try, but answers before the second server does.
TEST_F(ResolverTest, ALateAnswerStillCounts) {
  first_.Set("a.test", kTypeA, {.answers = {A("a.test", "192.0.2.1")}, .held = true});
  second_.SetDefault({.silent = true});
  ResolverOptions options = BothServers();
  options.timeout_nanos = 10 * sys::kNanosPerSecond;
  Start(std::move(options));
  Results results;
  resolver_->Resolve({"a.test", FamilyPreference::kIpv4Only}, results.Callback());
  ASSERT_TRUE(second_.WaitForQueries("a.test", kTypeA, 1));
  first_.Release("a.test", kTypeA);
  const std::vector<Result> all = results.WaitFor(1);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(Texts(all[0]), ElementsAre("192.0.2.1"));
}

TEST_F(ResolverTest, ADatagramThatIsLostIsSentAgain) {
  first_.Set("a.test", kTypeA, {.answers = {A("a.test", "192.0.2.1")}, .held = true});
  ResolverOptions options = Options();
  options.timeout_nanos = 4 * sys::kNanosPerSecond;  // three tries: after 0.6 and 1.7 s
  Start(std::move(options));
  Results results;
  resolver_->Resolve({"a.test", FamilyPreference::kIpv4Only}, results.Callback());
  ASSERT_TRUE(first_.WaitForQueries("a.test", kTypeA, 2));
  first_.Release("a.test", kTypeA);
  ASSERT_THAT(results.WaitFor(1), SizeIs(1));
  EXPECT_THAT(Texts(results.WaitFor(1)[0]), ElementsAre("192.0.2.1"));
}

TEST_F(ResolverTest, NxDomainIsFinalAndRemembered) {
  first_.Set("no.test", kTypeA, {.rcode = kNxDomain, .authorities = {Soa("test", 3600, 20)}});
  second_.SetA("no.test", "192.0.2.66");
  Start(BothServers());
  for (int i = 0; i < 20; ++i) {
    const Result result = AskIpv4("no.test");
    EXPECT_EQ(result.outcome, Outcome::kNotFound);
    EXPECT_EQ(result.status.code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(result.from_cache, i != 0);
  }
  EXPECT_EQ(first_.count("no.test"), 1);
  EXPECT_EQ(second_.count("no.test"), 0);
  // Once the name appears, it works when the negative answer is over.
  first_.SetA("no.test", "192.0.2.1");
  clock_.Advance(20 * sys::kNanosPerSecond);
  EXPECT_THAT(Texts(AskIpv4("no.test")), ElementsAre("192.0.2.1"));
}

TEST_F(ResolverTest, NoDataOfOneFamilyLeavesTheOther) {
  first_.SetA("four.test", "192.0.2.1");
  first_.SetAaaa("six.test", "2001:db8::1");
  // Some name servers even say that the name does not exist when they are asked for AAAA (RFC 4074).
  first_.Set("odd.test", kTypeA, {.answers = {A("odd.test", "192.0.2.3")}});
  Start(Options());
  EXPECT_THAT(Texts(Ask("four.test", FamilyPreference::kPreferIpv6)), ElementsAre("192.0.2.1"));
  EXPECT_THAT(Texts(Ask("six.test")), ElementsAre("2001:db8::1"));
  EXPECT_THAT(Texts(Ask("odd.test")), ElementsAre("192.0.2.3"));
  EXPECT_EQ(Ask("four.test", FamilyPreference::kIpv6Only).outcome, Outcome::kNoData);
}

TEST_F(ResolverTest, FailuresAreToldApart) {
  first_.Set("servfail.test", kTypeA, {.rcode = kServfail});
  first_.Set("refused.test", kTypeA, {.rcode = kRefused});
  first_.Set("malformed.test", kTypeA, {.answers = {A("malformed.test", "192.0.2.66")}, .malformed = true});
  first_.Set("nodata.test", kTypeA, {});
  first_.Set("silent.test", kTypeA, {.silent = true});
  ResolverOptions options = Options();
  options.timeout_nanos = 300 * sys::kNanosPerMilli;
  Start(std::move(options));
  for (const auto& [name, outcome] : {std::pair<const char*, Outcome>{"servfail.test", Outcome::kServerFailure},
                                      {"refused.test", Outcome::kRefused},
                                      {"malformed.test", Outcome::kMalformed},
                                      {"nodata.test", Outcome::kNoData},
                                      {"silent.test", Outcome::kTimeout},
                                      {"missing.test", Outcome::kNotFound}}) {
    const Result result = AskIpv4(name);
    EXPECT_EQ(result.outcome, outcome) << name << ": " << OutcomeName(result.outcome);
    EXPECT_THAT(std::string(result.status.message()), HasSubstr(name));
    EXPECT_THAT(result.addresses, IsEmpty());
    // Remembered, failures for a moment only.
    EXPECT_TRUE(AskIpv4(name).from_cache) << name;
    clock_.Advance(3 * sys::kNanosPerSecond);
    const bool answered = outcome == Outcome::kNoData || outcome == Outcome::kNotFound;
    EXPECT_EQ(resolver_->TryCache({name, FamilyPreference::kIpv4Only}).has_value(), answered) << name;
  }
}

TEST_F(ResolverTest, AServerThatIsNotThereFailsFast) {
  ResolverOptions options = Options();
  {
    MockDnsServer gone;
    options.name_servers = {{gone.address()}};
  }
  Start(std::move(options));
  const sys::MonotonicNanos before = testing::Now();
  EXPECT_EQ(Ask("a.test").outcome, Outcome::kServerFailure);
  EXPECT_LT(testing::Now() - before, 2 * sys::kNanosPerSecond);
}

TEST_F(ResolverTest, OneFamilyWaitsShortlyForTheOther) {
  first_.Set("slow6.test", kTypeA, {.answers = {A("slow6.test", "192.0.2.1")}});
  first_.Set("slow6.test", kTypeAaaa, {.answers = {Aaaa("slow6.test", "2001:db8::1")}, .held = true});
  Start(Options());
  const sys::MonotonicNanos before = testing::Now();
  EXPECT_THAT(Texts(Ask("slow6.test")), ElementsAre("192.0.2.1"));
  EXPECT_GE(testing::Now() - before, kResolutionDelayNanos);
  EXPECT_EQ(resolver_->TryCache({"slow6.test"}), std::nullopt);
  // The second client does not pay for it again: the query has been out for longer than the delay.
  EXPECT_THAT(Texts(Ask("slow6.test")), ElementsAre("192.0.2.1"));
  EXPECT_EQ(first_.count("slow6.test"), 2);
  // The late answer is of use to those who come later.
  first_.Release("slow6.test", kTypeAaaa);
  std::optional<Result> known;
  const sys::MonotonicNanos deadline = InMillis(10'000);
  while (!(known = resolver_->TryCache({"slow6.test"})) && testing::Now() < deadline) std::this_thread::yield();
  ASSERT_TRUE(known.has_value());
  EXPECT_THAT(Texts(*known), ElementsAre("192.0.2.1", "2001:db8::1"));
}

TEST_F(ResolverTest, ANegativeFamilyDoesNotEndTheWaitForTheOther) {
  first_.Set("slow4.test", kTypeA, {.answers = {A("slow4.test", "192.0.2.1")}, .held = true});
  first_.Set("slow4.test", kTypeAaaa, {});
  Start(Options());
  Results results;
  resolver_->Resolve({"slow4.test"}, results.Callback());
  ASSERT_TRUE(first_.WaitForQueries("slow4.test", kTypeA, 1));
  // Longer than the resolution delay: another look-up needs that long.
  first_.Set("slow6.test", kTypeA, {.answers = {A("slow6.test", "192.0.2.9")}});
  first_.Set("slow6.test", kTypeAaaa, {.held = true});
  Ask("slow6.test");
  first_.Release("slow4.test", kTypeA);
  ASSERT_THAT(results.WaitFor(1), SizeIs(1));
  EXPECT_THAT(Texts(results.WaitFor(1)[0]), ElementsAre("192.0.2.1"));
}

TEST_F(ResolverTest, NamesOfAnAddress) {
  first_.Set("1.2.0.192.in-addr.arpa", kTypePtr, {.answers = {testing::Ptr("1.2.0.192.in-addr.arpa", "Client.Test")}});
  Start(Options());
  const auto ask = [&](const char* ip) {
    return resolver_->ResolveNamesBlocking(*sys::SocketAddress::ParseIp(ip, 0), InMillis(20'000));
  };
  const NamesResult found = ask("192.0.2.1");
  EXPECT_TRUE(found.ok()) << found.status;
  EXPECT_THAT(found.names, ElementsAre("client.test"));
  EXPECT_EQ(ask("192.0.2.2").outcome, Outcome::kNotFound);
  EXPECT_EQ(resolver_->ResolveNamesBlocking(sys::SocketAddress(), InMillis(20'000)).outcome, Outcome::kInvalidName);
}

// A query of a type that is not looked up here, from a client that chose the id.
std::string ClientQuery(const std::string& name, uint16_t type) {
  testing::TestMessage query;
  query.id = 0x1234;
  query.flags = 0x0100;
  query.question = name;
  query.type = type;
  return testing::BuildMessage(query);
}

class ForwardTest : public ResolverTest {
 protected:
  static constexpr uint16_t kTypeTxt = 16;

  std::pair<Outcome, std::string> Forward(const std::string& message) {
    sys::Mutex mutex;
    sys::CondVar done;
    std::optional<std::pair<Outcome, std::string>> result;
    resolver_->Forward(message, [&](Outcome outcome, std::string answer) {
      sys::MutexLock lock(mutex);
      result.emplace(outcome, std::move(answer));
      done.NotifyAll();
    });
    sys::MutexLock lock(mutex);
    while (!result) done.Wait(mutex);
    return *result;
  }
};

TEST_F(ForwardTest, TheAnswerComesBackUnderTheClientsId) {
  first_.Set("a.test", kTypeTxt, {.answers = {{"a.test", kTypeTxt, 60, "\5hello"}}, .noise = {Noise::kWrongId}});
  Start(Options());
  const auto [outcome, answer] = Forward(ClientQuery("a.test", kTypeTxt));
  EXPECT_EQ(outcome, Outcome::kOk);
  EXPECT_EQ(answer.substr(0, 2), "\x12\x34");
  EXPECT_THAT(answer, HasSubstr("hello"));
  // On the way it was another one: the client cannot choose what an answer is recognised by.
  Forward(ClientQuery("a.test", kTypeTxt));
  EXPECT_NE(first_.seen()[0].id, first_.seen()[1].id);
}

TEST_F(ForwardTest, LongAnswersComeWhole) {
  Reply reply;
  for (int i = 1; i <= 60; ++i) reply.answers.push_back(A("big.test", absl::StrCat("198.51.100.", i)));
  reply.truncated = true;
  first_.Set("big.test", kTypeA, reply);
  Start(Options());
  const auto [outcome, answer] = Forward(ClientQuery("big.test", kTypeA));
  EXPECT_EQ(outcome, Outcome::kOk);
  EXPECT_GT(answer.size(), 60u * 16u);
}

TEST_F(ForwardTest, AnotherServerIsAskedBeforeAFailureIsPassedOn) {
  first_.Set("a.test", kTypeTxt, {.rcode = kServfail});
  second_.Set("a.test", kTypeTxt, {.answers = {{"a.test", kTypeTxt, 60, "\5hello"}}});
  first_.Set("b.test", kTypeTxt, {.rcode = kRefused});
  second_.Set("b.test", kTypeTxt, {.rcode = kRefused});
  Start(BothServers());
  EXPECT_THAT(Forward(ClientQuery("a.test", kTypeTxt)).second, HasSubstr("hello"));
  const auto [outcome, answer] = Forward(ClientQuery("b.test", kTypeTxt));
  EXPECT_EQ(outcome, Outcome::kOk);
  ASSERT_GE(answer.size(), 12u);
  EXPECT_EQ(answer[3] & 15, kRefused);
  // NXDOMAIN is an answer.
  EXPECT_EQ(Forward(ClientQuery("no.test", kTypeTxt)).second[3] & 15, kNxDomain);
  EXPECT_EQ(second_.count("no.test"), 0);
}

TEST_F(ForwardTest, OnlyQueriesAreForwarded) {
  Start(Options());
  const std::string query = ClientQuery("a.test", kTypeTxt);
  for (size_t size = 0; size < query.size(); ++size) {
    EXPECT_EQ(Forward(query.substr(0, size)).first, Outcome::kInvalidName) << size;
  }
  std::string answer = query;
  answer[2] = '\x81';
  EXPECT_EQ(Forward(answer).first, Outcome::kInvalidName);
  std::string update = query;
  update[2] = '\x28';
  EXPECT_EQ(Forward(update).first, Outcome::kInvalidName);
  std::string two_questions = query;
  two_questions[5] = 2;
  EXPECT_EQ(Forward(two_questions).first, Outcome::kInvalidName);
  EXPECT_THAT(first_.seen(), SizeIs(0));
}

TEST_F(ForwardTest, SilenceAndTheEndAreTold) {
  first_.SetDefault({.silent = true});
  ResolverOptions options = Options();
  options.timeout_nanos = 200 * sys::kNanosPerMilli;
  Start(std::move(options));
  EXPECT_EQ(Forward(ClientQuery("a.test", kTypeTxt)).first, Outcome::kTimeout);
  Outcome end = Outcome::kOk;
  resolver_->Forward(ClientQuery("b.test", kTypeTxt), [&](Outcome outcome, std::string) { end = outcome; });
  resolver_.reset();
  EXPECT_EQ(end, Outcome::kCancelled);
}

}  // namespace
}  // namespace sluice::dns
