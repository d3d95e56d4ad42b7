#include "protocols/gateways/tls_watch.h"

#include "protocols/gateways/tls_result.h"

namespace sluice::gateways {
namespace {

constexpr int kUp = 0;

}  // namespace

TlsWatch::TlsWatch(tls::HandshakeCheck::Level level, absl::string_view behind_hello, const relay::RelayOptions* relay,
                   int64_t silence_nanos)
    : relay_(relay), options_(*relay), check_(std::make_unique<tls::HandshakeCheck>(level)) {
  options_.idle_nanos = silence_nanos;
  check_->FromClient(behind_hello);
}

accounting::ResultCode TlsWatch::verdict() const { return failed_ ? result::kTlsCheckFailed : accounting::result::kOk; }

relay::Framer::Step TlsWatch::OnBytes(int direction, absl::string_view bytes, std::string&) {
  using State = tls::HandshakeCheck::State;
  const State state = direction == kUp ? check_->FromClient(bytes) : check_->FromServer(bytes);
  Step step;
  step.taken = bytes.size();
  if (state == State::kFailed) {
    failed_ = true;
    // A client that the upstream has refused may know why.
    if (direction != kUp && check_->server_has_alerted()) step.pass_bytes = bytes.size();
    step.next = Next::kClose;
    return step;
  }
  step.pass_bytes = bytes.size();
  if (state == State::kPassed) {
    check_.reset();
    step.next = Next::kTunnel;
  }
  return step;
}

// Before the handshake was complete.
relay::Framer::Next TlsWatch::OnEnd(int, int, int64_t) {
  failed_ = true;
  return Next::kClose;
}

}  // namespace sluice::gateways
