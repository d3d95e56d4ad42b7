// Whatever a name server sends: read, bounded, and consistent. The first byte of the input chooses the type that was
// asked for; the rest is the message.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "protocols/dns/address_order.h"
#include "protocols/dns/answer.h"
#include "protocols/dns/host_name.h"
#include "protocols/dns/question.h"

namespace sluice::dns {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckAnswer(const Answer& answer, RecordType type) {
  Require(answer.addresses.size() <= kMaxAddresses);
  Require(answer.names.size() <= 16);
  Require(answer.ttl_seconds >= 0 && answer.ttl_seconds <= kMaxTtlSeconds);
  Require((answer.outcome == Outcome::kOk) == (!answer.addresses.empty() || !answer.names.empty()));
  for (const sys::SocketAddress& address : answer.addresses) {
    Require(!address.is_any() && address.port() == 0);
    Require(address.family() == (type == RecordType::kA ? sys::AddressFamily::kIpv4 : sys::AddressFamily::kIpv6));
  }
  for (const std::string& name : answer.names) Require(ValidateHostName(name).ok());
}

}  // namespace
}  // namespace sluice::dns

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::dns;
  if (size == 0) return 0;
  const RecordType types[] = {RecordType::kA, RecordType::kAaaa, RecordType::kPtr};
  const RecordType type = types[data[0] % 3];
  const Answer answer = ParseAnswer(absl::MakeConstSpan(data + 1, size - 1), "www.fuzz.test", type);
  CheckAnswer(answer, type);
  const Result result = CombineAnswers("www.fuzz.test", FamilyPreference::kPreferIpv6, &answer, &answer);
  if (type != RecordType::kPtr) Require(result.ok() == (answer.outcome == Outcome::kOk));
  Require(result.ok() == result.status.ok());
  return 0;
}
