#ifndef SLUICE_PROTOCOLS_HTTP_HTTP_SERVICE_H_
#define SLUICE_PROTOCOLS_HTTP_HTTP_SERVICE_H_

#include <array>
#include <memory>
#include <string>

#include "protocols/http/answer.h"
#include "protocols/http/forwarding.h"
#include "protocols/http/idle_upstreams.h"
#include "protocols/http/request_head.h"
#include "protocols/http/result.h"
#include "protocols/service/service_context.h"
#include "relay/relay_options.h"
#include "relay/worker.h"

namespace sluice::http {

// One running `proxy`: what all its clients share. Held by its handler and by each session, which so keep everything
// alive that they refer to.
//
// Thread-safe but where a method says otherwise.
class HttpService {
 public:
  explicit HttpService(std::shared_ptr<const service::ServiceContext> context);

  const service::ServiceContext& context() const { return *context_; }
  const std::shared_ptr<const service::ServiceContext>& shared_context() const { return context_; }
  const service::ServiceOptions& options() const { return *context_->options; }
  const ForwardingPolicy& policy() const { return policy_; }
  // Of exchanges: idle for CONNECTION_SHORT. Tunnels have options().relay.
  const relay::RelayOptions& exchange_options() const { return exchange_options_; }

  // The idle upstreams of this worker; null: none are kept. Worker only.
  IdleUpstreams* IdleOf(const relay::Worker& worker) const;

  // What is wrong with a request that is well-formed: it is not proxied, it went in a circle, it ends here, or it lacks
  // the credentials that -u2 insists on. ok() when nothing is.
  struct Verdict {
    Answer answer;
    accounting::ResultCode result;
    bool ok() const { return result.ok(); }
  };
  Verdict Examine(const RequestHead& request) const;

 private:
  static constexpr int kMostWorkers = 256;  // those beyond keep no upstreams

  const std::shared_ptr<const service::ServiceContext> context_;
  ForwardingPolicy policy_;
  relay::RelayOptions exchange_options_;
  mutable std::array<std::unique_ptr<IdleUpstreams>, kMostWorkers> idle_;  // each its worker's alone
};

// What two requests must have in common to use one connection: "host:port", the host in lower case.
std::string RouteOf(const Authority& authority);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_HTTP_SERVICE_H_
