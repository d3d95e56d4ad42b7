#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "relay/datagram/datagram_stats.h"
#include "relay/datagram/receive_batch.h"
#include "relay/datagram/send_batch.h"
#include "relay/datagram/udp_socket.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::relay {
namespace {

using sys::AddressFamily;
using sys::SocketAddress;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kLongest = 65507;

class BatchTest : public ::testing::TestWithParam<AddressFamily> {
 protected:
  void SetUp() override {
    for (sys::UniqueFd* fd : {&from_, &to_, &other_}) {
      auto opened = OpenUdpSocket(SocketAddress::Loopback(GetParam(), 0));
      ASSERT_TRUE(opened.ok());
      *fd = *std::move(opened);
    }
    to_address_ = SocketAddress::OfSocket(to_.get());
    other_address_ = SocketAddress::OfSocket(other_.get());
  }

  // Everything that `fd` gets within a moment after `wanted` datagrams were there.
  std::vector<std::string> Take(int fd, size_t wanted) {
    std::vector<std::string> result;
    while (result.size() < wanted) {
      pollfd ready{fd, POLLIN, 0};
      if (poll(&ready, 1, 5000) != 1) break;
      if (receive_.Receive(fd) < 0) break;
      receive_.ForEach([&](absl::string_view datagram, const SocketAddress& from) {
        EXPECT_EQ(from, SocketAddress::OfSocket(from_.get()));
        result.emplace_back(datagram);
      });
    }
    EXPECT_EQ(receive_.Receive(fd), 0) << "nothing is sent twice";
    return result;
  }

  DatagramStats stats_;
  ReceiveBatch receive_;
  SendBatch send_{&stats_};
  sys::UniqueFd from_, to_, other_;
  SocketAddress to_address_, other_address_;
};

TEST_P(BatchTest, OneDatagramWithAHeader) {
  send_.Add(from_.get(), to_address_, "head", "payload");
  EXPECT_FALSE(send_.empty());
  send_.Flush();
  EXPECT_TRUE(send_.empty());
  EXPECT_THAT(Take(to_.get(), 1), ElementsAre("headpayload"));
  EXPECT_EQ(stats_.sent.value(), 1);
}

TEST_P(BatchTest, SizesAndOrderAreKept) {
  std::vector<std::string> sent;
  for (size_t size : {100u, 100u, 100u, 40u, 100u, 0u, 0u, 100u, 200u, 200u, 1u, 1u, 1u, 1u}) {
    sent.push_back(std::string(size, static_cast<char>('a' + sent.size())));
  }
  for (const std::string& payload : sent) send_.Add(from_.get(), to_address_, "", payload);
  send_.Flush();
  EXPECT_EQ(Take(to_.get(), sent.size()), sent);
  EXPECT_EQ(stats_.sent.value(), static_cast<int64_t>(sent.size()));
  EXPECT_GT(stats_.segmented.value(), 0);
}

TEST_P(BatchTest, MoreThanOneBatchHolds) {
  std::vector<std::string> sent;
  for (int i = 0; i < 600; ++i) sent.push_back(std::to_string(100000 + i));
  for (const std::string& payload : sent) send_.Add(from_.get(), to_address_, "", payload);
  send_.Flush();
  EXPECT_EQ(Take(to_.get(), sent.size()), sent);
}

TEST_P(BatchTest, ReceiversAreNotMixed) {
  for (int i = 0; i < 5; ++i) {
    send_.Add(from_.get(), to_address_, "", "one");
    send_.Add(from_.get(), to_address_, "", "two");
    send_.Add(from_.get(), other_address_, "", "six");
  }
  send_.Flush();
  EXPECT_EQ(Take(to_.get(), 10).size(), 10u);
  EXPECT_THAT(Take(other_.get(), 5), ElementsAre("six", "six", "six", "six", "six"));
}

TEST_P(BatchTest, LongestDatagram) {
  const std::string longest(kLongest, 'x');
  send_.Add(from_.get(), to_address_, "", longest);
  send_.Add(from_.get(), to_address_, "", longest);
  send_.Flush();
  EXPECT_THAT(Take(to_.get(), 2), ElementsAre(longest, longest));
}

TEST_P(BatchTest, WhatIsTooLongIsDroppedAndTheNextGoesOn) {
  const std::string too_long(66000, 'x');
  send_.Add(from_.get(), to_address_, "", too_long);
  send_.Add(from_.get(), to_address_, "", "good");
  send_.Flush();
  EXPECT_THAT(Take(to_.get(), 1), ElementsAre("good"));
  EXPECT_EQ(stats_.dropped_unsendable.value(), 1);
}

TEST_P(BatchTest, ErrorsBroughtByIcmpAreNobodyElses) {
  auto connected = OpenUdpSocket(SocketAddress::Loopback(GetParam(), 0));
  ASSERT_TRUE(connected.ok());
  const int fd = connected->get();
  sockaddr_storage storage;
  const socklen_t length = to_address_.ToSockaddr(storage);
  ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&storage), length), 0);
  to_.reset();
  // The first one brings "port unreachable", which the next call on the socket is told.
  send_.Add(fd, {}, "", "lost");
  send_.Flush();
  auto reopened = OpenUdpSocket(to_address_);
  ASSERT_TRUE(reopened.ok());
  send_.Add(fd, {}, "", "first");
  send_.Add(fd, {}, "", "again");
  send_.Flush();
  std::vector<std::string> got;
  while (got.size() < 2) {
    pollfd ready{reopened->get(), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 5000), 1);
    ASSERT_GT(receive_.Receive(reopened->get()), 0);
    receive_.ForEach([&](absl::string_view datagram, const SocketAddress&) { got.emplace_back(datagram); });
  }
  EXPECT_THAT(got, ElementsAre("first", "again"));
}

TEST_P(BatchTest, AnswersComeFromTheAddressThatWasSentTo) {
  auto wildcard = OpenUdpSocket(SocketAddress::Any(GetParam(), 0));
  ASSERT_TRUE(wildcard.ok());
  ReceiveBatch::EnableTarget(wildcard->get(), GetParam());
  SocketAddress target =
      GetParam() == AddressFamily::kIpv4 ? SocketAddress::Ipv4(0x7f000007, 0) : SocketAddress::Loopback(GetParam(), 0);
  target.set_port(SocketAddress::OfSocket(wildcard->get()).port());
  for (int i = 0; i < 3; ++i) send_.Add(from_.get(), target, "", "question");
  send_.Flush();
  pollfd ready{wildcard->get(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 5000), 1);
  ASSERT_GT(receive_.Receive(wildcard->get()), 0);
  receive_.ForEach([&](absl::string_view, const SocketAddress& from, const SocketAddress& to) {
    EXPECT_EQ(to.IpText(), target.IpText());
    send_.Add(wildcard->get(), from, "", "answer", to);
  });
  send_.Flush();
  ready.fd = from_.get();
  ASSERT_EQ(poll(&ready, 1, 5000), 1);
  ASSERT_GT(receive_.Receive(from_.get()), 0);
  receive_.ForEach([&](absl::string_view datagram, const SocketAddress& from) {
    EXPECT_EQ(datagram, "answer");
    EXPECT_EQ(from, target);
  });
}

TEST_P(BatchTest, NothingIsThere) {
  EXPECT_EQ(receive_.Receive(to_.get()), 0);
  int calls = 0;
  receive_.ForEach([&](absl::string_view, const SocketAddress&) { ++calls; });
  EXPECT_EQ(calls, 0);
  send_.Flush();
  EXPECT_EQ(stats_.sent.value(), 0);
}

INSTANTIATE_TEST_SUITE_P(Families, BatchTest, ::testing::Values(AddressFamily::kIpv4, AddressFamily::kIpv6));

}  // namespace
}  // namespace sluice::relay
