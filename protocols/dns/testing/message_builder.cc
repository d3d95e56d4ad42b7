#include "protocols/dns/testing/message_builder.h"

#include <arpa/inet.h>

#include <cstdlib>

#include "absl/strings/str_split.h"

namespace sluice::dns::testing {
namespace {

std::string U16(uint32_t value) { return {static_cast<char>(value >> 8), static_cast<char>(value)}; }
std::string U32(uint32_t value) { return U16(value >> 16) + U16(value & 0xffff); }

std::string AddressBytes(int family, absl::string_view text) {
  char bytes[16];
  // A typing error in a test must not become a test of something else.
  if (inet_pton(family, std::string(text).c_str(), bytes) != 1) std::abort();
  return std::string(bytes, family == AF_INET ? 4 : 16);
}

std::string RecordBytes(const TestRecord& record) {
  return WireNameOf(record.owner) + U16(record.type) + U16(1) + U32(record.ttl) +
         U16(static_cast<uint32_t>(record.data.size())) + record.data;
}

}  // namespace

std::string WireNameOf(absl::string_view name) {
  std::string wire;
  for (const absl::string_view label : absl::StrSplit(name, '.', absl::SkipEmpty())) {
    wire.push_back(static_cast<char>(label.size()));
    wire.append(label.data(), label.size());
  }
  wire.push_back('\0');
  return wire;
}

TestRecord A(absl::string_view owner, absl::string_view address, uint32_t ttl) {
  return {std::string(owner), kTypeA, ttl, AddressBytes(AF_INET, address)};
}
TestRecord Aaaa(absl::string_view owner, absl::string_view address, uint32_t ttl) {
  return {std::string(owner), kTypeAaaa, ttl, AddressBytes(AF_INET6, address)};
}
TestRecord Cname(absl::string_view owner, absl::string_view target, uint32_t ttl) {
  return {std::string(owner), kTypeCname, ttl, WireNameOf(target)};
}
TestRecord Ptr(absl::string_view owner, absl::string_view target, uint32_t ttl) {
  return {std::string(owner), kTypePtr, ttl, WireNameOf(target)};
}
TestRecord Soa(absl::string_view owner, uint32_t ttl, uint32_t minimum) {
  return {std::string(owner), kTypeSoa, ttl,
          WireNameOf("ns.test") + WireNameOf("hostmaster.test") + U32(1) + U32(2) + U32(3) + U32(4) + U32(minimum)};
}

std::string BuildMessage(const TestMessage& message) {
  std::string bytes = U16(message.id) + U16(message.flags) + U16(1) +
                      U16(static_cast<uint32_t>(message.answers.size())) +
                      U16(static_cast<uint32_t>(message.authorities.size())) + U16(0);
  bytes += WireNameOf(message.question) + U16(message.type) + U16(1);
  for (const TestRecord& record : message.answers) bytes += RecordBytes(record);
  for (const TestRecord& record : message.authorities) bytes += RecordBytes(record);
  return bytes;
}

}  // namespace sluice::dns::testing
