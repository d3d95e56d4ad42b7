#ifndef SLUICE_PROTOCOLS_ACCESS_REQUEST_FACTS_H_
#define SLUICE_PROTOCOLS_ACCESS_REQUEST_FACTS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "protocols/access/operation.h"
#include "protocols/access/own_addresses.h"
#include "sys/net/socket_address.h"

namespace sluice::access {

// The day of the week and the time of day, in the time zone of the process.
struct LocalTime {
  uint8_t weekday = 0;  // 0 = Sunday
  int32_t second = 0;   // of the day: 0 to 86399

  // Reads no file once Prepare() was called. Thread-safe.
  static LocalTime At(int64_t wall_nanos);
  // Loads the time zone. Start-up and reload only (reads /etc/localtime or TZ).
  static void Prepare();
};

// What is known of a request when rules look at it. Views must live as long as the call that gets them.
//
// Thread-compatible.
struct RequestFacts {
  absl::string_view user;  // as far as it may be believed; empty: none, which rules call "-"
  sys::SocketAddress client;

  // Whom the request is for. `host`: as the client named it, a name or the text of an address; empty where it gave an
  // address in binary, whose text then stands for it. `target`: its address; kNone: not known. A unix target has its
  // SocketAddress, and its text for a host.
  absl::string_view host;
  sys::SocketAddress target;
  uint16_t port = 0;  // 0: none
  Operation operation = Operation::kConnect;

  LocalTime time;  // when the connection began
  // Of the rule that has let the request through once already (local redirection); 0: none.
  int weight = 0;
  // What `local` means besides the ranges that every machine has; null: nothing.
  const OwnAddresses* own = nullptr;
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_REQUEST_FACTS_H_
