#include "protocols/socks/reply.h"

#include <cerrno>
#include <string>

#include "gtest/gtest.h"

namespace sluice::socks {
namespace {

std::string Bytes(std::initializer_list<int> values) {
  std::string result;
  for (int value : values) result += static_cast<char>(value);
  return result;
}

TEST(Reply, Version5) {
  EXPECT_EQ(EncodeReply(5, ReplyCode::kSucceeded, sys::SocketAddress::Ipv4(0xc0a80102, 0x1234)),
            Bytes({5, 0, 0, 1, 192, 168, 1, 2, 0x12, 0x34}));
  EXPECT_EQ(EncodeReply(5, ReplyCode::kSucceeded, sys::SocketAddress::Loopback(sys::AddressFamily::kIpv6, 80)),
            Bytes({5, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 80}));
  EXPECT_EQ(EncodeReply(5, ReplyCode::kConnectionRefused), Bytes({5, 5, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(Reply, Version4) {
  EXPECT_EQ(EncodeReply(4, ReplyCode::kSucceeded, sys::SocketAddress::Ipv4(0x7f000001, 443)),
            Bytes({0, 90, 1, 187, 127, 0, 0, 1}));
  EXPECT_EQ(EncodeReply(4, ReplyCode::kHostUnreachable), Bytes({0, 91, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(EncodeReply(4, ReplyCode::kSucceeded, sys::SocketAddress::Loopback(sys::AddressFamily::kIpv6, 80)),
            Bytes({0, 90, 0, 80, 0, 0, 0, 0}));
}

TEST(Reply, NoIpAddressIsZero) {
  EXPECT_EQ(EncodeReply(5, ReplyCode::kSucceeded, *sys::SocketAddress::ParseUnix("/tmp/x")),
            Bytes({5, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(Reply, CodeOfAnErrno) {
  EXPECT_EQ(ReplyForErrno(ENETUNREACH), ReplyCode::kNetworkUnreachable);
  EXPECT_EQ(ReplyForErrno(EHOSTUNREACH), ReplyCode::kHostUnreachable);
  EXPECT_EQ(ReplyForErrno(ECONNREFUSED), ReplyCode::kConnectionRefused);
  EXPECT_EQ(ReplyForErrno(ETIMEDOUT), ReplyCode::kTtlExpired);
  EXPECT_EQ(ReplyForErrno(EACCES), ReplyCode::kNotAllowed);
  EXPECT_EQ(ReplyForErrno(EPERM), ReplyCode::kNotAllowed);
  EXPECT_EQ(ReplyForErrno(EAFNOSUPPORT), ReplyCode::kAddressTypeNotSupported);
  EXPECT_EQ(ReplyForErrno(EMFILE), ReplyCode::kGeneralFailure);
  EXPECT_EQ(ReplyForErrno(EADDRNOTAVAIL), ReplyCode::kGeneralFailure);
  EXPECT_EQ(ReplyForErrno(0), ReplyCode::kGeneralFailure);
}

}  // namespace
}  // namespace sluice::socks
