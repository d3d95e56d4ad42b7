#include "protocols/gateways/tls_sniff.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/accounting/result_code.h"
#include "protocols/gateways/client_exchange.h"
#include "protocols/gateways/forward.h"
#include "protocols/gateways/tls_result.h"
#include "protocols/gateways/tls_watch.h"
#include "protocols/service/original_destination.h"
#include "protocols/service/snapshot.h"
#include "sys/net/socket_options.h"
#include "sys/thread/clock.h"
#include "tls/client_hello.h"
#include "tls/handshake_check.h"

namespace sluice::gateways {
namespace {

using accounting::Phase;
using State = tls::ClientHelloReader::State;

constexpr uint16_t kHttpsPort = 443;
// What is kept of a client until its hello is whole: 16 KB in records of a few bytes each would take much more.
constexpr size_t kMostBytes = 32 * 1024;
// What a record says of protocols, which a client can make as long as its hello.
constexpr size_t kMostProtocolBytes = 256;

// AlertDescription (RFC 8446 section 6).
enum class Alert : uint8_t { kDecodeError = 50, kInternalError = 80, kUnrecognizedName = 112, kAccessDenied = 49 };

std::string FatalAlert(Alert alert) {
  std::string record("\x15\x03\x01\x00\x02\x02", 6);
  record += static_cast<char>(alert);
  return record;
}

// A blank or a comma of the client's would look like the next field.
void AppendField(absl::string_view text, std::string& out) {
  for (const char c : text) out += c == ' ' || c == ',' ? '?' : c;
}

// "TLSv1.3 www.example.com h2,http/1.1"
std::string TextOf(const tls::ClientHello& hello) {
  std::string text = absl::StrCat(tls::VersionName(hello.version), " ");
  AppendField(hello.server_name.empty() ? "-" : hello.server_name, text);
  const size_t begin = text.size();
  for (const std::string& protocol : hello.protocols) {
    text += text.size() == begin ? ' ' : ',';
    if (text.size() - begin + protocol.size() > kMostProtocolBytes) {
      text += "...";
      break;
    }
    AppendField(protocol, text);
  }
  if (hello.protocols.empty()) text += " -";
  return text;
}

std::optional<tls::HandshakeCheck::Level> LevelOf(service::TlsDemand demand) {
  switch (demand) {
    case service::TlsDemand::kNone:
    case service::TlsDemand::kClientHello:
      return std::nullopt;
    case service::TlsDemand::kServerHello:
      return tls::HandshakeCheck::Level::kServerHello;
    case service::TlsDemand::kServerCertificate:
      return tls::HandshakeCheck::Level::kServerCertificate;
    case service::TlsDemand::kClientCertificate:
      return tls::HandshakeCheck::Level::kClientCertificate;
  }
  return std::nullopt;
}

// Whether there may be somewhere to go for a client that says nothing.
bool TakesSilent(const service::ServiceOptions& options) {
  return options.sniff.demand == service::TlsDemand::kNone &&
         (options.default_target.has_value() || options.transparent);
}

// One client until its hello is whole. Owned by whoever waits for its next bytes. Worker only.
class Listening final : public relay::AdmissionHandler, public std::enable_shared_from_this<Listening> {
 public:
  Listening(std::shared_ptr<const service::ServiceContext> context, const sys::SocketAddress& client,
            relay::Worker& worker)
      : context_(std::move(context)),
        worker_(worker),
        deadline_(worker.now() + context_->options->timeouts.byte_long),
        exchange_(std::make_unique<ClientExchange>(context_, client)) {}

  void NoteInternal(int client) {
    if (context_->log_addresses) exchange_->record().Addresses().internal = sys::SocketAddress::OfSocket(client);
  }

  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                  relay::Admission admission) override {
    const bool first = bytes_.empty();
    const int heard = Listen(client.get());
    if (first && !bytes_.empty()) deadline_ = worker.now() + context_->options->timeouts.string_short;
    if (heard == -EAGAIN && sys::Clock::System().Now() < deadline_) {
      return worker.Admit(shared_from_this(), std::move(client), std::move(client_address), std::move(admission));
    }
    if (heard == -EAGAIN) return OnSilent(std::move(client), std::move(client_address), std::move(admission));
    if (heard < 0) return exchange_->Refuse(accounting::result::kClientReadFailed, Phase::kHandshake, -heard);
    Decide(ArrivalOf(std::move(client), std::move(admission)));
  }

  void OnSilent(sys::UniqueFd client, sys::SocketAddress, relay::Admission admission) override {
    if (bytes_.empty() && TakesSilent(*context_->options)) {
      return ForwardNameless(ArrivalOf(std::move(client), std::move(admission)), result::kNotTls);
    }
    exchange_->Refuse(accounting::result::kTimeout, Phase::kHandshake, ETIMEDOUT);
  }

  // Never 0, which would mean not to wait.
  int64_t first_byte_nanos() const override {
    return std::max<int64_t>(sys::kNanosPerMilli, deadline_ - sys::Clock::System().Now());
  }
  relay::ConnectionBudget& budget() override { return *context_->budget; }

 private:
  // Takes what there is: 0 once something can be decided, -EAGAIN when more is needed, or -errno.
  int Listen(int client) {
    char buffer[4096];
    while (reader_.state() == State::kReading) {
      const ssize_t count = recv(client, buffer, sizeof buffer, MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno == EWOULDBLOCK ? -EAGAIN : -errno;
      if (count == 0) {
        ended_ = true;
        return 0;
      }
      bytes_.append(buffer, static_cast<size_t>(count));
      const size_t before = bytes_.size() - static_cast<size_t>(count);
      reader_.Feed(absl::string_view(bytes_).substr(before));
      if (reader_.state() == State::kReading && bytes_.size() > kMostBytes) return 0;
    }
    return 0;
  }

  Arrival ArrivalOf(sys::UniqueFd client, relay::Admission admission) {
    return {std::move(client), std::move(admission), std::move(exchange_), std::move(bytes_), "", "", "", nullptr};
  }

  // Where this client was going, with -T.
  std::optional<sys::SocketAddress> Original(int client) const {
    if (!context_->options->transparent) return std::nullopt;
    return service::OriginalDestination(client, context_->port);
  }

  // To whom a client is given that names nobody; without anybody it is refused.
  void ForwardNameless(Arrival arrival, accounting::ResultCode otherwise) {
    const service::ServiceOptions& options = *context_->options;
    service::RelayTarget target;
    if (const auto original = Original(arrival.client.get()); original.has_value()) {
      target.address = *original;
    } else if (options.default_target.has_value()) {
      target = *options.default_target;
      if (target.port == 0) target.port = options.sniff.target_port != 0 ? options.sniff.target_port : kHttpsPort;
      if (target.address.is_ip()) target.address.set_port(target.port);
    } else {
      std::string answer = std::move(arrival.not_resolved_answer);
      if (!options.transparent) {
        return Refuse(worker_, std::move(arrival), std::move(answer), otherwise, Phase::kHandshake, 0);
      }
      arrival.exchange->record().upstream = sys::SocketAddress::OfSocket(arrival.client.get());
      return Refuse(worker_, std::move(arrival), std::move(answer), accounting::result::kLoop, Phase::kConnect, ELOOP);
    }
    Forward(worker_, std::move(arrival), std::move(target));
  }

  void Decide(Arrival arrival) {
    switch (reader_.state()) {
      case State::kComplete:
        return OnHello(std::move(arrival));
      case State::kNotTls:
        return OnOther(std::move(arrival));
      case State::kFailed:
        return OnBadHello(reader_.fault(), std::move(arrival));
      case State::kReading:
        break;
    }
    if (!ended_) return OnBadHello("it comes in too many records", std::move(arrival));
    if (arrival.from_client.empty()) return OnOther(std::move(arrival));
    arrival.exchange->record().text = "TLS ClientHello: it is cut short";
    Refuse(worker_, std::move(arrival), "", result::kClientHelloCut, Phase::kHandshake, 0);
  }

  // Another protocol, or a client that has ended without a word.
  void OnOther(Arrival arrival) {
    const accounting::ResultCode code = ended_ ? result::kClientHelloCut : result::kNotTls;
    if (TakesSilent(*context_->options)) return ForwardNameless(std::move(arrival), code);
    Refuse(worker_, std::move(arrival), "", code, Phase::kHandshake, 0);
  }

  void OnBadHello(const char* fault, Arrival arrival) {
    arrival.exchange->record().text = absl::StrCat("TLS ClientHello: ", fault);
    Refuse(worker_, std::move(arrival), FatalAlert(Alert::kDecodeError), result::kBadClientHello, Phase::kHandshake, 0);
  }

  void OnHello(Arrival arrival) {
    const tls::ClientHello& hello = reader_.hello();
    const service::ServiceOptions& options = *context_->options;
    arrival.exchange->record().text = TextOf(hello);
    arrival.not_resolved_answer = FatalAlert(Alert::kUnrecognizedName);
    arrival.loop_answer = arrival.denied_answer = FatalAlert(Alert::kAccessDenied);
    arrival.exchange->set_not_connected_answer(FatalAlert(Alert::kInternalError));
    if (const auto level = LevelOf(options.sniff.demand); level.has_value()) {
      arrival.exchange->set_watch(
          std::make_unique<TlsWatch>(*level, absl::string_view(arrival.from_client).substr(reader_.end()),
                                     &options.relay, options.timeouts.string_short));
    }
    if (hello.server_name.empty()) return ForwardNameless(std::move(arrival), result::kNoServerName);
    service::RelayTarget target;
    target.host_name = hello.server_name;
    target.port = options.sniff.target_port;
    if (target.port == 0) {
      const auto original = Original(arrival.client.get());
      target.port = original.has_value() ? original->port() : kHttpsPort;
    }
    Forward(worker_, std::move(arrival), std::move(target));
  }

  const std::shared_ptr<const service::ServiceContext> context_;
  relay::Worker& worker_;
  sys::MonotonicNanos deadline_;
  std::unique_ptr<ClientExchange> exchange_;
  tls::ClientHelloReader reader_;
  std::string bytes_;
  bool ended_ = false;
};

}  // namespace

// A client that may be silent gets a Listening at once, which knows its worker.
int64_t TlsSniff::first_byte_nanos() const {
  return TakesSilent(*context_->options) ? 0 : context_->options->timeouts.byte_long;
}

void TlsSniff::OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                          relay::Admission admission) {
  sys::ApplySocketOptions(client.get(), context_->options->client_socket_options).IgnoreError();
  auto listening = std::make_shared<Listening>(context_, client_address, worker);
  listening->NoteInternal(client.get());
  listening->OnAdmitted(worker, std::move(client), std::move(client_address), std::move(admission));
}

void TlsSniff::OnSilent(sys::UniqueFd, sys::SocketAddress client_address, relay::Admission) {
  ClientExchange(context_, client_address).Refuse(accounting::result::kTimeout, Phase::kHandshake, ETIMEDOUT);
}

}  // namespace sluice::gateways
