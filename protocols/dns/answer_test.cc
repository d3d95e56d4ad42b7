#include "protocols/dns/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protocols/dns/address_order.h"
#include "protocols/dns/testing/message_builder.h"

namespace sluice::dns {
namespace {

using testing::A;
using testing::Aaaa;
using testing::BuildMessage;
using testing::Cname;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Ptr;
using ::testing::SizeIs;
using testing::Soa;
using testing::TestMessage;
using testing::WireNameOf;

Answer Parse(const std::string& bytes, absl::string_view name, RecordType type = RecordType::kA) {
  return ParseAnswer(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), name, type);
}

Answer Parse(const TestMessage& message, RecordType type = RecordType::kA) {
  return Parse(BuildMessage(message), message.question, type);
}

std::vector<std::string> Texts(const Answer& answer) {
  std::vector<std::string> texts;
  for (const sys::SocketAddress& address : answer.addresses) texts.push_back(address.ToString());
  return texts;
}

TestMessage Question(const std::string& name, uint16_t type = testing::kTypeA) {
  TestMessage message;
  message.question = name;
  message.type = type;
  return message;
}

TEST(AnswerTest, TakesAddressesAndTheLeastTtl) {
  TestMessage message = Question("a.test");
  message.answers = {A("a.test", "192.0.2.1", 300), A("A.TEST", "192.0.2.2", 200)};
  const Answer answer = Parse(message);
  EXPECT_EQ(answer.outcome, Outcome::kOk);
  EXPECT_THAT(Texts(answer), ElementsAre("192.0.2.1:0", "192.0.2.2:0"));
  EXPECT_EQ(answer.ttl_seconds, 200);
}

TEST(AnswerTest, FollowsAliasesInAnyOrder) {
  TestMessage message = Question("www.test", testing::kTypeAaaa);
  message.answers = {Aaaa("host.test", "2001:db8::1", 300), Cname("cdn.test", "host.test", 20),
                     Cname("www.test", "cdn.test", 100)};
  const Answer answer = Parse(message, RecordType::kAaaa);
  EXPECT_THAT(Texts(answer), ElementsAre("[2001:db8::1]:0"));
  EXPECT_EQ(answer.ttl_seconds, 20);
}

TEST(AnswerTest, RecordsOfOtherNamesAndTypesDoNotCount) {
  TestMessage message = Question("a.test");
  message.answers = {A("evil.test", "192.0.2.66"), Aaaa("a.test", "2001:db8::66"), A("b.a.test", "192.0.2.67")};
  const Answer answer = Parse(message);
  EXPECT_EQ(answer.outcome, Outcome::kNoData);
  EXPECT_THAT(answer.addresses, IsEmpty());
}

TEST(AnswerTest, AliasLoopsAndEndlessChainsAreMalformed) {
  TestMessage loop = Question("a.test");
  loop.answers = {Cname("a.test", "b.test"), Cname("b.test", "a.test")};
  EXPECT_EQ(Parse(loop).outcome, Outcome::kMalformed);
  TestMessage chain = Question("n0.test");
  for (int i = 0; i < 30; ++i) {
    chain.answers.push_back(Cname(absl::StrCat("n", i, ".test"), absl::StrCat("n", i + 1, ".test")));
  }
  chain.answers.push_back(A("n30.test", "192.0.2.1"));
  EXPECT_EQ(Parse(chain).outcome, Outcome::kMalformed);
}

TEST(AnswerTest, AnAliasWithoutAddressIsNoData) {
  TestMessage message = Question("a.test");
  message.answers = {Cname("a.test", "b.test")};
  EXPECT_EQ(Parse(message).outcome, Outcome::kNoData);
}

TEST(AnswerTest, NegativeAnswersUseTheSoaWithinLimits) {
  struct Case {
    uint32_t ttl, minimum;
    int64_t expected;
  };
  for (const Case& c : {Case{3600, 10, 10}, Case{7, 3600, 7}, Case{3600, 3600, 30}, Case{0, 3600, 5},
                        Case{4294967295u, 4294967295u, 30}}) {
    TestMessage message = Question("a.test");
    message.authorities = {Soa("test", c.ttl, c.minimum)};
    EXPECT_EQ(Parse(message).ttl_seconds, c.expected);
    EXPECT_EQ(Parse(message).outcome, Outcome::kNoData);
    message.flags |= 3;
    EXPECT_EQ(Parse(message).outcome, Outcome::kNotFound);
    EXPECT_EQ(Parse(message).ttl_seconds, c.expected);
  }
  EXPECT_EQ(Parse(Question("a.test")).ttl_seconds, kMinNegativeTtlSeconds);
}

TEST(AnswerTest, TtlsAreBoundedAndZeroStaysZero) {
  for (const auto& [ttl, expected] : {std::pair<uint32_t, int64_t>{0, 0},
                                      {1, 1},
                                      {43200, 43200},
                                      {43201, 43200},
                                      {0x80000000u, 43200},
                                      {4294967295u, 43200}}) {
    TestMessage message = Question("a.test");
    message.answers = {A("a.test", "192.0.2.1", ttl)};
    EXPECT_EQ(Parse(message).ttl_seconds, expected) << ttl;
  }
}

TEST(AnswerTest, ResponseCodes) {
  for (const auto& [rcode, outcome] : {std::pair<int, Outcome>{1, Outcome::kServerFailure},
                                       {2, Outcome::kServerFailure},
                                       {3, Outcome::kNotFound},
                                       {4, Outcome::kRefused},
                                       {5, Outcome::kRefused},
                                       {9, Outcome::kServerFailure}}) {
    TestMessage message = Question("a.test");
    message.flags |= static_cast<uint16_t>(rcode);
    message.answers = {A("a.test", "192.0.2.66")};  // does not count
    EXPECT_EQ(Parse(message).outcome, outcome) << rcode;
    EXPECT_THAT(Parse(message).addresses, IsEmpty()) << rcode;
  }
}

TEST(AnswerTest, OnlyAnAnswerToTheQuestionCounts) {
  TestMessage message = Question("a.test");
  message.answers = {A("a.test", "192.0.2.1")};
  EXPECT_EQ(Parse(BuildMessage(message), "b.test").outcome, Outcome::kMalformed);
  EXPECT_EQ(Parse(BuildMessage(message), "a.test", RecordType::kAaaa).outcome, Outcome::kMalformed);
  message.flags = 0x0180;  // a query
  EXPECT_EQ(Parse(message).outcome, Outcome::kMalformed);
  message.flags = 0x8380;  // truncated
  EXPECT_EQ(Parse(message).outcome, Outcome::kMalformed);
  message.flags = 0xa180;  // another opcode
  EXPECT_EQ(Parse(message).outcome, Outcome::kMalformed);
}

TEST(AnswerTest, AddressesThatReachThisMachineOrHideTheirFamilyAreDropped) {
  TestMessage message = Question("a.test");
  message.answers = {A("a.test", "0.0.0.0")};
  EXPECT_EQ(Parse(message).outcome, Outcome::kNoData);
  TestMessage six = Question("a.test", testing::kTypeAaaa);
  six.answers = {Aaaa("a.test", "::"), Aaaa("a.test", "::ffff:127.0.0.1")};
  EXPECT_EQ(Parse(six, RecordType::kAaaa).outcome, Outcome::kNoData);
}

TEST(AnswerTest, ListsAreBounded) {
  TestMessage message = Question("a.test");
  for (int i = 1; i < 250; ++i) message.answers.push_back(A("a.test", absl::StrCat("192.0.2.", i)));
  EXPECT_THAT(Parse(message).addresses, SizeIs(kMaxAddresses));
}

TEST(AnswerTest, EveryTruncationOfAMessageIsMalformed) {
  TestMessage message = Question("a.test");
  message.answers = {Cname("a.test", "b.test"), A("b.test", "192.0.2.1")};
  const std::string bytes = BuildMessage(message);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(Parse(bytes.substr(0, size), "a.test").outcome, Outcome::kMalformed) << size;
  }
  EXPECT_EQ(Parse(bytes, "a.test").outcome, Outcome::kOk);
}

TEST(AnswerTest, WrongDataLengthsAreMalformed) {
  TestMessage message = Question("a.test");
  message.answers = {A("a.test", "192.0.2.1")};
  message.answers[0].data += "x";
  EXPECT_EQ(Parse(message).outcome, Outcome::kMalformed);
  message.answers[0].data = "abc";
  EXPECT_EQ(Parse(message).outcome, Outcome::kMalformed);
}

// Header and question of "a.test" (the name begins at 12), and one A record whose owner is `owner`.
std::string WithOwner(const std::string& owner) {
  TestMessage message = Question("a.test");
  std::string bytes = BuildMessage(message);
  bytes[7] = 1;  // one answer
  return bytes + owner + std::string("\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1", 14);
}

TEST(AnswerTest, CompressedNames) {
  EXPECT_EQ(Parse(WithOwner(std::string("\xc0\x0c", 2)), "a.test").outcome, Outcome::kOk);
  EXPECT_EQ(Parse(WithOwner(std::string("\1a\xc0\x0e", 4)), "a.test").outcome, Outcome::kOk);
  // Into itself, forward, and behind the end.
  EXPECT_EQ(Parse(WithOwner(std::string("\xc0\x18", 2)), "a.test").outcome, Outcome::kMalformed);
  EXPECT_EQ(Parse(WithOwner(std::string("\1a\xc0\x18", 4)), "a.test").outcome, Outcome::kMalformed);
  EXPECT_EQ(Parse(WithOwner(std::string("\xff\xff", 2)), "a.test").outcome, Outcome::kMalformed);
  // Label types that do not exist.
  EXPECT_EQ(Parse(WithOwner(std::string("\x40"
                                        "a\0",
                                        3)),
                  "a.test")
                .outcome,
            Outcome::kMalformed);
}

TEST(AnswerTest, ADotInsideALabelIsNotASeparator) {
  EXPECT_EQ(Parse(WithOwner(std::string("\6a.test\0", 8)), "a.test").outcome, Outcome::kNoData);
}

TEST(AnswerTest, NamesOfAnAddress) {
  TestMessage message = Question("1.2.0.192.in-addr.arpa", testing::kTypePtr);
  message.answers = {Ptr(message.question, "Host.Test", 90), Ptr(message.question, "bad name"),
                     Ptr(message.question, "127.0.0.1")};
  const Answer answer = Parse(message, RecordType::kPtr);
  EXPECT_EQ(answer.outcome, Outcome::kOk);
  EXPECT_THAT(answer.names, ElementsAre("host.test"));
  EXPECT_EQ(answer.ttl_seconds, 60);
  message.answers.erase(message.answers.begin());
  EXPECT_EQ(Parse(message, RecordType::kPtr).outcome, Outcome::kNoData);
}

}  // namespace
}  // namespace sluice::dns
