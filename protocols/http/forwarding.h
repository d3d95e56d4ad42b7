#ifndef SLUICE_PROTOCOLS_HTTP_FORWARDING_H_
#define SLUICE_PROTOCOLS_HTTP_FORWARDING_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/http/authority.h"
#include "protocols/http/request_head.h"
#include "protocols/http/response_head.h"
#include "protocols/service/snapshot.h"
#include "sys/net/socket_address.h"

namespace sluice::http {

// What origins are told of the client.
using Disclosure = service::ClientDisclosure;

// How heads are read and passed on by one service.
struct ForwardingPolicy {
  Disclosure disclosure = Disclosure::kForwarded;
  std::string own_name;           // "HOSTNAME:PORT": `by` of Forwarded, the pseudonym in Via
  Authority default_target = {};  // whom requests are for that name nobody; without a host: they are refused

  // The upstream is a parent that is an HTTP proxy itself: it is given whole URLs, and this Proxy-Authorization (empty:
  // none). Its challenges go to the client where the credentials are the client's.
  bool to_proxy = false;
  std::string proxy_authorization = {};
  bool passes_challenges = false;

  const Authority* fallback() const { return default_target.host.empty() ? nullptr : &default_target; }
};

// Writes the head for the origin: the request line in origin form (absolute form for a proxy) with HTTP/1.1, Host from
// the target, the client's
// fields but those that end here, then length and disclosure anew. What ends here: hop-by-hop fields (RFC 9110 section
// 7.6.1), those that Connection names, every Proxy-* (credentials for us among them), and what a length or a host could
// be read from a second time. An Upgrade that ParseRequestHead has let through is asked for again.
//
// `random` is for Disclosure::kRandom. Pure. Thread-safe.
void AppendRequestHead(const RequestHead& request, const ForwardingPolicy& policy, const sys::SocketAddress& client,
                       uint32_t random, std::string& out);

// How an answer goes on to its client.
struct ResponseForm {
  int client_minor_version = 1;
  bool keep_alive = false;  // the connection of the client stays
  bool chunked = false;     // the body is passed on chunked
  bool challenge = false;   // Proxy-Authenticate goes on: the client's own credentials are meant
};

// Writes the head for the client, by the same rules: status line with HTTP/1.1, fields, length and Connection anew. 101
// names its protocol again.
//
// Pure. Thread-safe.
void AppendResponseHead(const ResponseHead& response, const ResponseForm& form, std::string& out);

// The fields of a chunked body's trailer that may go on: none that has a part in framing, routing, or authentication
// (RFC 9110 section 6.5.1). `lines` are those of ChunkReader::trailer(). False: it is malformed.
//
// Pure. Thread-safe.
bool AppendTrailer(absl::string_view lines, std::string& out);

// The request has passed this proxy before: Via has our name, as the received-by of one of its entries, or Forwarded
// has it more than once (once may be a namesake on the way).
//
// Pure. Thread-safe.
bool HasPassedHere(const RequestHead& request, absl::string_view own_name);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_FORWARDING_H_
