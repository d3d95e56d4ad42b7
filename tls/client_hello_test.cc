#include "tls/client_hello.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::tls {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = ClientHelloReader::State;

std::string Number(size_t value, int bytes) {
  std::string result;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) result += static_cast<char>(value >> shift);
  return result;
}
std::string Counted(const std::string& bytes, int length_bytes) { return Number(bytes.size(), length_bytes) + bytes; }

std::string Extension(int type, const std::string& data) { return Number(type, 2) + Counted(data, 2); }
std::string Sni(const std::string& name, int type = 0) {
  return Extension(0, Counted(Number(type, 1) + Counted(name, 2), 2));
}
std::string Alpn(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += Counted(name, 1);
  return Extension(16, Counted(list, 2));
}
std::string Versions(const std::vector<int>& versions) {
  std::string list;
  for (const int version : versions) list += Number(version, 2);
  return Extension(43, Counted(list, 1));
}
std::string Padding(size_t bytes) { return Extension(21, std::string(bytes, '\0')); }

struct Parts {
  int version = 0x0303;
  std::string session_id = std::string(32, 's');
  std::string suites = Number(0x1301, 2) + Number(0xc02f, 2);
  std::string compressions = std::string(1, '\0');
};

std::string Body(const std::string& extensions, const Parts& parts = {}) {
  return Number(parts.version, 2) + std::string(32, 'r') + Counted(parts.session_id, 1) + Counted(parts.suites, 2) +
         Counted(parts.compressions, 1) + Counted(extensions, 2);
}
std::string Message(const std::string& body, int type = 1) { return Number(type, 1) + Counted(body, 3); }

// In records of at most so many bytes.
std::string Records(const std::string& message, size_t most = 16384, int type = 22, int version = 0x0301) {
  std::string result;
  for (size_t at = 0; at < message.size(); at += most) {
    result += Number(type, 1) + Number(version, 2) + Counted(message.substr(at, most), 2);
  }
  return result;
}

ClientHelloReader Read(const std::string& stream, size_t piece = 1 << 20) {
  ClientHelloReader reader;
  for (size_t at = 0; at < stream.size(); at += piece) reader.Feed(absl::string_view(stream).substr(at, piece));
  return reader;
}

const std::string kUsual = Versions({0x0a0a, 0x0304, 0x0303}) + Sni("www.example.com") + Alpn({"h2", "http/1.1"});

TEST(ClientHelloTest, WhatItSays) {
  const ClientHelloReader reader = Read(Records(Message(Body(kUsual))));
  ASSERT_EQ(reader.state(), State::kComplete) << reader.fault();
  EXPECT_EQ(reader.hello().server_name, "www.example.com");
  EXPECT_THAT(reader.hello().protocols, ElementsAre("h2", "http/1.1"));
  EXPECT_EQ(VersionName(reader.hello().version), "TLSv1.3");
  EXPECT_FALSE(reader.hello().encrypted_hello);
}

TEST(ClientHelloTest, WhereItEnds) {
  const std::string stream = Records(Message(Body(kUsual)), 100);
  for (const size_t piece : {size_t{1}, size_t{90}, size_t{1} << 20}) {
    EXPECT_EQ(Read(stream + "more", piece).end(), stream.size());
  }
}

TEST(ClientHelloTest, Versions) {
  const struct {
    int legacy;
    std::string extension;
    const char* name;
  } kCases[] = {
      {0x0303, "", "TLSv1.2"},
      {0x0301, "", "TLSv1.0"},
      {0x0302, "", "TLSv1.1"},
      {0x0300, "", "SSLv3"},
      {0x0305, "", "TLS 0x0305"},
      {0x0303, Versions({0x0304}), "TLSv1.3"},
      {0x0303, Versions({0x0303, 0x0304, 0x0302}), "TLSv1.3"},
      {0x0303, Versions({0x3a3a, 0x0303, 0xfafa}), "TLSv1.2"},
      {0x0303, Versions({0x7f1c, 0x0303}), "TLSv1.2"},
      {0x0303, Versions({0x0a0a}), "TLSv1.2"},
  };
  for (const auto& c : kCases) {
    const ClientHelloReader reader = Read(Records(Message(Body(c.extension, {.version = c.legacy}))));
    ASSERT_EQ(reader.state(), State::kComplete) << c.name << ": " << reader.fault();
    EXPECT_EQ(VersionName(reader.hello().version), c.name);
  }
}

TEST(ClientHelloTest, WhatItNeedNotHave) {
  const std::string kBodies[] = {
      Body(""),
      Body("").substr(0, Body("").size() - 2),  // no extensions at all
      Body("", {.session_id = "", .suites = Number(0x002f, 2)}),
      Body(Extension(0x0a0a, "") + Extension(0xfafa, "x") + Extension(0x1234, "unknown") + Extension(0x1234, "twice")),
      Body(Padding(15000)),
      Body(Extension(51, std::string(1216, 'k'))),
  };
  for (const std::string& body : kBodies) {
    const ClientHelloReader reader = Read(Records(Message(body)));
    EXPECT_EQ(reader.state(), State::kComplete) << reader.fault();
    EXPECT_EQ(reader.hello().server_name, "");
    EXPECT_TRUE(reader.hello().protocols.empty());
  }
}

TEST(ClientHelloTest, EncryptedHelloHasAPublicName) {
  const ClientHelloReader reader =
      Read(Records(Message(Body(Extension(0xfe0d, std::string(200, 'e')) + Sni("public.example")))));
  ASSERT_EQ(reader.state(), State::kComplete);
  EXPECT_EQ(reader.hello().server_name, "public.example");
  EXPECT_TRUE(reader.hello().encrypted_hello);
}

TEST(ClientHelloTest, NamesComeAsTheyWereSent) {
  for (const std::string& name :
       {std::string("WWW.Example.COM"), std::string("a\nb\x1b[2J\"\\"), std::string("example.com."),
        std::string(255, 'x'), std::string("192.0.2.1"), std::string("a b")}) {
    const ClientHelloReader reader = Read(Records(Message(Body(Sni(name)))));
    ASSERT_EQ(reader.state(), State::kComplete) << name;
    EXPECT_EQ(reader.hello().server_name, name);
  }
}

TEST(ClientHelloTest, CutAnywhere) {
  const std::string message = Message(Body(kUsual));
  for (const size_t record : {size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{50}, size_t{16384}}) {
    const std::string stream = Records(message, record);
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, size_t{64}}) {
      EXPECT_EQ(Read(stream, piece).hello().server_name, "www.example.com") << record << ", " << piece;
    }
    for (size_t cut = 0; cut < stream.size(); ++cut) {
      ClientHelloReader reader;
      EXPECT_EQ(reader.Feed(absl::string_view(stream).substr(0, cut)), State::kReading) << cut;
      EXPECT_EQ(reader.Feed(absl::string_view(stream).substr(cut)), State::kComplete) << cut;
    }
  }
}

TEST(ClientHelloTest, AnySizeUpTo16Kilobytes) {
  for (const size_t size : {1500, 2100, 4096, 9000, 16000, 16384}) {
    const size_t padding = size - Body(kUsual + Padding(0)).size();
    const std::string body = Body(kUsual + Padding(padding));
    ASSERT_EQ(body.size(), size);
    for (const size_t record : {size / 20, size / 2, size_t{16384}}) {
      EXPECT_EQ(Read(Records(Message(body), record), 1000).hello().server_name, "www.example.com") << size;
    }
  }
  const std::string longer = Body(kUsual + Padding(16385 - Body(kUsual + Padding(0)).size()));
  const ClientHelloReader reader = Read(Records(Message(longer)).substr(0, 9));  // told by its length
  EXPECT_EQ(reader.state(), State::kFailed);
  EXPECT_THAT(reader.fault(), HasSubstr("longer than 16 KB"));
}

TEST(ClientHelloTest, OtherProtocols) {
  for (const std::string& stream : {std::string("GET / HTTP/1.1\r\n"), std::string("\x05\x01\x00", 3),
                                    std::string("SSH-2.0-x\r\n"), std::string("\x80\x2e\x01\x00\x02", 5),  // SSL 2
                                    std::string("\x16\x02\x00\x00\x05\x01", 6),            // another major version
                                    std::string("\x16\x03\x01\x00\x00", 5),                // an empty record
                                    std::string("\x16\x03\x01\x40\x01", 5),                // one that is too long
                                    std::string("\x15\x03\x01\x00\x02\x02\x28", 7),        // an alert
                                    Records(Message("x", 2)), Records(Message("", 0))}) {  // other messages
    EXPECT_EQ(Read(stream).state(), State::kNotTls) << stream;
    EXPECT_EQ(Read(stream, 1).state(), State::kNotTls) << stream;
  }
  EXPECT_EQ(Read("G").state(), State::kNotTls);
  EXPECT_EQ(Read(std::string("\x16", 1)).state(), State::kReading);
}

TEST(ClientHelloTest, WhatCanBeReadInTwoWays) {
  const struct {
    std::string body;
    const char* fault;
  } kCases[] = {
      {Body(Sni("a.example") + Sni("b.example")), "twice"},
      {Body(Alpn({"h2"}) + Alpn({"h3"})), "twice"},
      {Body(Versions({0x0304}) + Versions({0x0303})), "twice"},
      {Body(Extension(0, Counted(Number(0, 1) + Counted("a.example", 2) + Number(0, 1) + Counted("b.example", 2), 2))),
       "two server names"},
      {Body(Sni("")), "server names does not add up"},
      {Body(Extension(0, "")), "server names does not add up"},
      {Body(Extension(0, Counted("", 2))), "server names does not add up"},
      {Body(Extension(0, Counted(Number(0, 1) + Counted("a.example", 2), 2) + "x")), "server names does not add up"},
      {Body(Extension(0, Number(13, 2) + Number(0, 1) + Counted("a.example", 2))), "server names does not add up"},
      {Body(Extension(0, Counted(Number(0, 1) + Number(200, 2) + "a.example", 2))), "server names does not add up"},
      {Body(Sni("a.example", 1)), "not the name of a host"},
      {Body(Sni(std::string("a.example\0.test", 15))), "NUL"},
      {Body(Sni(std::string(256, 'x'))), "longer than any name"},
      {Body(Alpn({})), "protocols does not add up"},
      {Body(Alpn({"h2", ""})), "protocols does not add up"},
      {Body(Extension(16, Number(9, 2) + Counted("h2", 1))), "protocols does not add up"},
      {Body(Extension(43, "")), "versions does not add up"},
      {Body(Extension(43, Counted(std::string("\x03", 1), 1))), "versions does not add up"},
      {Body(kUsual) + "x", "lengths do not add up"},
      {Body(kUsual).substr(0, Body(kUsual).size() - 1), "lengths do not add up"},
      {Body(kUsual + Number(1, 2)), "lengths do not add up"},
      {Body("", {.session_id = std::string(33, 's')}), "lengths do not add up"},
      {Body("", {.suites = ""}), "lengths do not add up"},
      {Body("", {.suites = "abc"}), "lengths do not add up"},
      {Body("", {.compressions = ""}), "lengths do not add up"},
      {Body("", {.version = 0x0203}), "none of TLS"},
      {"", "lengths do not add up"},
      {std::string(34, 'x'), "lengths do not add up"},
  };
  for (const auto& c : kCases) {
    const ClientHelloReader reader = Read(Records(Message(c.body)));
    EXPECT_EQ(reader.state(), State::kFailed) << c.fault;
    EXPECT_THAT(reader.fault(), HasSubstr(c.fault));
  }
}

TEST(ClientHelloTest, RecordsThatBreakOff) {
  const std::string message = Message(Body(kUsual));
  const std::string half = message.substr(0, message.size() / 2);
  for (const std::string& stream :
       {Records(half) + Records("\x01", 16384, 20), Records(half) + Records("\x02\x28", 16384, 21),
        Records(half) + Records(half, 16384, 22, 0x0403), Records(half) + std::string("\x16\x03\x01\x00\x00", 5)}) {
    const ClientHelloReader reader = Read(stream);
    EXPECT_EQ(reader.state(), State::kFailed);
    EXPECT_THAT(reader.fault(), HasSubstr("records are broken"));
  }
}

TEST(HandshakeReaderTest, SeveralMessagesInARecordAndLongOnes) {
  std::string flight = Message("hello", 2) + Message(std::string(40000, 'c'), 11) + Message("", 14);
  for (const size_t record : {size_t{16384}, size_t{3}, size_t{4096}}) {
    const std::string stream = Records(flight, record) + Records("\x01", 16384, kChangeCipherSpec);
    for (const size_t piece : {size_t{1}, size_t{1000}, stream.size()}) {
      HandshakeReader reader(100);
      std::vector<std::string> seen;
      for (size_t at = 0; at < stream.size(); at += piece) {
        absl::string_view bytes = absl::string_view(stream).substr(at, piece);
        for (;;) {
          bytes.remove_prefix(reader.Feed(bytes));
          if (reader.state() != HandshakeReader::State::kMessage) break;
          seen.push_back(absl::StrCat(reader.type(), ":", reader.body_bytes(), ":", reader.body().size()));
          reader.Next();
        }
      }
      EXPECT_THAT(seen, ElementsAre("2:5:5", "11:40000:100", "14:0:0"));
      EXPECT_EQ(reader.state(), HandshakeReader::State::kOtherRecord);
      EXPECT_EQ(reader.record_type(), kChangeCipherSpec);
    }
  }
}

}  // namespace
}  // namespace sluice::tls
