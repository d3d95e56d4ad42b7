#ifndef SLUICE_TLS_HANDSHAKE_H_
#define SLUICE_TLS_HANDSHAKE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sys/blocking/wait.h"
#include "sys/thread/clock.h"
#include "tls/context.h"
#include "tls/record_engine.h"

namespace sluice::tls {

// What came of a handshake: a session that is ready, or why there is none.
struct Established {
  std::unique_ptr<RecordEngine> engine;  // null: it failed
  int error = 0;                         // errno: ETIMEDOUT, ECANCELED, ECONNRESET, ...; EPROTO where TLS has failed
  std::string fault;                     // a sentence for people, of nobody's choosing but ours and the library's

  // "TLSv1.3 TLS_AES_256_GCM_SHA384"; with " resumed" where it was.
  std::string Description() const;
  // The protocol that ALPN agreed on; empty: none.
  std::string protocol() const;
};

// Both run a handshake on a connected, non-blocking socket, whose bytes nobody has read yet. They end by the deadline,
// whatever the other side does, or when cancelled. A failure leaves the socket to the caller, after an alert if there
// was room for one.
//
// Handshake thread only (may block).

// As the server. `protocols` as in ServerContext::NewSession.
Established Accept(const ServerContext& context, int fd, const std::vector<std::string>* protocols,
                   sys::MonotonicNanos deadline, const sys::Cancellation* cancellation);

// As the client of `host` (a name or the text of an address), which the certificate must be for if the context
// verifies; `where` as in ClientContext::NewSession.
Established Connect(const ClientContext& context, int fd, const std::string& host, const std::string& where,
                    sys::MonotonicNanos deadline, const sys::Cancellation* cancellation);

}  // namespace sluice::tls

#endif  // SLUICE_TLS_HANDSHAKE_H_
