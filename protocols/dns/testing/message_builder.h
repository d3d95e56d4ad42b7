#ifndef SLUICE_PROTOCOLS_DNS_TESTING_MESSAGE_BUILDER_H_
#define SLUICE_PROTOCOLS_DNS_TESTING_MESSAGE_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice::dns::testing {

constexpr uint16_t kTypeA = 1;
constexpr uint16_t kTypeCname = 5;
constexpr uint16_t kTypeSoa = 6;
constexpr uint16_t kTypePtr = 12;
constexpr uint16_t kTypeAaaa = 28;

// A resource record for a message that a test builds. `data` is the wire form.
struct TestRecord {
  std::string owner;
  uint16_t type = 0;
  uint32_t ttl = 60;
  std::string data;
};

// Text to wire form; `name` may end in a dot.
std::string WireNameOf(absl::string_view name);

TestRecord A(absl::string_view owner, absl::string_view address, uint32_t ttl = 60);
TestRecord Aaaa(absl::string_view owner, absl::string_view address, uint32_t ttl = 60);
TestRecord Cname(absl::string_view owner, absl::string_view target, uint32_t ttl = 60);
TestRecord Ptr(absl::string_view owner, absl::string_view target, uint32_t ttl = 60);
TestRecord Soa(absl::string_view owner, uint32_t ttl, uint32_t minimum);

struct TestMessage {
  uint16_t id = 0;
  uint16_t flags = 0x8180;  // an answer; recursion desired and available
  std::string question;     // name
  uint16_t type = kTypeA;
  std::vector<TestRecord> answers = {};
  std::vector<TestRecord> authorities = {};
};

// Nothing is compressed.
std::string BuildMessage(const TestMessage& message);

}  // namespace sluice::dns::testing

#endif  // SLUICE_PROTOCOLS_DNS_TESTING_MESSAGE_BUILDER_H_
