#ifndef SLUICE_PROTOCOLS_ACCOUNTING_TRAFFIC_RECORD_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_TRAFFIC_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "protocols/accounting/compact_string.h"
#include "protocols/accounting/result_code.h"
#include "relay/end_reason.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"

namespace sluice::accounting {

// Addresses that few formats ask for (`%Q %q %i %e`, json), apart so that a record without them stays small.
struct RecordAddresses {
  sys::SocketAddress requested;  // what the client asked for, where that is not the upstream (a parent, or no connect)
  sys::SocketAddress internal;   // the client's socket, this side
  sys::SocketAddress external;   // the upstream's socket, this side
};

// One exchange for the access log. Filled in as the exchange goes on: by the handshake, then by the session's observer,
// which holds it for as long as the connection lives; at the end it is moved into the log thread.
//
//   TrafficRecord record;
//   record.service = "PROXY";  record.service_port = 3128;
//   record.client = peer;
//   record.user = "alice";     // copies
//   ...
//   channel->Submit(std::move(record));
//
// Strings come from the network as they are; the formatter makes them safe to print.
//
// Thread-compatible; move-only (Clone() for an interim record).
struct TrafficRecord {
  TrafficRecord() = default;
  TrafficRecord(TrafficRecord&&) noexcept = default;
  TrafficRecord& operator=(TrafficRecord&&) noexcept = default;
  TrafficRecord Clone() const { return *this; }

  sys::SocketAddress client;
  sys::SocketAddress upstream;  // whom we connected to (a parent, if there is one), or tried last; kNone before that

  int64_t started_wall_nanos = 0;  // since 1970; the record's own time (`%H:%M:%S`) is the end: this and the duration
  int64_t duration_nanos = 0;
  int64_t bytes_from_upstream = 0;  // %I
  int64_t bytes_from_client = 0;    // %O

  const char* service = "-";  // a literal: "PROXY", "SOCKS5", ...
  ResultCode result;
  CompactString user;  // empty = none
  CompactString host;  // the name (or numeric address) as the client gave it; empty when it gave an address in binary
  CompactString text;  // the request line, without a password
  std::unique_ptr<RecordAddresses> addresses;  // null = none of them known

  int error = 0;  // errno, positive; 0 = no system call failed
  uint16_t service_port = 0;
  uint8_t hops = 0;  // parents passed (`%h`)
  Phase phase = Phase::kAccept;
  relay::EndSide side = relay::EndSide::kUs;
  relay::DataPath path_from_client = relay::DataPath::kNone;
  relay::DataPath path_from_upstream = relay::DataPath::kNone;
  // `logdump`: the exchange goes on; bytes and duration are since the last such record.
  bool interim = false;

  // For writing; makes the block.
  RecordAddresses& Addresses() {
    if (addresses == nullptr) addresses = std::make_unique<RecordAddresses>();
    return *addresses;
  }
  // `requested` where it was set, else the upstream.
  const sys::SocketAddress& Requested() const {
    const bool set = addresses != nullptr && addresses->requested.family() != sys::AddressFamily::kNone;
    return set ? addresses->requested : upstream;
  }

  // Takes what the engine says of the end: bytes, paths, duration (added to the handshake's, which is there already),
  // reason and its code. The phase becomes kRelay unless the reason is a connect that failed.
  void TakeReport(const relay::SessionReport& report);

  // What the log queue is charged for this record.
  size_t HeldBytes() const {
    return sizeof(TrafficRecord) + user.HeapBytes() + host.HeapBytes() + text.HeapBytes() +
           (addresses == nullptr ? 0 : sizeof(RecordAddresses));
  }

 private:
  TrafficRecord(const TrafficRecord& other);
};

// An idle relayed connection may cost 640 bytes of user memory in all; this is held by each.
static_assert(sizeof(TrafficRecord) <= 176, "kept per idle connection: see the memory budget in relay/README.md");

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_TRAFFIC_RECORD_H_
