#include "protocols/service/proxy_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace sluice::service {
namespace {

using sys::AddressFamily;
using sys::SocketAddress;

constexpr absl::string_view kLineStart = "PROXY ";
constexpr absl::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr size_t kHeadBytes = 16;
constexpr uint8_t kVersion2 = 2;
constexpr uint8_t kLocal = 0;
constexpr uint8_t kProxy = 1;
// The high half of the family byte, and the low one.
constexpr uint8_t kIpv4 = 1;
constexpr uint8_t kIpv6 = 2;
constexpr uint8_t kLastFamily = 3;  // unix
constexpr uint8_t kStream = 1;
constexpr uint8_t kLastTransport = 2;  // datagrams
// Two addresses and two ports.
constexpr size_t kIpv4Bytes = 12;
constexpr size_t kIpv6Bytes = 36;

uint8_t ByteAt(const std::string& bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

uint16_t PortAt(const std::string& bytes, size_t at) {
  return static_cast<uint16_t>(ByteAt(bytes, at) << 8 | ByteAt(bytes, at + 1));
}

// "0" to "65535", without a sign or a leading zero.
std::optional<uint16_t> ParsePort(absl::string_view text) {
  uint32_t port = 0;
  const bool digits = !text.empty() && text.size() <= 5 &&
                      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || (text.size() > 1 && text[0] == '0') || !absl::SimpleAtoi(text, &port) || port > 65535) {
    return std::nullopt;
  }
  return static_cast<uint16_t>(port);
}

// An address as the line has them: colons, and nothing around it, tell the family.
std::optional<SocketAddress> ParseAddress(absl::string_view text, bool six, uint16_t port) {
  if (absl::StrContains(text, ':') != six || absl::StrContains(text, '%') || absl::StartsWith(text, "[")) {
    return std::nullopt;
  }
  absl::StatusOr<SocketAddress> address = SocketAddress::ParseIp(text, port);
  if (!address.ok()) return std::nullopt;
  return *std::move(address);
}

}  // namespace

void ProxyHeaderReader::Begin(Step step, size_t need) {
  step_ = step;
  need_ = need;
  held_.clear();
}

void ProxyHeaderReader::Fail(const char* fault) {
  state_ = State::kFailed;
  fault_ = fault;
}

size_t ProxyHeaderReader::Feed(absl::string_view bytes) {
  size_t taken = 0;
  while (state_ == State::kReading && taken < bytes.size()) {
    if (step_ == Step::kFirst) {
      taken += TakeFirst(bytes[taken]);
      continue;
    }
    if (step_ == Step::kLine) {
      taken += TakeLine(bytes.substr(taken));
      continue;
    }
    const size_t have = step_ == Step::kRest ? 0 : held_.size();
    const size_t count = std::min(need_ - have, bytes.size() - taken);
    if (step_ == Step::kRest) {
      need_ -= count;
    } else {
      held_.append(bytes.data() + taken, count);
    }
    taken += count;
    if (step_ == Step::kHead &&
        held_.compare(0, kSignature.size(), kSignature.data(), std::min(held_.size(), kSignature.size())) != 0) {
      Fail("its signature is not that of version 2");
    } else if (step_ == Step::kHead && held_.size() == need_) {
      OnHead();
    } else if (step_ == Step::kAddresses && held_.size() == need_) {
      OnAddresses();
    } else if (step_ == Step::kRest && need_ == 0) {
      state_ = State::kComplete;
    }
  }
  return taken;
}

// Not taken: the step that it begins has it.
size_t ProxyHeaderReader::TakeFirst(char byte) {
  if (byte == kLineStart[0]) {
    Begin(Step::kLine, 0);
  } else if (byte == kSignature[0]) {
    Begin(Step::kHead, kHeadBytes);
  } else {
    Fail("there is none, the connection begins with something else");
  }
  return 0;
}

size_t ProxyHeaderReader::TakeLine(absl::string_view bytes) {
  const absl::string_view window = bytes.substr(0, kMostLineBytes - held_.size());
  const size_t end = window.find('\n');
  const size_t count = end == absl::string_view::npos ? window.size() : end + 1;
  held_.append(window.data(), count);
  const size_t start = std::min(held_.size(), kLineStart.size());
  if (held_.compare(0, start, kLineStart.data(), start) != 0) {
    Fail("there is none, the connection begins with something else");
  } else if (end != absl::string_view::npos) {
    OnLine();
  } else if (held_.size() == kMostLineBytes) {
    Fail("its line has no end within 107 bytes");
  }
  return count;
}

// "PROXY TCP4 192.0.2.1 192.0.2.2 1111 80\r\n"
void ProxyHeaderReader::OnLine() {
  absl::string_view line = held_;
  if (!absl::ConsumeSuffix(&line, "\r\n")) return Fail("its line does not end with CR LF");
  line.remove_prefix(kLineStart.size());
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words[0] == "UNKNOWN") {
    state_ = State::kComplete;
    return;
  }
  const bool six = words[0] == "TCP6";
  if (!six && words[0] != "TCP4") return Fail("its protocol is none of TCP4, TCP6 and UNKNOWN");
  if (words.size() != 5) return Fail("its line has not two addresses and two ports");
  const std::optional<uint16_t> client_port = ParsePort(words[3]);
  const std::optional<uint16_t> port = ParsePort(words[4]);
  if (!client_port.has_value() || !port.has_value()) return Fail("one of its ports is none");
  const std::optional<SocketAddress> client = ParseAddress(words[1], six, *client_port);
  if (!client.has_value() || !ParseAddress(words[2], six, *port).has_value()) {
    return Fail("one of its addresses is none of its family");
  }
  client_ = *client;
  state_ = State::kComplete;
}

void ProxyHeaderReader::OnHead() {
  const uint8_t version = ByteAt(held_, 12) >> 4;
  const uint8_t command = ByteAt(held_, 12) & 0xf;
  const uint8_t family = ByteAt(held_, 13) >> 4;
  const uint8_t transport = ByteAt(held_, 13) & 0xf;
  const size_t length = PortAt(held_, 14);
  if (version != kVersion2) return Fail("its version is not 2");
  if (command != kLocal && command != kProxy) return Fail("its command is neither LOCAL nor PROXY");
  size_t addresses = 0;
  if (command == kProxy) {
    if (family > kLastFamily || transport > kLastTransport) return Fail("its address family is unknown");
    if (transport == kStream && family == kIpv4) addresses = kIpv4Bytes;
    if (transport == kStream && family == kIpv6) addresses = kIpv6Bytes;
  }
  if (length < addresses) return Fail("it is too short for its addresses");
  rest_ = length - addresses;
  if (addresses > 0) return Begin(Step::kAddresses, addresses);
  Begin(Step::kRest, rest_);
  if (rest_ == 0) state_ = State::kComplete;
}

void ProxyHeaderReader::OnAddresses() {
  if (held_.size() == kIpv4Bytes) {
    uint32_t address = 0;
    for (size_t i = 0; i < 4; ++i) address = address << 8 | ByteAt(held_, i);
    client_ = SocketAddress::Ipv4(address, PortAt(held_, 8));
  } else {
    std::array<uint8_t, 16> address;
    std::memcpy(address.data(), held_.data(), address.size());
    client_ = SocketAddress::Ipv6(address, PortAt(held_, 32));
  }
  Begin(Step::kRest, rest_);
  if (rest_ == 0) state_ = State::kComplete;
}

}  // namespace sluice::service
