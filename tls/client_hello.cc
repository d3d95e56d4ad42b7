#include "tls/client_hello.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sluice::tls {
namespace {

constexpr uint8_t kClientHello = 1;
constexpr size_t kRandomBytes = 32;
constexpr size_t kMostSessionIdBytes = 32;
constexpr size_t kMostNameBytes = 255;
constexpr uint8_t kHostName = 0;

// Extensions (IANA, TLS ExtensionType Values).
constexpr uint16_t kServerName = 0;
constexpr uint16_t kAlpn = 16;
constexpr uint16_t kSupportedVersions = 43;
constexpr uint16_t kEncryptedHello = 0xfe0d;

// Takes numbers and counted strings off the front. Once something was short, everything is.
class Cursor {
 public:
  explicit Cursor(absl::string_view bytes) : rest_(bytes) {}

  uint32_t Number(size_t bytes) {
    const absl::string_view taken = Take(bytes);
    uint32_t value = 0;
    for (const char byte : taken) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }
  // A string behind its length, which has so many bytes.
  absl::string_view Counted(size_t length_bytes) { return Take(Number(length_bytes)); }
  absl::string_view Take(size_t bytes) {
    if (bytes > rest_.size()) {
      good_ = false;
      rest_ = absl::string_view();
      return rest_;
    }
    const absl::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  bool AtEnd() const { return rest_.empty(); }
  bool good() const { return good_; }
  // Nothing was short and nothing is left.
  bool Done() const { return good_ && rest_.empty(); }

 private:
  absl::string_view rest_;
  bool good_ = true;
};

// RFC 8701: 0x0a0a, 0x1a1a, ... 0xfafa.
bool IsGrease(uint32_t value) { return (value & 0x0f0f) == 0x0a0a && (value >> 8) == (value & 0xff); }

const char* ParseServerName(absl::string_view data, ClientHello& hello) {
  Cursor extension(data);
  Cursor list(extension.Counted(2));
  if (!extension.Done()) return "its list of server names does not add up";
  const uint32_t type = list.Number(1);
  const absl::string_view name = list.Counted(2);
  if (!list.good() || name.empty()) return "its list of server names does not add up";
  if (!list.AtEnd()) return "it has two server names";
  if (type != kHostName) return "its server name is not the name of a host";
  if (name.size() > kMostNameBytes) return "its server name is longer than any name";
  if (name.find('\0') != absl::string_view::npos) return "its server name has a NUL";
  hello.server_name = std::string(name);
  return nullptr;
}

const char* ParseAlpn(absl::string_view data, ClientHello& hello) {
  Cursor extension(data);
  Cursor list(extension.Counted(2));
  if (!extension.Done() || list.AtEnd()) return "its list of protocols does not add up";
  while (!list.AtEnd()) {
    const absl::string_view protocol = list.Counted(1);
    if (!list.good() || protocol.empty()) return "its list of protocols does not add up";
    hello.protocols.emplace_back(protocol);
  }
  return nullptr;
}

const char* ParseSupportedVersions(absl::string_view data, ClientHello& hello) {
  Cursor extension(data);
  Cursor list(extension.Counted(1));
  if (!extension.Done() || list.AtEnd()) return "its list of versions does not add up";
  uint32_t highest = 0;
  while (!list.AtEnd()) {
    const uint32_t version = list.Number(2);
    if (!list.good()) return "its list of versions does not add up";
    // Drafts and experiments have other major numbers.
    if (!IsGrease(version) && version >> 8 == 3) highest = std::max(highest, version);
  }
  if (highest != 0) hello.version = static_cast<uint16_t>(highest);
  return nullptr;
}

// Which of those that are read has come before, as bits.
int BitOf(uint32_t extension) {
  switch (extension) {
    case kServerName:
      return 1;
    case kAlpn:
      return 2;
    case kSupportedVersions:
      return 4;
    case kEncryptedHello:
      return 8;
    default:
      return 0;
  }
}

const char* ParseExtension(uint32_t type, absl::string_view data, ClientHello& hello) {
  switch (type) {
    case kServerName:
      return ParseServerName(data, hello);
    case kAlpn:
      return ParseAlpn(data, hello);
    case kSupportedVersions:
      return ParseSupportedVersions(data, hello);
    case kEncryptedHello:
      hello.encrypted_hello = true;
      return nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

std::string VersionName(uint16_t version) {
  switch (version) {
    case 0x0300:
      return "SSLv3";
    case 0x0301:
      return "TLSv1.0";
    case 0x0302:
      return "TLSv1.1";
    case 0x0303:
      return "TLSv1.2";
    case 0x0304:
      return "TLSv1.3";
    default:
      return absl::StrCat("TLS 0x", absl::Hex(version, absl::kZeroPad4));
  }
}

const char* ParseClientHello(absl::string_view body, ClientHello& hello) {
  constexpr const char* kShort = "its lengths do not add up";
  Cursor message(body);
  hello = ClientHello();
  hello.version = static_cast<uint16_t>(message.Number(2));
  message.Take(kRandomBytes);
  const absl::string_view session_id = message.Counted(1);
  const absl::string_view suites = message.Counted(2);
  const absl::string_view compressions = message.Counted(1);
  if (!message.good() || session_id.size() > kMostSessionIdBytes || suites.empty() || suites.size() % 2 != 0 ||
      compressions.empty()) {
    return kShort;
  }
  if (hello.version >> 8 != 3) return "its version is none of TLS";
  if (message.AtEnd()) return nullptr;  // before RFC 3546 there were no extensions
  Cursor extensions(message.Counted(2));
  if (!message.Done()) return kShort;
  int seen = 0;
  while (!extensions.AtEnd()) {
    const uint32_t type = extensions.Number(2);
    const absl::string_view data = extensions.Counted(2);
    if (!extensions.good()) return kShort;
    const int bit = BitOf(type);
    if ((seen & bit) != 0) return "it has an extension twice";
    seen |= bit;
    if (const char* fault = ParseExtension(type, data, hello); fault != nullptr) return fault;
  }
  return nullptr;
}

ClientHelloReader::State ClientHelloReader::Feed(absl::string_view bytes) {
  if (state_ != State::kReading) return state_;
  end_ += reader_.Feed(bytes);
  const bool begun = reader_.has_message_head();
  if (reader_.state() == HandshakeReader::State::kFailed || reader_.state() == HandshakeReader::State::kOtherRecord) {
    if (begun) return Fail("its records are broken");
    state_ = State::kNotTls;
    return state_;
  }
  if (!begun) return state_;
  if (reader_.type() != kClientHello) {
    state_ = State::kNotTls;
    return state_;
  }
  if (reader_.body_bytes() > kMostBytes) return Fail("it is longer than 16 KB");
  if (reader_.state() != HandshakeReader::State::kMessage) return state_;
  if (const char* fault = ParseClientHello(reader_.body(), hello_); fault != nullptr) return Fail(fault);
  state_ = State::kComplete;
  return state_;
}

ClientHelloReader::State ClientHelloReader::Fail(const char* fault) {
  fault_ = fault;
  state_ = State::kFailed;
  return state_;
}

}  // namespace sluice::tls
