#include "protocols/service/proxied_clients.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/accounting/result_code.h"
#include "protocols/service/exchange_observer.h"
#include "protocols/service/proxy_header.h"
#include "protocols/service/snapshot.h"
#include "sys/thread/clock.h"

namespace sluice::service {
namespace {

using accounting::ResultCode;

constexpr ResultCode kBadHeader{90, "bad_proxy_header"};
constexpr ResultCode kNotListed{1, "proxy_header_not_allowed"};

// Records why the connection is closed, which its owner does.
void Refuse(const std::shared_ptr<const ServiceContext>& context, const sys::SocketAddress& sender, ResultCode result,
            absl::string_view why, int error) {
  ExchangeObserver observer(context, sender);
  observer.record().text = why;
  observer.Refuse(result, accounting::Phase::kAccept, error);
}

// Unix sockets have no addresses to be listed; `-H` with a list is refused for them.
bool Believes(const ProxyProtocol& protocol, const sys::SocketAddress& sender) {
  return protocol.sources.empty() ||
         std::any_of(protocol.sources.begin(), protocol.sources.end(),
                     [&](const sys::AddressRange& range) { return range.Contains(sender); });
}

// One connection whose header has begun. Owned by whoever waits for the rest of it. Worker only.
class Introduction final : public relay::AdmissionHandler, public std::enable_shared_from_this<Introduction> {
 public:
  Introduction(std::shared_ptr<const ServiceContext> context, std::shared_ptr<relay::AdmissionHandler> handler,
               sys::MonotonicNanos now)
      : context_(std::move(context)),
        handler_(std::move(handler)),
        deadline_(now + context_->options->timeouts.string_short) {}

  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress sender,
                  relay::Admission admission) override {
    while (reader_.state() == ProxyHeaderReader::State::kReading) {
      const int heard = Hear(client.get());
      if (heard == -EAGAIN && sys::Clock::System().Now() < deadline_) {
        return worker.Admit(shared_from_this(), std::move(client), std::move(sender), std::move(admission));
      }
      if (heard == -EAGAIN) return Late(sender);
      if (heard < 0) return Refuse(context_, sender, accounting::result::kClientReadFailed, "", -heard);
      if (heard == 0) return Refuse(context_, sender, kBadHeader, "PROXY header: it is cut short", 0);
    }
    if (reader_.state() == ProxyHeaderReader::State::kFailed) {
      return Refuse(context_, sender, kBadHeader, absl::StrCat("PROXY header: ", reader_.fault()), 0);
    }
    const bool named = reader_.client().family() != sys::AddressFamily::kNone;
    worker.Admit(handler_, std::move(client), named ? reader_.client() : std::move(sender), std::move(admission));
  }

  void OnSilent(sys::UniqueFd, sys::SocketAddress sender, relay::Admission) override { Late(sender); }
  // Never 0, which would mean not to wait.
  int64_t first_byte_nanos() const override {
    return std::max<int64_t>(sys::kNanosPerMilli, deadline_ - sys::Clock::System().Now());
  }
  relay::ConnectionBudget& budget() override { return *context_->budget; }

 private:
  // Takes of what is there as much as the header has: bytes that are looked at first are the client's when the header
  // ends among them. The number taken, 0 at the end, or -errno.
  int Hear(int client) {
    char buffer[512];
    ssize_t count;
    do {
      count = recv(client, buffer, sizeof buffer, MSG_PEEK | MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) return count == 0 ? 0 : -errno;
    const size_t taken = reader_.Feed(absl::string_view(buffer, static_cast<size_t>(count)));
    // They are in the queue: they come, all at once.
    if (taken > 0 && recv(client, buffer, taken, MSG_DONTWAIT) != static_cast<ssize_t>(taken)) return -EIO;
    return static_cast<int>(count);
  }

  void Late(const sys::SocketAddress& sender) const {
    Refuse(context_, sender, accounting::result::kTimeout, "PROXY header: it did not come in time", ETIMEDOUT);
  }

  const std::shared_ptr<const ServiceContext> context_;
  const std::shared_ptr<relay::AdmissionHandler> handler_;
  const sys::MonotonicNanos deadline_;
  ProxyHeaderReader reader_;
};

}  // namespace

void ProxiedClients::OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress sender,
                                relay::Admission admission) {
  if (!Believes(context_->options->proxy_protocol, sender)) {
    return Refuse(context_, sender, kNotListed, "PROXY header: its sender is not among the sources of -H", 0);
  }
  auto introduction = std::make_shared<Introduction>(context_, handler_, worker.now());
  introduction->OnAdmitted(worker, std::move(client), std::move(sender), std::move(admission));
}

void ProxiedClients::OnSilent(sys::UniqueFd, sys::SocketAddress sender, relay::Admission) {
  Refuse(context_, sender, accounting::result::kTimeout, "PROXY header: it did not come in time", ETIMEDOUT);
}

}  // namespace sluice::service
