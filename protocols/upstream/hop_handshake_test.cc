// What is said to parents and what they may answer: SOCKS, CONNECT, PROXY headers.

#include "protocols/upstream/hop_handshake.h"

#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "protocols/upstream/connect_client.h"
#include "protocols/upstream/endpoint.h"
#include "protocols/upstream/proxy_header.h"
#include "protocols/upstream/socks_client.h"

namespace sluice::upstream {
namespace {

using State = HopHandshake::State;

sys::SocketAddress Address(absl::string_view ip, uint16_t port) { return *sys::SocketAddress::ParseIp(ip, port); }

Endpoint Named(std::string name, uint16_t port) { return {std::move(name), {}, port}; }
Endpoint Numbered(absl::string_view ip, uint16_t port) { return {"", Address(ip, port), port}; }

std::string Bytes(absl::string_view hex) { return absl::HexStringToBytes(hex); }

// All that is said to the parent while it says `answer`, in pieces; `left` is what was not the handshake's.
std::string Talk(HopHandshake& handshake, absl::string_view answer, size_t piece, std::string* left = nullptr) {
  std::string said = handshake.TakeOutput();
  while (handshake.state() == State::kReading && !answer.empty()) {
    answer.remove_prefix(handshake.Feed(answer.substr(0, piece)));
    said += handshake.TakeOutput();
  }
  if (left != nullptr) *left = std::string(answer);
  return said;
}

SocksAsk AskFor(Endpoint destination) {
  SocksAsk ask;
  ask.destination = std::move(destination);
  return ask;
}

TEST(Socks5Client, AsksForWhatItIsToldTo) {
  const struct {
    const char* name;
    SocksAsk ask;
    const char* answers;
    const char* said;
  } kRows[] = {
      {"ipv4", AskFor(Numbered("192.0.2.1", 80)), "0500050000017f000001c350",
       "050100050100"
       "01c00002010050"},
      {"ipv6", AskFor(Numbered("2001:db8::1", 443)), "0500050000010000000000 00",
       "0501000501000420010db800000000000000000000000101bb"},
      {"name", AskFor(Named("a.example", 80)), "05000500000100000000000 0",
       "05010005010003"
       "09612e6578616d706c650050"},
  };
  for (const auto& row : kRows) {
    std::string answers;
    for (const char c : std::string(row.answers)) {
      if (c != ' ') answers += c;
    }
    for (const size_t piece : {1, 3, 100}) {
      Socks5Client client(row.ask);
      EXPECT_EQ(absl::BytesToHexString(Talk(client, Bytes(answers), piece)), row.said) << row.name;
      EXPECT_EQ(client.state(), State::kDone) << row.name;
    }
  }
}

TEST(Socks5Client, NameIsPassedOnlyWhereItIsWanted) {
  SocksAsk ask = AskFor({"a.example", Address("192.0.2.1", 80), 80});
  EXPECT_EQ(absl::BytesToHexString(Socks5Client(ask).TakeOutput()), "050100");
  for (const bool by_name : {false, true}) {
    ask.by_name = by_name;
    Socks5Client client(ask);
    const std::string said = Talk(client, Bytes("0500"), 2);
    EXPECT_EQ(said.find("a.example") != std::string::npos, by_name);
  }
}

TEST(Socks5Client, CredentialsGoWhereTheParentWantsThem) {
  SocksAsk ask = AskFor(Numbered("192.0.2.1", 80));
  ask.user = "bob";
  ask.password = "secret";
  Socks5Client wanted(ask);
  EXPECT_EQ(absl::BytesToHexString(Talk(wanted,
                                        Bytes("05020100"
                                              "05000001000000000000"),
                                        1)),
            "05020002"
            "0103626f6206736563726574"
            "05010001c00002010050");
  EXPECT_EQ(wanted.state(), State::kDone);
  Socks5Client not_wanted(ask);
  EXPECT_EQ(absl::BytesToHexString(Talk(not_wanted, Bytes("0500"), 1)),
            "05020002"
            "05010001c00002010050");
}

TEST(Socks5Client, DepthIsSaidAsAPrivateMethod) {
  SocksAsk ask = AskFor(Numbered("192.0.2.1", 80));
  ask.depth = 3;
  EXPECT_EQ(absl::BytesToHexString(Socks5Client(ask).TakeOutput()), "050200e3");
  ask.depth = 300;
  EXPECT_EQ(absl::BytesToHexString(Socks5Client(ask).TakeOutput()), "050200f0");
}

TEST(Socks5Client, ReplyIsReadByItsAddressTypeAndNoFurther) {
  const struct {
    const char* name;
    const char* reply;
    const char* bound;
  } kRows[] = {
      {"ipv4",
       "05000001c0000207"
       "1f90",
       "192.0.2.7:8080"},
      {"ipv6",
       "0500000420010db8000000000000000000000007"
       "1f90",
       "[2001:db8::7]:8080"},
      {"name of nine bytes",
       "05000003"
       "09"
       "612e6578616d706c65"
       "1f90",
       "0.0.0.0:0"},
      {"empty name",
       "05000003"
       "00"
       "0000",
       "0.0.0.0:0"},
  };
  for (const auto& row : kRows) {
    for (const size_t piece : {1, 2, 7, 1000}) {
      Socks5Client client(AskFor(Numbered("192.0.2.1", 80)));
      std::string left;
      // The piece that ends the greeting may hold the reply as well: a parent that is in a hurry.
      Talk(client, Bytes(absl::StrCat("0500", row.reply)) + "BANNER", piece, &left);
      EXPECT_EQ(client.state(), State::kDone) << row.name;
      EXPECT_EQ(left, "BANNER") << row.name << ", pieces of " << piece;
      EXPECT_EQ(client.bound().ToString(), row.bound) << row.name;
    }
  }
}

TEST(Socks5Client, FaultsAreToldApart) {
  const struct {
    const char* name;
    const char* answers;
    HopFault fault;
    int code;
  } kRows[] = {
      {"another protocol", "48545450", HopFault::kBadReply, 0},
      {"no method", "05ff", HopFault::kAuthFailed, 255},
      {"a method that was not offered", "0501", HopFault::kBadReply, 0},
      {"bad password", "05020101", HopFault::kAuthFailed, 1},
      {"refused", "0500050500010000", HopFault::kRefused, 5},
      {"refused, and cut there", "050005020001", HopFault::kRefused, 2},
      {"reply of another version", "050004000001", HopFault::kBadReply, 0},
      {"unknown address type", "050005000009", HopFault::kBadReply, 0},
  };
  for (const auto& row : kRows) {
    SocksAsk ask = AskFor(Numbered("192.0.2.1", 80));
    ask.user = "u";
    Socks5Client client(ask);
    Talk(client, Bytes(row.answers), 1);
    EXPECT_EQ(client.state(), State::kFailed) << row.name;
    EXPECT_EQ(client.fault(), row.fault) << row.name;
    EXPECT_EQ(client.code(), row.code) << row.name;
  }
}

TEST(Socks5Client, WhatCannotBeSaidIsNotAsked) {
  SocksAsk long_user = AskFor(Numbered("192.0.2.1", 80));
  long_user.user = std::string(256, 'u');
  Endpoint unix_path;
  unix_path.address = *sys::SocketAddress::ParseUnix("/run/x");
  for (const SocksAsk& ask : {long_user, AskFor(Named(std::string(256, 'n'), 80)), AskFor(unix_path)}) {
    Socks5Client client(ask);
    EXPECT_EQ(client.fault(), HopFault::kCannotAsk);
    EXPECT_EQ(client.TakeOutput(), "");
  }
}

TEST(Socks4Client, AsksByAddressOrByName) {
  SocksAsk ask = AskFor({"a.example", Address("192.0.2.1", 80), 80});
  ask.user = "bob";
  EXPECT_EQ(absl::BytesToHexString(Socks4Client(ask).TakeOutput()), "04010050c0000201626f6200");
  ask.by_name = true;
  EXPECT_EQ(absl::BytesToHexString(Socks4Client(ask).TakeOutput()),
            "0401005000000001626f6200"
            "612e6578616d706c6500");
  Socks4Client ipv6(AskFor(Numbered("2001:db8::1", 80)));
  EXPECT_EQ(ipv6.fault(), HopFault::kCannotAsk);
  ask.user = std::string("b\0b", 3);
  EXPECT_EQ(Socks4Client(ask).fault(), HopFault::kCannotAsk);
}

TEST(Socks4Client, ReplyHasEightBytes) {
  const struct {
    const char* reply;
    State state;
    HopFault fault;
  } kRows[] = {
      {"005a1f90c0000207", State::kDone, HopFault::kNone},
      {"045a1f90c0000207", State::kDone, HopFault::kNone},
      {"005b000000000000", State::kFailed, HopFault::kRefused},
      {"005d000000000000", State::kFailed, HopFault::kAuthFailed},
      {"0000000000000000", State::kFailed, HopFault::kBadReply},
      {"485454502f312e31", State::kFailed, HopFault::kBadReply},
      {"005a1f90c00002", State::kReading, HopFault::kNone},
  };
  for (const auto& row : kRows) {
    for (const size_t piece : {1, 5, 100}) {
      Socks4Client client(AskFor(Numbered("192.0.2.1", 80)));
      std::string left;
      Talk(client, Bytes(row.reply) + (row.state == State::kDone ? "BANNER" : ""), piece, &left);
      EXPECT_EQ(client.state(), row.state) << row.reply;
      EXPECT_EQ(client.fault(), row.fault) << row.reply;
      if (row.state == State::kDone) {
        EXPECT_EQ(left, "BANNER");
      }
    }
  }
}

TEST(ConnectClient, AsksWithAuthorityCredentialsAndVia) {
  ConnectAsk ask;
  ask.destination = {"a.example", Address("192.0.2.1", 443), 443};
  EXPECT_EQ(ConnectClient(ask).TakeOutput(), "CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: 192.0.2.1:443\r\n\r\n");
  ask.by_name = true;
  ask.user = "Aladdin";
  ask.password = "open sesame";
  ask.via = "1.1 here:3128";
  EXPECT_EQ(ConnectClient(ask).TakeOutput(),
            "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nVia: 1.1 here:3128\r\n"
            "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n");
  ask.destination = Numbered("2001:db8::1", 443);
  EXPECT_EQ(ConnectClient(ask).TakeOutput().substr(0, 40), "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost");
}

TEST(ConnectClient, NothingCanBeSmuggledIntoTheRequest) {
  for (const char* host : {"a\r\nX: y", "a b", "", "a/b", "u@h"}) {
    ConnectAsk ask;
    ask.destination = Named(host, 80);
    EXPECT_EQ(ConnectClient(ask).fault(), HopFault::kCannotAsk) << host;
  }
  ConnectAsk ask;
  ask.destination = Named("a", 80);
  ask.user = "a:b";
  EXPECT_EQ(ConnectClient(ask).fault(), HopFault::kCannotAsk);
}

TEST(ConnectClient, AnswersInAllTheirForms) {
  const struct {
    const char* answer;
    State state;
    HopFault fault;
    int code;
  } kRows[] = {
      {"HTTP/1.1 200 OK\r\n\r\n", State::kDone, HopFault::kNone, 0},
      {"HTTP/1.0 200 Connection established\r\n\r\n", State::kDone, HopFault::kNone, 0},
      {"HTTP/1.1 201 Created\r\n\r\n", State::kDone, HopFault::kNone, 0},
      {"HTTP/1.1 200\r\n\r\n", State::kDone, HopFault::kNone, 0},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", State::kDone, HopFault::kNone, 0},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n", State::kDone, HopFault::kNone, 0},
      {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", State::kDone, HopFault::kNone, 0},
      {"HTTP/1.1 200 OK\nX: y\n\n", State::kDone, HopFault::kNone, 0},
      {"HTTP/1.1 407 Who\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", State::kFailed, HopFault::kAuthFailed,
       407},
      {"HTTP/1.1 502 No\r\nContent-Length: 3\r\n\r\nabc", State::kFailed, HopFault::kRefused, 502},
      {"HTTP/1.1 302 Elsewhere\r\n\r\n", State::kFailed, HopFault::kRefused, 302},
      {"HTTP/1.1 101 Switching\r\n\r\n", State::kFailed, HopFault::kBadReply, 0},
      {"HTTP/2.0 200 OK\r\n\r\n", State::kFailed, HopFault::kBadReply, 0},
      {"HTTP/1.1 2x0 OK\r\n\r\n", State::kFailed, HopFault::kBadReply, 0},
      {"HTTP/1.1\r\n\r\n", State::kFailed, HopFault::kBadReply, 0},
      {"SSH-2.0-OpenSSH_9.2", State::kFailed, HopFault::kBadReply, 0},
      {"\r\n\r\n", State::kFailed, HopFault::kBadReply, 0},
      {"HTTP/1.1 200 OK\r\nX: y\r\n", State::kReading, HopFault::kNone, 0},
  };
  ConnectAsk ask;
  ask.destination = Named("a.example", 80);
  for (const auto& row : kRows) {
    for (const size_t piece : {1, 5, 1000}) {
      ConnectClient client(ask);
      std::string left;
      Talk(client, std::string(row.answer) + (row.state == State::kDone ? "BANNER" : ""), piece, &left);
      EXPECT_EQ(client.state(), row.state) << row.answer;
      EXPECT_EQ(client.fault(), row.fault) << row.answer;
      EXPECT_EQ(client.code(), row.code) << row.answer;
      if (row.state == State::kDone) {
        EXPECT_EQ(left, "BANNER") << row.answer;
      }
    }
  }
}

TEST(ConnectClient, EndlessHeadIsCutOff) {
  ConnectAsk ask;
  ask.destination = Named("a.example", 80);
  for (const std::string& piece : {std::string("X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n"), std::string(40, 'x'),
                                   std::string("HTTP/1.1 100 Continue\r\n\r\n")}) {
    ConnectClient client(ask);
    client.Feed("HTTP/1.1 100 OK\r\n");
    size_t fed = 0;
    while (client.state() == State::kReading && fed < 1'000'000) {
      client.Feed(piece);
      fed += piece.size();
    }
    EXPECT_EQ(client.fault(), HopFault::kBadReply) << piece;
    EXPECT_LE(fed, ConnectClient::kMostAnswerBytes + piece.size());
  }
}

TEST(ProxyHeader, SaysWhoTheClientIs) {
  const auto client = Address("192.0.2.9", 1111), local = Address("192.0.2.1", 80);
  EXPECT_EQ(EncodeProxyHeaderV1(client, local), "PROXY TCP4 192.0.2.9 192.0.2.1 1111 80\r\n");
  EXPECT_EQ(absl::BytesToHexString(EncodeProxyHeaderV2(client, local)),
            "0d0a0d0a000d0a515549540a"
            "2111000c"
            "c0000209c0000201"
            "04570050");
  const auto client6 = Address("2001:db8::9", 1111), local6 = Address("2001:db8::1", 80);
  EXPECT_EQ(EncodeProxyHeaderV1(client6, local6), "PROXY TCP6 2001:db8::9 2001:db8::1 1111 80\r\n");
  EXPECT_EQ(absl::BytesToHexString(EncodeProxyHeaderV2(client6, local6)),
            "0d0a0d0a000d0a515549540a"
            "21210024"
            "20010db8000000000000000000000009"
            "20010db8000000000000000000000001"
            "04570050");
}

TEST(ProxyHeader, ClientWithoutAnAddressIsUnknown) {
  for (const sys::SocketAddress& client : {*sys::SocketAddress::ParseUnix("/run/x"), Address("2001:db8::9", 1)}) {
    EXPECT_EQ(EncodeProxyHeaderV1(client, Address("192.0.2.1", 80)), "PROXY UNKNOWN\r\n");
    EXPECT_EQ(absl::BytesToHexString(EncodeProxyHeaderV2(client, Address("192.0.2.1", 80))),
              "0d0a0d0a000d0a515549540a"
              "20000000");
  }
}

TEST(Endpoint, TextHasThePort) {
  EXPECT_EQ(Named("a.example", 80).ToString(), "a.example:80");
  EXPECT_EQ(Named("2001:db8::1", 80).ToString(), "[2001:db8::1]:80");
  EXPECT_EQ(Numbered("192.0.2.1", 80).ToString(), "192.0.2.1:80");
}

}  // namespace
}  // namespace sluice::upstream
