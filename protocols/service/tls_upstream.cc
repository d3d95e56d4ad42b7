#include "protocols/service/tls_upstream.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "protocols/service/handshake_pool.h"
#include "protocols/service/snapshot.h"
#include "protocols/service/tls_transform.h"
#include "relay/connecting.h"
#include "relay/session_observer.h"
#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/blocking/connect.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"
#include "tls/handshake.h"

namespace sluice::service {
namespace {

bool NeedsTls(const ServiceContext& context, const relay::Handoff& handoff) {
  return context.options->tls.client != nullptr && !handoff.upstream.valid() && !handoff.plan.candidates.empty() &&
         !handoff.plan.listener.valid();
}

// 0 and a connected socket, or an errno.
int ConnectTo(const ServiceContext& context, const sys::SocketAddress& address, const relay::Handoff& handoff,
              sys::MonotonicNanos deadline, sys::UniqueFd& connected) {
  sys::ErrnoOr<sys::UniqueFd> fd = relay::StartConnect(address, handoff.plan.outgoing);
  if (!fd.ok()) return fd.error().code;
  if (const int error = sys::AwaitConnected(fd->get(), deadline, context.cancellation); error != 0) return error;
  connected = *std::move(fd);
  return 0;
}

// The handshake with a connected upstream: 0, or an errno.
int Secure(const ServiceContext& context, const std::string& host, const sys::SocketAddress& address,
           relay::Handoff& handoff, sys::UniqueFd connected, const FaultSink& fault) {
  const sys::MonotonicNanos deadline = sys::Clock::System().Now() + context.options->timeouts.string_short;
  tls::Established established = tls::Connect(*context.options->tls.client, connected.get(), host, address.ToString(),
                                              deadline, context.cancellation);
  if (established.engine == nullptr) {
    if (fault != nullptr) fault(established.fault);
    return established.error;
  }
  handoff.upstream_is_tcp = address.is_ip();
  handoff.upstream_transform = std::make_unique<TlsTransform>(std::move(established.engine));
  handoff.observer->OnConnected(connected.get(), address);
  handoff.answer = handoff.observer->AnswerConnected(connected.get());
  handoff.upstream = std::move(connected);
  return 0;
}

}  // namespace

void SecureUpstream(const ServiceContext& context, const std::string& host, relay::Handoff& handoff,
                    const FaultSink& fault) {
  if (!NeedsTls(context, handoff)) return;
  const std::vector<sys::SocketAddress> candidates = std::move(handoff.plan.candidates);
  handoff.plan.candidates.clear();
  const size_t count = std::min<size_t>(candidates.size(), relay::ConnectPlan::kMostCandidates);
  const sys::MonotonicNanos all = sys::Clock::System().Now() + context.options->timeouts.connect;
  for (size_t i = 0; i < count; ++i) {
    sys::UniqueFd connected;
    const sys::MonotonicNanos now = sys::Clock::System().Now();
    // An address that does not answer leaves those behind it their share.
    const sys::MonotonicNanos deadline = now + std::max<int64_t>(0, all - now) / static_cast<int64_t>(count - i);
    int error = ConnectTo(context, candidates[i], handoff, deadline, connected);
    if (error == 0) error = Secure(context, host, candidates[i], handoff, std::move(connected), fault);
    if (error == 0) return;
    handoff.plan.error = error;
    handoff.observer->OnConnectFailed(candidates[i], error);
    // An upstream that is there and is not the right one is so at its other addresses, too.
    if (error == EPROTO || error == ECANCELED) return;
  }
}

void AdoptSecured(relay::Worker& worker, const ServiceContext& context, std::string host, relay::Handoff handoff,
                  FaultSink fault) {
  worker.role().AssertHeld();
  if (!NeedsTls(context, handoff)) return worker.Adopt(std::move(handoff));
  HandshakePool* const pool = context.handshakes;
  // Shared by the two ends that the task can have.
  auto shared = std::make_shared<relay::Handoff>(std::move(handoff));
  HandshakePool::Task task;
  task.destination = shared->plan.candidates.front().ToString();
  task.client_address = sys::SocketAddress::OfPeer(shared->client.get()).IpText();
  task.deadline = sys::Clock::System().Now() + context.options->timeouts.connect;
  task.run = [shared, &context, &worker, host = std::move(host), fault = std::move(fault)] {
    SecureUpstream(context, host, *shared, fault);
    worker.Post(std::move(*shared));
  };
  task.shed = [shared, &worker] {
    shared->plan.candidates.clear();
    shared->plan.error = ENOBUFS;
    worker.Post(std::move(*shared));
  };
  pool->Submit(std::move(task));
}

}  // namespace sluice::service
