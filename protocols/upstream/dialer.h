#ifndef SLUICE_PROTOCOLS_UPSTREAM_DIALER_H_
#define SLUICE_PROTOCOLS_UPSTREAM_DIALER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "protocols/accounting/result_code.h"
#include "protocols/upstream/endpoint.h"
#include "protocols/upstream/parent_chain.h"
#include "protocols/upstream/parent_health.h"
#include "protocols/upstream/parent_list.h"
#include "relay/handoff.h"
#include "sys/base/unique_fd.h"
#include "sys/blocking/wait.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::upstream {

// One request on its way to parents.
struct DialRequest {
  const ParentList* parents = nullptr;
  Endpoint destination;
  Speaks speaks = Speaks::kOther;

  sys::SocketAddress client;
  sys::SocketAddress local;  // at which the client came in: for PROXY headers
  std::string user;          // under which the client is known here, for templates
  std::string claimed_user;  // what the client has given, for `*`
  std::string claimed_password;
  // How many proxies of our kind the request has passed before this one (SocksAsk::depth), and what its Via says.
  int depth = 0;
  std::string via;
  uint64_t sticky = 0;  // ChainFacts::sticky
};

// How a service connects. Everything is borrowed and outlives the call.
struct DialOptions {
  const relay::OutgoingOptions* outgoing = nullptr;
  // The addresses of a name, best first; empty: there are none, or not in time.
  absl::FunctionRef<std::vector<sys::SocketAddress>(const std::string& name)> resolve;
  ParentHealth* health = nullptr;
  int64_t connect_nanos = 15 * sys::kNanosPerSecond;  // CONNECT: for each connection
  int64_t chain_nanos = 60 * sys::kNanosPerSecond;    // CHAIN: for each parent's consent
  int retries = 2;                                    // `parentretries`: how often the chain is drawn again
  std::string own_name = {};                          // our entry in Via
  const sys::Cancellation* cancellation = nullptr;
};

// What came of it.
struct Dialed {
  sys::UniqueFd fd;             // O_NONBLOCK; invalid: it failed
  std::string early;            // what came behind the last parent's consent
  sys::SocketAddress upstream;  // whom we connected to, or tried last
  bool is_tcp = false;
  int hops = 0;                            // parents passed
  const Parent* whole_requests = nullptr;  // the end of the chain is this HTTP proxy, which wants them
  // The bound address that the last parent told, if it did.
  sys::SocketAddress bound;

  // Of a failure: the result, an errno that says the same (for replies to the client; of a parent's refusal the one
  // that stands for its reason), and a sentence for people, without credentials.
  accounting::ResultCode result;
  int error = 0;
  std::string what;

  bool ok() const { return fd.valid(); }
};

// Connects to the first of a chain and asks one parent after the other; draws another chain when one fails by the fault
// of a parent, at most `retries` times. Nothing that one try has heard is seen by the next.
//
// Handshake thread only (may block): up to connect_nanos, and chain_nanos for each parent, for each try.
Dialed Dial(const DialRequest& request, const DialOptions& options);

// The user and password for a parent. Pure.
struct ParentCredentials {
  std::string user;
  std::string password;
};
ParentCredentials CredentialsFor(const Parent& parent, const DialRequest& request);

// The options with the source address of the route (`extip`): a network has its free bits drawn, 0.0.0.0 and :: stand
// for the client's own address.
relay::OutgoingOptions OutgoingFor(const relay::OutgoingOptions& base, const Parent* source,
                                   const sys::SocketAddress& client);

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_DIALER_H_
