#ifndef SLUICE_PROTOCOLS_DNS_WIRE_H_
#define SLUICE_PROTOCOLS_DNS_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sluice::dns {

// Numbers of RFC 1035 that are used when messages are read or written.
constexpr size_t kHeaderBytes = 12;
constexpr uint16_t kResponseFlag = 0x8000;
constexpr uint16_t kOpcodeMask = 0x7800;
constexpr uint16_t kTruncatedFlag = 0x0200;
constexpr uint16_t kRcodeMask = 0x000f;
constexpr uint16_t kClassIn = 1;

// A name as on the wire: length-prefixed labels, here in lower case and without the root's zero byte. Unlike the text
// form it compares without any ambiguity: a label may hold every byte, a dot as well.
using WireName = std::string;

// `name` is a valid host name or empty (the root).
WireName ToWireName(absl::string_view name);
// Empty for the root, and for a name with a dot inside a label, which the text form cannot tell from two labels.
std::string ToHostName(const WireName& name);

// Walks over a DNS message. A read past the end, or a damaged name, makes the reader bad for good; a bad reader gives
// zeros and nothing. So a parser reads all that it needs and looks at ok() once.
//
// Borrows the message. Thread-compatible.
class WireReader {
 public:
  explicit WireReader(absl::Span<const uint8_t> message) : message_(message) {}

  bool ok() const { return ok_; }
  size_t position() const { return position_; }

  uint16_t U16();
  uint32_t U32();
  absl::Span<const uint8_t> Bytes(size_t count);

  // Follows compression pointers (section 4.1.4). Each must lead to before everything that was read for this name so
  // far, as every compressing writer does it: there are no loops, and the work is bounded by the length of the name,
  // 255 bytes.
  WireName Name();

  void Fail() { ok_ = false; }

 private:
  bool Has(size_t count);

  const absl::Span<const uint8_t> message_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_WIRE_H_
