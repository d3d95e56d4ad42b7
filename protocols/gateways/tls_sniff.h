#ifndef SLUICE_PROTOCOLS_GATEWAYS_TLS_SNIFF_H_
#define SLUICE_PROTOCOLS_GATEWAYS_TLS_SNIFF_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "protocols/service/service_context.h"
#include "relay/acceptor.h"
#include "relay/worker.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::gateways {

// `tlspr`: TLS clients are connected with the server whose name their ClientHello has (SNI), at `-P`, the port that
// they were going to (`-T`), or 443. The TLS is theirs and goes through untouched, the hello first.
//
// Who names nobody gets where it was going (`-T`), or the destination of `-h`. So does, with `-c0`, who speaks another
// protocol, or says nothing for BYTE_LONG because the server is to speak first. `-c1` insists on a ClientHello, `-c2`
// to `-c4` on more (tls_watch.h). A hello that could be read in two ways is refused whatever the level; a TLS client
// that is refused is told so by an alert.
//
// The hello may come in any pieces within STRING_SHORT, and may have 16 KB (tls/client_hello.h); it is waited for as
// first bytes are, at the price of a watch, a timer and its bytes.
//
// Thread-safe; OnAdmitted and OnSilent on workers only.
class TlsSniff final : public relay::AdmissionHandler {
 public:
  explicit TlsSniff(std::shared_ptr<const service::ServiceContext> context) : context_(std::move(context)) {}

  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                  relay::Admission admission) override;
  void OnSilent(sys::UniqueFd client, sys::SocketAddress client_address, relay::Admission admission) override;
  int64_t first_byte_nanos() const override;
  relay::ConnectionBudget& budget() override { return *context_->budget; }

 private:
  const std::shared_ptr<const service::ServiceContext> context_;
};

}  // namespace sluice::gateways

#endif  // SLUICE_PROTOCOLS_GATEWAYS_TLS_SNIFF_H_
