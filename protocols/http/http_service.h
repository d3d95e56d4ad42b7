#ifndef SLUICE_PROTOCOLS_HTTP_HTTP_SERVICE_H_
#define SLUICE_PROTOCOLS_HTTP_HTTP_SERVICE_H_

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "protocols/dns/question.h"
#include "protocols/http/forwarding.h"
#include "protocols/http/gate.h"
#include "protocols/http/idle_upstreams.h"
#include "protocols/service/service_context.h"
#include "relay/relay_options.h"
#include "relay/worker.h"

namespace sluice::http {

// One running `proxy`: what all its clients share. Held by its handler and by each session, which so keep everything
// alive that they refer to.
//
// Thread-safe but where a method says otherwise.
class HttpService : public std::enable_shared_from_this<HttpService> {
 public:
  explicit HttpService(std::shared_ptr<const service::ServiceContext> context);

  const service::ServiceContext& context() const { return *context_; }
  const std::shared_ptr<const service::ServiceContext>& shared_context() const { return context_; }
  const service::ServiceOptions& options() const { return *context_->options; }
  const ForwardingPolicy& policy() const { return policy_; }
  const Gate& gate() const { return gate_; }
  dns::FamilyPreference dns_family() const;
  // Of exchanges: idle for CONNECTION_SHORT. Tunnels have options().relay.
  const relay::RelayOptions& exchange_options() const { return exchange_options_; }

  // An upstream that waits on this worker, and one that is to wait there. Worker only.
  std::optional<IdleUpstreams::Upstream> TakeIdle(const relay::Worker& worker, const std::string& route) const;
  void PutIdle(relay::Worker& worker, std::string route, IdleUpstreams::Upstream upstream) const;

 private:
  static constexpr int kMostWorkers = 256;  // those beyond keep no upstreams

  // Of one worker, and touched by it alone.
  struct OfWorker {
    IdleUpstreams idle;
    bool swept = false;  // once a second, as long as there are any
  };

  const std::shared_ptr<const service::ServiceContext> context_;
  ForwardingPolicy policy_;
  Gate gate_;
  relay::RelayOptions exchange_options_;
  mutable std::array<std::unique_ptr<OfWorker>, kMostWorkers> of_worker_;
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_HTTP_SERVICE_H_
