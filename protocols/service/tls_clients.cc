#include "protocols/service/tls_clients.h"

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/accounting/result_code.h"
#include "protocols/service/exchange_observer.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/snapshot.h"
#include "protocols/service/tls_transform.h"
#include "sys/thread/clock.h"
#include "tls/handshake.h"

namespace sluice::service {
namespace {

// What is agreed on with those who offer several protocols. Null: whatever the destination speaks.
const std::vector<std::string>* ProtocolsOf(ServiceType type) {
  static const auto* const kHttp = new std::vector<std::string>{"http/1.1"};
  return type == ServiceType::kHttpProxy ? kHttp : nullptr;
}

void Refuse(const std::shared_ptr<const ServiceContext>& context, const sys::SocketAddress& client,
            accounting::ResultCode result, absl::string_view why, int error) {
  ExchangeObserver observer(context, client);
  observer.record().text = absl::StrCat("TLS: ", why);
  observer.Refuse(result, accounting::Phase::kHandshake, error);
}

accounting::ResultCode ResultOf(int error) {
  if (error == ETIMEDOUT) return accounting::result::kTimeout;
  if (error == ECANCELED) return accounting::result::kShutdown;
  return error == EPROTO ? accounting::result::kClientTlsFailed : accounting::result::kClientReadFailed;
}

}  // namespace

// A client on its way through its handshake; shared by the two ends that the task can have, and by the worker's task.
struct TlsClients::Arrival {
  sys::UniqueFd client;
  sys::SocketAddress address;
  relay::Admission admission;
  std::unique_ptr<relay::Transform> transform;
};

void TlsClients::OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                            relay::Admission admission) {
  auto arrival =
      std::make_shared<Arrival>(Arrival{std::move(client), std::move(client_address), std::move(admission), nullptr});
  HandshakePool::Task task;
  task.client_address = arrival->address.IpText();
  task.deadline = sys::Clock::System().Now() + context_->options->timeouts.string_short;
  task.run = [self = shared_from_this(), arrival, &worker] { self->Handshake(worker, arrival); };
  task.shed = [self = shared_from_this(), arrival] {
    Refuse(self->context_, arrival->address, accounting::result::kOverloaded, "there was no thread for the handshake",
           0);
    arrival->client.reset();
    arrival->admission.Return();
  };
  context_->handshakes->Submit(std::move(task));
}

void TlsClients::Handshake(relay::Worker& worker, const std::shared_ptr<Arrival>& arrival) const {
  const ServiceOptions& options = *context_->options;
  const sys::MonotonicNanos deadline = sys::Clock::System().Now() + options.timeouts.string_short;
  tls::Established established = tls::Accept(*options.tls.server, arrival->client.get(), ProtocolsOf(options.type),
                                             deadline, context_->cancellation);
  if (established.engine == nullptr) {
    Refuse(context_, arrival->address, ResultOf(established.error), established.fault, established.error);
    arrival->client.reset();
    return arrival->admission.Return();
  }
  arrival->transform = std::make_unique<TlsTransform>(std::move(established.engine));
  worker.Run([handler = handler_, arrival](relay::Worker& worker) {
    handler->OnSecured(worker, std::move(arrival->client), std::move(arrival->transform), std::move(arrival->address),
                       std::move(arrival->admission));
  });
}

void TlsClients::OnSilent(sys::UniqueFd client, sys::SocketAddress client_address, relay::Admission admission) {
  Refuse(context_, client_address, accounting::result::kTimeout, "no handshake was begun in time", ETIMEDOUT);
  client.reset();
  admission.Return();
}

}  // namespace sluice::service
