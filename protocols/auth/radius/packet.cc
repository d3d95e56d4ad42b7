#include "protocols/auth/radius/packet.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>

namespace sluice::auth::radius {
namespace {

// MD5 is what the protocol has; what it cannot carry alone the HMAC below does.
Authenticator Md5(std::initializer_list<absl::string_view> parts) {
  Authenticator digest{};
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  EVP_DigestInit_ex(context, EVP_md5(), nullptr);
  for (const absl::string_view part : parts) EVP_DigestUpdate(context, part.data(), part.size());
  EVP_DigestFinal_ex(context, digest.data(), nullptr);
  EVP_MD_CTX_free(context);
  return digest;
}

Authenticator HmacMd5(absl::string_view secret, absl::string_view bytes) {
  Authenticator digest{};
  HMAC(EVP_md5(), secret.data(), static_cast<int>(secret.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
       bytes.size(), digest.data(), nullptr);
  return digest;
}

absl::string_view View(const Authenticator& bytes) {
  return absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

uint8_t At(absl::string_view bytes, size_t index) { return static_cast<uint8_t>(bytes[index]); }

uint32_t NumberAt(absl::string_view bytes) {
  return uint32_t{At(bytes, 0)} << 24 | uint32_t{At(bytes, 1)} << 16 | uint32_t{At(bytes, 2)} << 8 | At(bytes, 3);
}

std::string Number(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string Header(Code code, uint8_t id, size_t length, const Authenticator& authenticator) {
  std::string header;
  header += static_cast<char>(code);
  header += static_cast<char>(id);
  header += static_cast<char>(length >> 8);
  header += static_cast<char>(length & 0xff);
  header += std::string(View(authenticator));
  return header;
}

bool IsEqual(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// What one attribute says. False: it is malformed.
bool TakeAttribute(uint8_t type, absl::string_view value, Response& response) {
  switch (static_cast<Attribute>(type)) {
    case Attribute::kReplyMessage:
      response.reply_message.append(value.data(), value.size());
      return true;
    case Attribute::kFramedIpAddress:
      if (value.size() != 4) return false;
      response.framed_ipv4 = sys::SocketAddress::Ipv4(NumberAt(value), 0);
      return true;
    case Attribute::kFramedIpv6Address: {
      if (value.size() != 16) return false;
      std::array<uint8_t, 16> bytes;
      std::copy(value.begin(), value.end(), bytes.begin());
      response.framed_ipv6 = sys::SocketAddress::Ipv6(bytes, 0);
      return true;
    }
    case Attribute::kAcctInterimInterval:
      if (value.size() != 4) return false;
      response.interim_seconds = NumberAt(value);
      return true;
    default:
      return true;
  }
}

}  // namespace

void Request::Add(Attribute type, absl::string_view value) {
  value = value.substr(0, kMostAttributeBytes);
  // The Message-Authenticator takes 18 bytes more.
  if (kHeaderBytes + 18 + attributes_.size() + 2 + value.size() > kMostPacketBytes) return;
  attributes_ += static_cast<char>(type);
  attributes_ += static_cast<char>(value.size() + 2);
  attributes_.append(value.data(), value.size());
}

void Request::AddNumber(Attribute type, uint32_t value) { Add(type, Number(value)); }

void Request::AddAddress(Attribute ipv4, Attribute ipv6, const sys::SocketAddress& address) {
  if (address.family() == sys::AddressFamily::kIpv4) Add(ipv4, Number(address.ipv4()));
  if (address.family() == sys::AddressFamily::kIpv6) {
    Add(ipv6, absl::string_view(reinterpret_cast<const char*>(address.ipv6().data()), address.ipv6().size()));
  }
}

bool Request::AddPassword(absl::string_view password, absl::string_view secret) {
  if (password.size() > kMostPasswordBytes) return false;
  std::string hidden(password);
  hidden.resize(std::max<size_t>(16, (password.size() + 15) / 16 * 16), '\0');
  absl::string_view before = View(authenticator_);
  for (size_t at = 0; at < hidden.size(); at += 16) {
    const Authenticator mask = Md5({secret, before});
    for (size_t i = 0; i < 16; ++i) hidden[at + i] = static_cast<char>(hidden[at + i] ^ static_cast<char>(mask[i]));
    before = absl::string_view(hidden).substr(at, 16);
  }
  Add(Attribute::kUserPassword, hidden);
  return true;
}

std::string Request::Seal(absl::string_view secret) {
  if (code_ == Code::kAccountingRequest) {
    const size_t length = kHeaderBytes + attributes_.size();
    authenticator_ = Md5({Header(code_, id_, length, Authenticator{}), attributes_, secret});
    return Header(code_, id_, length, authenticator_) + attributes_;
  }
  std::string proof;
  proof += static_cast<char>(Attribute::kMessageAuthenticator);
  proof += static_cast<char>(2 + sizeof(Authenticator));
  const std::string header =
      Header(code_, id_, kHeaderBytes + proof.size() + sizeof(Authenticator) + attributes_.size(), authenticator_);
  const Authenticator digest = HmacMd5(secret, header + proof + std::string(sizeof(Authenticator), '\0') + attributes_);
  return header + proof + std::string(View(digest)) + attributes_;
}

const char* ParseResponse(absl::string_view bytes, const Request& request, absl::string_view secret,
                          Response& response) {
  if (bytes.size() < kHeaderBytes) return "it is too short";
  const size_t length = size_t{At(bytes, 2)} << 8 | At(bytes, 3);
  if (length < kHeaderBytes || length > bytes.size() || length > kMostPacketBytes) return "its length is wrong";
  bytes = bytes.substr(0, length);  // RFC 2865 section 3: what is behind it is padding
  if (At(bytes, 1) != request.id()) return "it has another identifier";
  const Authenticator expected =
      Md5({bytes.substr(0, 4), View(request.authenticator()), bytes.substr(kHeaderBytes), secret});
  if (!IsEqual(bytes.substr(4, sizeof(Authenticator)), View(expected))) return "its authenticator is wrong";

  Response parsed;
  parsed.code = static_cast<Code>(At(bytes, 0));
  size_t proof_at = 0;
  for (size_t at = kHeaderBytes; at < length;) {
    if (length - at < 2) return "an attribute is cut";
    const size_t size = At(bytes, at + 1);
    if (size < 2 || size > length - at) return "the length of an attribute is wrong";
    const absl::string_view value = bytes.substr(at + 2, size - 2);
    if (static_cast<Attribute>(At(bytes, at)) == Attribute::kMessageAuthenticator) {
      if (proof_at != 0 || value.size() != sizeof(Authenticator)) return "its Message-Authenticator is malformed";
      proof_at = at + 2;
    } else if (!TakeAttribute(At(bytes, at), value, parsed)) {
      return "an attribute is malformed";
    }
    at += size;
  }
  if (proof_at != 0) {
    std::string zeroed(bytes);
    std::copy_n(View(request.authenticator()).begin(), sizeof(Authenticator), zeroed.begin() + 4);
    std::fill_n(zeroed.begin() + static_cast<long>(proof_at), sizeof(Authenticator), '\0');
    if (!IsEqual(bytes.substr(proof_at, sizeof(Authenticator)), View(HmacMd5(secret, zeroed)))) {
      return "its Message-Authenticator is wrong";
    }
  }
  switch (parsed.code) {
    case Code::kAccessAccept:
    case Code::kAccessReject:
    case Code::kAccessChallenge:
      if (proof_at == 0) return "it has no Message-Authenticator (CVE-2024-3596): the server must send it";
      break;
    case Code::kAccountingResponse:
      break;
    default:
      return "it is no answer";
  }
  response = std::move(parsed);
  return nullptr;
}

}  // namespace sluice::auth::radius
