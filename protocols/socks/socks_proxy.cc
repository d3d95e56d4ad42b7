#include "protocols/socks/socks_proxy.h"

#include <cerrno>

#include "protocols/accounting/result_code.h"
#include "protocols/service/snapshot.h"
#include "protocols/socks/conversation.h"
#include "protocols/socks/exchange.h"
#include "sys/net/socket_options.h"

namespace sluice::socks {

int64_t SocksProxy::first_byte_nanos() const { return context_->options->timeouts.byte_long; }

void SocksProxy::OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                            relay::Admission admission) {
  OnSecured(worker, std::move(client), nullptr, std::move(client_address), std::move(admission));
}

void SocksProxy::OnSecured(relay::Worker& worker, sys::UniqueFd client, std::unique_ptr<relay::Transform> transform,
                           sys::SocketAddress client_address, relay::Admission admission) {
  sys::ApplySocketOptions(client.get(), context_->options->client_socket_options).IgnoreError();
  auto conversation = std::make_shared<Conversation>(context_, client_address, worker.now(), std::move(transform));
  if (context_->log_addresses) conversation->NoteInternal(sys::SocketAddress::OfSocket(client.get()));
  conversation->OnAdmitted(worker, std::move(client), std::move(client_address), std::move(admission));
}

void SocksProxy::OnSilent(sys::UniqueFd, sys::SocketAddress client_address, relay::Admission) {
  Exchange exchange(context_, client_address);
  exchange.Refuse(accounting::result::kTimeout, accounting::Phase::kHandshake, ETIMEDOUT);
}

}  // namespace sluice::socks
