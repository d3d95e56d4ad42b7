#ifndef SLUICE_PROTOCOLS_GATEWAYS_TLS_WATCH_H_
#define SLUICE_PROTOCOLS_GATEWAYS_TLS_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/accounting/result_code.h"
#include "protocols/gateways/client_exchange.h"
#include "relay/framer.h"
#include "relay/relay_options.h"
#include "sys/base/unique_fd.h"
#include "tls/handshake_check.h"

namespace sluice::gateways {

// `tlspr -c2` to `-c4`: lets the handshake pass, and the session go on as a plain relay, once it was what is asked for.
// Every byte goes on as it comes, so that nothing is held; when the handshake turns out to be another one, or has not
// come to that point within STRING_SHORT, the session is closed.
//
// Worker only.
class TlsWatch final : public ClientExchange::Watch {
 public:
  // `behind_hello`: what the client has sent behind its ClientHello already. `relay` outlives the session.
  TlsWatch(tls::HandshakeCheck::Level level, absl::string_view behind_hello, const relay::RelayOptions* relay,
           int64_t silence_nanos);

  const relay::RelayOptions* options() const override { return &options_; }
  accounting::ResultCode verdict() const override;

  Step OnBytes(int direction, absl::string_view bytes, std::string& out) override;
  Next OnEnd(int direction, int error, int64_t undelivered_bytes) override;
  int64_t RawBytes(int) const override { return 0; }
  Next OnRaw(int, int64_t) override { return Next::kGoOn; }
  bool HeadInPart() const override { return check_ != nullptr; }
  bool Wants(int) const override { return true; }
  bool HoldsInput() const override { return false; }
  std::string TakeHeld() override { return {}; }
  std::string TakeAnswer() override { return {}; }
  bool Quiet() const override { return false; }
  int64_t QuietNanos() const override { return options_.idle_nanos; }
  bool UpstreamIsReusable() const override { return false; }
  const relay::RelayOptions* TunnelOptions() const override { return relay_; }
  // Neither happens to it.
  void OnUpstreamFree(relay::Worker*, sys::UniqueFd) override {}
  void OnReturned(relay::Worker*, relay::Returned) override {}

 private:
  const relay::RelayOptions* const relay_;
  relay::RelayOptions options_;
  std::unique_ptr<tls::HandshakeCheck> check_;  // until it has passed: it may hold 32 KB
  bool failed_ = false;
};

}  // namespace sluice::gateways

#endif  // SLUICE_PROTOCOLS_GATEWAYS_TLS_WATCH_H_
