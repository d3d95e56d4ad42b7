// Flights as servers and clients send them, and some that none would send.

#include "tls/handshake_check.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::tls {
namespace {

using Level = HandshakeCheck::Level;
using State = HandshakeCheck::State;

std::string Number(size_t value, int bytes) {
  std::string result;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) result += static_cast<char>(value >> shift);
  return result;
}
std::string Counted(const std::string& bytes, int length_bytes) { return Number(bytes.size(), length_bytes) + bytes; }
std::string Message(int type, const std::string& body) { return Number(type, 1) + Counted(body, 3); }
std::string Record(const std::string& bytes, int type = kHandshake) {
  return Number(type, 1) + Number(0x0303, 2) + Counted(bytes, 2);
}

std::string ServerHello(int version, const std::string& session = std::string(32, 's')) {
  std::string body = Number(version > 0x0303 ? 0x0303 : version, 2) + std::string(32, 'r') + Counted(session, 1) +
                     Number(0x1301, 2) + Number(0, 1);
  std::string extensions = Number(0xff01, 2) + Counted(std::string(1, '\0'), 2);
  if (version > 0x0303) extensions += Number(43, 2) + Counted(Number(version, 2), 2);
  return Message(2, body + Counted(extensions, 2));
}
std::string Certificate(size_t bytes = 3000) { return Message(11, Counted(Counted(std::string(bytes, 'c'), 3), 3)); }
std::string NoCertificate() { return Message(11, Number(0, 3)); }
const std::string kKeyExchange = Message(12, std::string(200, 'k'));
const std::string kRequest = Message(13, "anything");
const std::string kDone = Message(14, "");
const std::string kClientKeyExchange = Message(16, std::string(66, 'k'));
const std::string kCipherSpec = Record("\x01", kChangeCipherSpec);
const std::string kFinished = Record(std::string(40, 'f'));

struct Outcome {
  State state;
  std::string fault;
};

// The server's flight, then the client's, in pieces.
Outcome Examine(Level level, const std::string& server, const std::string& client, size_t piece) {
  HandshakeCheck check(level);
  for (size_t at = 0; at < server.size(); at += piece) check.FromServer(absl::string_view(server).substr(at, piece));
  for (size_t at = 0; at < client.size(); at += piece) check.FromClient(absl::string_view(client).substr(at, piece));
  return {check.state(), check.fault()};
}

TEST(HandshakeCheckTest, WhatPassesAndWhatDoesNot) {
  const std::string full = ServerHello(0x0303) + Certificate() + kKeyExchange;
  const struct {
    const char* what;
    Level level;
    std::string server;
    std::string client;
    State state;
    const char* fault;
  } kCases[] = {
      {"hello of 1.2", Level::kServerHello, Record(ServerHello(0x0303)), "", State::kPassed, ""},
      {"hello of 1.3", Level::kServerHello, Record(ServerHello(0x0304)) + kCipherSpec + kFinished, "", State::kPassed,
       ""},
      {"hello of 1.0, without a session", Level::kServerHello, Record(ServerHello(0x0301, "")), "", State::kPassed, ""},
      {"half a hello", Level::kServerHello, Record(ServerHello(0x0303).substr(0, 30)), "", State::kChecking, ""},
      {"another protocol", Level::kServerHello, "HTTP/1.1 400 Bad Request\r\n\r\n", "", State::kFailed,
       "does not speak TLS"},
      {"an alert", Level::kServerHello, Record("\x02\x28", kAlert), "", State::kFailed, "refused the handshake"},
      {"another message", Level::kServerHello, Record(Certificate()), "", State::kFailed,
       "not answered with a ServerHello"},
      {"data at once", Level::kServerHello, Record("data", 23), "", State::kFailed, "not answered with a ServerHello"},
      {"an unreadable hello", Level::kServerHello, Record(Message(2, "short")), "", State::kFailed, "cannot be read"},
      {"certificate", Level::kServerCertificate, Record(full + kDone), "", State::kPassed, ""},
      {"certificate of 40 KB in records", Level::kServerCertificate,
       Record(ServerHello(0x0303)) + Record(Certificate(40000).substr(0, 16384)) +
           Record(Certificate(40000).substr(16384, 16384)) + Record(Certificate(40000).substr(32768)),
       "", State::kPassed, ""},
      {"certificate not there yet", Level::kServerCertificate, Record(ServerHello(0x0303)), "", State::kChecking, ""},
      {"no certificate", Level::kServerCertificate, Record(ServerHello(0x0303) + kKeyExchange + kDone), "",
       State::kFailed, "shows no certificate"},
      {"empty certificate", Level::kServerCertificate, Record(ServerHello(0x0303) + NoCertificate()), "",
       State::kFailed, "shows no certificate"},
      {"resumed", Level::kServerCertificate, Record(ServerHello(0x0303)) + kCipherSpec + kFinished, "", State::kFailed,
       "resumed"},
      {"encrypted", Level::kServerCertificate, Record(ServerHello(0x0304)), "", State::kFailed, "TLS 1.3"},
      {"alert behind the hello", Level::kServerCertificate, Record(ServerHello(0x0303)) + Record("\x02\x28", kAlert),
       "", State::kFailed, "refused the handshake"},
      {"both certificates", Level::kClientCertificate, Record(full + kRequest + kDone),
       Record(Certificate() + kClientKeyExchange), State::kPassed, ""},
      {"the client's not there yet", Level::kClientCertificate, Record(full + kRequest + kDone), "", State::kChecking,
       ""},
      {"none of the client", Level::kClientCertificate, Record(full + kRequest + kDone), Record(NoCertificate()),
       State::kFailed, "client shows no certificate"},
      {"not even an empty one", Level::kClientCertificate, Record(full + kRequest + kDone), Record(kClientKeyExchange),
       State::kFailed, "client shows no certificate"},
      {"alert of the client", Level::kClientCertificate, Record(full + kRequest + kDone), Record("\x02\x2a", kAlert),
       State::kFailed, "client shows no certificate"},
      {"not asked for", Level::kClientCertificate, Record(full + kDone), Record(Certificate()), State::kFailed,
       "does not ask"},
      {"encrypted", Level::kClientCertificate, Record(ServerHello(0x0304)), Record(Certificate()), State::kFailed,
       "TLS 1.3"},
  };
  for (const auto& c : kCases) {
    for (const size_t piece : {size_t{1}, size_t{13}, size_t{1} << 20}) {
      const Outcome outcome = Examine(c.level, c.server, c.client, piece);
      EXPECT_EQ(outcome.state, c.state) << c.what << ": " << outcome.fault;
      EXPECT_NE(outcome.fault.find(c.fault), std::string::npos) << c.what << ": " << outcome.fault;
    }
  }
}

TEST(HandshakeCheckTest, ClientMayBeAheadOfTheServer) {
  HandshakeCheck check(Level::kClientCertificate);
  EXPECT_EQ(check.FromClient(Record(Certificate())), State::kChecking);
  EXPECT_EQ(check.FromServer(Record(ServerHello(0x0303) + Certificate() + kRequest)), State::kChecking);
  EXPECT_EQ(check.FromServer(Record(kDone)), State::kPassed);
}

TEST(HandshakeCheckTest, LowerLevelsDoNotLookAtTheClient) {
  HandshakeCheck check(Level::kServerCertificate);
  EXPECT_EQ(check.FromClient("whatever"), State::kChecking);
  EXPECT_EQ(check.FromServer(Record(ServerHello(0x0303) + Certificate())), State::kPassed);
}

}  // namespace
}  // namespace sluice::tls
