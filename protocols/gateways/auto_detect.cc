#include "protocols/gateways/auto_detect.h"

#include <sys/socket.h>

#include <cerrno>

#include "protocols/service/snapshot.h"

namespace sluice::gateways {

int64_t AutoDetect::first_byte_nanos() const { return context_->options->timeouts.string_long; }

void AutoDetect::OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                            relay::Admission admission) {
  uint8_t first = 0;
  ssize_t count;
  do {
    count = recv(client.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  // One that leaves without a word has asked for nothing: no record, as with HTTP.
  if (count <= 0) return;
  constexpr uint8_t kSocks4 = 4;
  constexpr uint8_t kSocks5 = 5;
  constexpr uint8_t kTlsHandshake = 22;
  const bool socks = first == kSocks4 || first == kSocks5;
  const auto& handler = socks ? handlers_.socks : first == kTlsHandshake ? handlers_.tls : handlers_.http;
  handler->OnAdmitted(worker, std::move(client), std::move(client_address), std::move(admission));
}

}  // namespace sluice::gateways
