#ifndef SLUICE_PROTOCOLS_HTTP_GATE_H_
#define SLUICE_PROTOCOLS_HTTP_GATE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protocols/access/request_facts.h"
#include "protocols/accounting/result_code.h"
#include "protocols/auth/identity.h"
#include "protocols/http/answer.h"
#include "protocols/http/request_head.h"
#include "protocols/service/service_context.h"
#include "sys/net/socket_address.h"

namespace sluice::http {

// Whom one service lets through, and whom not: every reason to refuse a request that is well-formed. Asked before its
// target is resolved, for the first request of a client and for each later one, and again for the addresses.
//
// A request on a kept connection is served by the session that runs if the verdict is the same; whatever else comes of
// it, the client leaves the session and its request begins anew.
//
// What `auth` and the rules say of the client is auth::Gate's; here it becomes an answer.
//
// Thread-safe; no call blocks.
class Gate {
 public:
  struct Verdict {
    Answer answer;
    accounting::ResultCode result;
    bool ok() const { return result.ok(); }
  };

  // `context` outlives this object.
  Gate(const service::ServiceContext* context, std::string own_name)
      : context_(context), own_name_(std::move(own_name)) {}

  // It is not proxied, it went in a circle, it ends here, or it lacks the credentials that -u2 insists on.
  Verdict OfRequest(const RequestHead& request) const;

  // Where the target is this proxy itself (`client`: a socket of the client, whose own end may be another address than
  // the one that is listened on). `target` is the address that is to blame.
  Verdict OfAddresses(absl::string_view host, const std::vector<sys::SocketAddress>& addresses, int client,
                      sys::SocketAddress& target) const;

  // The answer for a client that `auth` or the rules do not let in: 407 where credentials might help (and the service
  // asks for any), 403 where the rules have said no, 503 beyond a limit.
  Verdict OfDenial(accounting::ResultCode code) const;

 private:
  bool LeadsToUs(const sys::SocketAddress& address, int client) const;

  const service::ServiceContext* const context_;
  const std::string own_name_;
};

// What a request is to rules, and what its client says of itself (nothing where that is malformed). The views of the
// facts are the request's.
//
// Pure. Thread-safe.
access::RequestFacts FactsOf(const RequestHead& request, const sys::SocketAddress& client);
auth::Claim ClaimOf(const RequestHead& request);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_GATE_H_
