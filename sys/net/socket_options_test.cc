#include "sys/net/socket_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "absl/strings/str_cat.h"
#include "sys/base/unique_fd.h"

namespace sluice::sys {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

UniqueFd NewSocket(int domain, int type) { return UniqueFd(socket(domain, type | SOCK_CLOEXEC, 0)); }

int Get(const UniqueFd& fd, int level, int number) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(getsockopt(fd.get(), level, number, &value, &length), 0);
  return value;
}

std::string ErrorOf(absl::string_view text) { return std::string(ParseSocketOptionList(text).status().message()); }

TEST(ParseSocketOptionListTest, NamesWithAndWithoutValues) {
  absl::StatusOr<SocketOptionList> list =
      ParseSocketOptionList("TCP_NODELAY=0,SO_KEEPALIVE,TCP_MAXSEG,TCP_FASTOPEN=16");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(list->options, ElementsAre(SocketOptionValue{SocketOption::kTcpNodelay, 0},
                                         SocketOptionValue{SocketOption::kSoKeepalive, std::nullopt},
                                         SocketOptionValue{SocketOption::kTcpMaxseg, std::nullopt},
                                         SocketOptionValue{SocketOption::kTcpFastopen, 16}));
  EXPECT_TRUE(list->ignored.empty());
}

TEST(ParseSocketOptionListTest, EveryNameIsReadBack) {
  for (int i = 0; i <= static_cast<int>(SocketOption::kIpTransparent); ++i) {
    const auto option = static_cast<SocketOption>(i);
    absl::StatusOr<SocketOptionList> list = ParseSocketOptionList(SocketOptionName(option));
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_THAT(list->options, ElementsAre(SocketOptionValue{option, std::nullopt}));
  }
}

TEST(ParseSocketOptionListTest, WhatLinuxDoesNotHaveIsAWarningAndTheRestCounts) {
  absl::StatusOr<SocketOptionList> list =
      ParseSocketOptionList("SO_EXCLUSIVEADDRUSE,TCP_CORK,TCP_TIMESTAMPS=0,SO_PORT_SCALABILITY,SO_REUSE_UNICASTPORT");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->options.size(), 1u);
  EXPECT_THAT(list->ignored,
              ElementsAre(HasSubstr("SO_EXCLUSIVEADDRUSE: Windows"), HasSubstr("TCP_TIMESTAMPS: Linux has no"),
                          HasSubstr("SO_PORT_SCALABILITY"), HasSubstr("SO_REUSE_UNICASTPORT")));
}

TEST(ParseSocketOptionListTest, ErrorsNameTheWordAndWhatIsKnown) {
  EXPECT_THAT(ErrorOf("TCP_NODELAY,TCP_NODELY"),
              HasSubstr("unknown socket option \"TCP_NODELY\"; known are TCP_NODELAY "));
  EXPECT_THAT(ErrorOf(""), HasSubstr("unknown socket option \"\""));
  EXPECT_THAT(ErrorOf("TCP_CORK,"), HasSubstr("unknown socket option \"\""));
  EXPECT_THAT(ErrorOf("tcp_cork"), HasSubstr("unknown socket option"));
  EXPECT_THAT(ErrorOf("TCP_CORK=2"), HasSubstr("TCP_CORK=2: expected 0 or 1"));
  EXPECT_THAT(ErrorOf("TCP_CORK="), HasSubstr("expected 0 or 1"));
  EXPECT_THAT(ErrorOf("TCP_MAXSEG=-1"), HasSubstr("expected a number from 0 on"));
  EXPECT_THAT(ErrorOf("TCP_MAXSEG=99999999999"), HasSubstr("expected a number from 0 on"));
}

TEST(ApplySocketOptionsTest, SetsEachInItsOrder) {
  UniqueFd fd = NewSocket(AF_INET, SOCK_STREAM);
  const SocketOptionValue options[] = {{SocketOption::kTcpNodelay, 0},
                                       {SocketOption::kSoKeepalive, std::nullopt},
                                       {SocketOption::kSoReuseport, 1},
                                       {SocketOption::kTcpMaxseg, 1000},
                                       {SocketOption::kTcpNodelay, 1}};
  ASSERT_TRUE(ApplySocketOptions(fd.get(), options).ok());
  EXPECT_EQ(Get(fd, IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(Get(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(Get(fd, SOL_SOCKET, SO_REUSEPORT), 1);
}

TEST(ApplySocketOptionsTest, NamesTheOptionThatFailed) {
  UniqueFd fd = NewSocket(AF_INET, SOCK_STREAM);
  const SocketOptionValue options[] = {{SocketOption::kTcpNodelay, 1}, {SocketOption::kTcpMaxseg, 5}};
  const absl::Status status = ApplySocketOptions(fd.get(), options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), "socket option TCP_MAXSEG=5: Invalid argument");
}

TEST(ApplySocketOptionsTest, OneListServesSocketsOfEveryFamily) {
  const SocketOptionValue options[] = {{SocketOption::kTcpNodelay, 1},  {SocketOption::kTcpMaxseg, std::nullopt},
                                       {SocketOption::kSoReuseport, 1}, {SocketOption::kSoKeepalive, 1},
                                       {SocketOption::kTcpCork, 0},     {SocketOption::kTcpQuickack, 1}};
  for (int domain : {AF_INET, AF_INET6, AF_UNIX}) {
    for (int type : {SOCK_STREAM, SOCK_DGRAM}) {
      UniqueFd fd = NewSocket(domain, type);
      ASSERT_TRUE(fd.valid());
      EXPECT_TRUE(ApplySocketOptions(fd.get(), options).ok()) << domain << " " << type;
    }
  }
}

TEST(SocketHelpersTest, SetWhatTheySay) {
  for (int domain : {AF_INET, AF_INET6}) {
    UniqueFd fd = NewSocket(domain, SOCK_STREAM);
    SetNoDelay(fd.get(), true);
    SetKeepAlive(fd.get(), true);
    SetOobInline(fd.get());
    SetBindAddressNoPort(fd.get());
    SetLingerReset(fd.get());
    EXPECT_EQ(Get(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(Get(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(Get(fd, SOL_SOCKET, SO_OOBINLINE), 1);
    EXPECT_EQ(Get(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT), 1);
    linger value = {};
    socklen_t length = sizeof value;
    ASSERT_EQ(getsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &value, &length), 0);
    EXPECT_EQ(value.l_onoff, 1);
    EXPECT_EQ(value.l_linger, 0);
    SetNoDelay(fd.get(), false);
    EXPECT_EQ(Get(fd, IPPROTO_TCP, TCP_NODELAY), 0);
  }
}

TEST(SocketHelpersTest, BindToDeviceNamesTheInterface) {
  UniqueFd fd = NewSocket(AF_INET, SOCK_STREAM);
  EXPECT_TRUE(BindToDevice(fd.get(), "lo").ok());
  const absl::Status missing = BindToDevice(fd.get(), "nosuchif0");
  EXPECT_THAT(std::string(missing.message()), HasSubstr("bind to network interface nosuchif0: "));
  EXPECT_FALSE(BindToDevice(fd.get(), "").ok());
  EXPECT_FALSE(BindToDevice(fd.get(), std::string(16, 'x')).ok());
}

TEST(SocketHelpersTest, PendingErrorIsReadOnce) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  UniqueFd taken = NewSocket(AF_INET, SOCK_STREAM);  // bound, never listening: a port that refuses
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(taken.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  // On loopback the RST arrives within connect() itself.
  const int result = connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int error = errno;
  ASSERT_EQ(result, -1);
  EXPECT_EQ(error == EINPROGRESS ? PendingSocketError(fd.get()) : error, ECONNREFUSED);
  EXPECT_EQ(PendingSocketError(fd.get()), 0);
  EXPECT_EQ(PendingSocketError(-1), EBADF);
}

}  // namespace
}  // namespace sluice::sys
