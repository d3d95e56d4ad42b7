#include "protocols/dns/answer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "protocols/dns/address_order.h"
#include "protocols/dns/host_name.h"
#include "protocols/dns/wire.h"

namespace sluice::dns {
namespace {

constexpr uint16_t kTypeA = static_cast<uint16_t>(RecordType::kA);
constexpr uint16_t kTypePtr = static_cast<uint16_t>(RecordType::kPtr);
constexpr uint16_t kTypeAaaa = static_cast<uint16_t>(RecordType::kAaaa);
constexpr uint16_t kTypeCname = 5;
constexpr uint16_t kTypeSoa = 6;

constexpr int kMaxAliases = 16;
constexpr size_t kMaxNames = 16;

struct Record {
  WireName owner;
  uint16_t type = 0;
  int64_t ttl_seconds = 0;
  sys::SocketAddress address;  // A, AAAA
  WireName target;             // CNAME, PTR
  uint32_t minimum = 0;        // SOA
};

void ReadData(WireReader& reader, Record& record) {
  switch (record.type) {
    case kTypeA:
      record.address = sys::SocketAddress::Ipv4(reader.U32(), 0);
      return;
    case kTypeAaaa: {
      std::array<uint8_t, 16> bytes{};
      const absl::Span<const uint8_t> data = reader.Bytes(bytes.size());
      std::copy(data.begin(), data.end(), bytes.begin());
      record.address = sys::SocketAddress::Ipv6(bytes, 0);
      return;
    }
    case kTypeCname:
    case kTypePtr:
      record.target = reader.Name();
      return;
    case kTypeSoa:
      reader.Name();
      reader.Name();
      reader.Bytes(16);  // serial, refresh, retry, expire
      record.minimum = reader.U32();
      return;
  }
}

Record ReadRecord(WireReader& reader) {
  Record record;
  record.owner = reader.Name();
  record.type = reader.U16();
  const uint16_t record_class = reader.U16();
  // A TTL with the top bit set is taken as large, not as 0 (RFC 8767 section 4); the limit cuts it.
  record.ttl_seconds = std::min<int64_t>(reader.U32(), kMaxTtlSeconds);
  const uint16_t length = reader.U16();
  const size_t start = reader.position();
  if (record_class != kClassIn) record.type = 0;
  ReadData(reader, record);
  const size_t read = reader.position() - start;
  // A type that is read must have exactly the data that its length says; others are skipped.
  if (read == 0) {
    reader.Bytes(length);
  } else if (read != length) {
    reader.Fail();
  }
  return record;
}

// The records of the answer section by owner: an alias, and those that were asked for.
struct Section {
  absl::flat_hash_map<WireName, Record> aliases;
  std::vector<Record> wanted;
};

Section ReadAnswers(WireReader& reader, uint16_t count, RecordType type) {
  Section section;
  for (int i = 0; i < count && reader.ok(); ++i) {
    Record record = ReadRecord(reader);
    if (record.type == static_cast<uint16_t>(type)) {
      section.wanted.push_back(std::move(record));
    } else if (record.type == kTypeCname) {
      WireName owner = record.owner;
      section.aliases.try_emplace(std::move(owner), std::move(record));
    }
  }
  return section;
}

// What a negative answer may be kept for, RFC 2308 section 5.
int64_t ReadNegativeTtl(WireReader& reader, uint16_t count) {
  int64_t ttl_seconds = kMinNegativeTtlSeconds;
  for (int i = 0; i < count && reader.ok(); ++i) {
    const Record record = ReadRecord(reader);
    if (record.type == kTypeSoa) ttl_seconds = std::min<int64_t>(record.ttl_seconds, record.minimum);
  }
  return std::clamp(ttl_seconds, kMinNegativeTtlSeconds, kMaxNegativeTtlSeconds);
}

void Take(const Record& record, RecordType type, Answer& answer) {
  if (type == RecordType::kPtr) {
    const std::string name = ToHostName(record.target);
    const bool usable = !name.empty() && ValidateHostName(name).ok() && !AddressLiteral(name);
    if (usable && answer.names.size() < kMaxNames) answer.names.push_back(name);
    return;
  }
  const sys::AddressFamily family = type == RecordType::kA ? sys::AddressFamily::kIpv4 : sys::AddressFamily::kIpv6;
  if (record.address.family() != family || record.address.is_any()) return;
  if (answer.addresses.size() < kMaxAddresses) answer.addresses.push_back(record.address);
}

// Follows the aliases from `name` to the records. False if there are too many aliases, or a loop of them.
bool TakeChain(const Section& section, WireName name, RecordType type, Answer& answer) {
  answer.ttl_seconds = kMaxTtlSeconds;
  for (int hops = 0; hops <= kMaxAliases; ++hops) {
    bool found = false;
    for (const Record& record : section.wanted) {
      if (record.owner != name) continue;
      found = true;
      answer.ttl_seconds = std::min(answer.ttl_seconds, record.ttl_seconds);
      Take(record, type, answer);
    }
    if (found) return true;
    const auto alias = section.aliases.find(name);
    if (alias == section.aliases.end()) return true;
    answer.ttl_seconds = std::min(answer.ttl_seconds, alias->second.ttl_seconds);
    name = alias->second.target;
  }
  return false;
}

}  // namespace

Outcome OutcomeOfRcode(uint16_t rcode) {
  switch (rcode) {
    case 0:
      return Outcome::kOk;
    case 3:
      return Outcome::kNotFound;
    case 4:
    case 5:
      return Outcome::kRefused;
    default:
      return Outcome::kServerFailure;
  }
}

Answer ParseAnswer(absl::Span<const uint8_t> message, absl::string_view name, RecordType type) {
  const WireName wanted = ToWireName(name);
  WireReader reader(message);
  reader.U16();  // the id, which the transport has compared
  const uint16_t flags = reader.U16();
  const uint16_t questions = reader.U16();
  const uint16_t answers = reader.U16();
  const uint16_t authorities = reader.U16();
  reader.U16();  // additional records are of no use here
  Answer answer;
  if ((flags & (kResponseFlag | kOpcodeMask | kTruncatedFlag)) != kResponseFlag) return answer;
  const Outcome outcome = OutcomeOfRcode(flags & kRcodeMask);
  if (reader.ok() && outcome != Outcome::kOk && outcome != Outcome::kNotFound) {
    // A failing server may leave out the question (RFC 1035 does not say), and the rest does not matter.
    answer.outcome = outcome;
    return answer;
  }
  if (questions != 1 || reader.Name() != wanted || reader.U16() != static_cast<uint16_t>(type)) return answer;
  if (reader.U16() != kClassIn) return answer;

  const Section section = ReadAnswers(reader, answers, type);
  Answer positive;
  const bool chain_ends = TakeChain(section, wanted, type, positive);
  const bool found = !positive.addresses.empty() || !positive.names.empty();
  if (reader.ok() && chain_ends && found && outcome == Outcome::kOk) {
    positive.outcome = Outcome::kOk;
    return positive;
  }
  const int64_t negative_ttl_seconds = ReadNegativeTtl(reader, authorities);
  if (!reader.ok() || !chain_ends) return answer;
  answer.outcome = outcome == Outcome::kOk ? Outcome::kNoData : outcome;
  answer.ttl_seconds = negative_ttl_seconds;
  return answer;
}

}  // namespace sluice::dns
