#include "bench/mix/tls_wrap.h"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bench/mix/listener.h"
#include "bench/mix/tls_side.h"
#include "bench/tool/arguments.h"
#include "bench/tool/command.h"
#include "bench/tool/reactor.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/net/socket_options.h"

namespace sluice::bench::mix {
namespace {

constexpr char kHelp[] =
    R"(usage: mix tls --accept|--connect --listen ADDRESS:PORT --to ADDRESS:PORT
               [--cert FILE --key FILE] [--tls 1.2|1.3] [--cpu N] [--seconds S]

Takes connections and hands each on, byte for byte and end for end:

  --accept   takes TLS, hands on plain: stands before an origin
  --connect  takes plain, hands on TLS: stands before a proxy that takes TLS

so that a load without TLS runs over it:

  mix load -> mix tls --connect -> a proxy that ends TLS -> mix origin
  mix load -> a proxy that begins TLS -> mix tls --accept -> mix origin

Prints "ready ADDRESS:PORT" once it listens.

  --listen ADDRESS:PORT    port 0: one that is free
  --to ADDRESS:PORT        where each connection goes on
  --cert FILE --key FILE   PEM (default: a certificate of its own making)
  --tls 1.2|1.3            only this version
  --cpu N                  runs on this CPU only
  --seconds S              ends by itself after so long (default 3600)

No certificate is checked. Exit status: 0, 1 if it cannot run, 2 for wrong usage.
)";

constexpr int kMovesPerVisit = 16;
constexpr size_t kReadBytes = 64 * 1024;

struct Wrapping {
  SslContext context;
  bool accepting = false;
  sys::SocketAddress to;
};

// A connection that was taken and the one it goes on by. Destroys itself.
class Pair final {
 public:
  static void Start(Reactor& reactor, const Wrapping& wrapping, sys::UniqueFd fd) {
    auto* pair = new Pair(reactor);
    if (pair->sides_[0].tls.stream().Adopt(std::move(fd), pair->sides_[0]) != 0) {
      delete pair;
      return;
    }
    ++pair->open_;
    if (pair->sides_[1].tls.stream().Connect(wrapping.to, pair->sides_[1]) != 0) return pair->Abort();
    ++pair->open_;
    if (!pair->sides_[wrapping.accepting ? 0 : 1].tls.StartTls(wrapping.context.get(), wrapping.accepting)) {
      pair->Abort();
    }
  }

 private:
  struct Side final : Reactor::Handler {
    Side(Reactor& reactor, Pair& owner) : tls(reactor), pair(owner) {}
    void OnReady(uint16_t ready) override {
      if (!tls.stream().open()) return;
      tls.stream().Note(ready);
      pair.Move();
    }
    void OnReleased() override {
      tls.stream().Released();
      if (--pair.open_ == 0) delete &pair;
    }

    TlsSide tls;
    Pair& pair;
    std::string rest;    // read from here, not yet taken by the other side
    bool ended = false;  // nothing more comes from here
    bool shut = false;   // and the other side was told
  };

  explicit Pair(Reactor& reactor) : reactor_(reactor), sides_{Side(reactor, *this), Side(reactor, *this)} {}

  void Move() {
    for (int direction = 0; direction < 2; ++direction) {
      if (!MoveFrom(sides_[direction], sides_[1 - direction])) return Abort();
    }
    if (sides_[0].shut && sides_[1].shut) Close();
  }

  // Until one of them blocks or the budget is over; false if the pair is broken.
  bool MoveFrom(Side& from, Side& to) {
    for (int i = 0; i < kMovesPerVisit; ++i) {
      ssize_t result = 1;
      if (!from.rest.empty()) {
        result = to.tls.Send(from.rest);
        if (result > 0) from.rest.erase(0, static_cast<size_t>(result));
      } else if (from.shut) {
        return true;
      } else if (from.ended) {
        result = to.tls.ShutWrite();
        from.shut = result == 0;
      } else {
        result = Read(from);
      }
      if (result == -EAGAIN) return true;
      if (result < 0) return false;
    }
    reactor_.Again(from);
    return true;
  }

  static ssize_t Read(Side& from) {
    static char scratch[kReadBytes];
    const ssize_t got = from.tls.Receive(scratch, sizeof scratch);
    if (got > 0) from.rest.assign(scratch, static_cast<size_t>(got));
    if (got == 0) from.ended = true;
    return got;
  }

  // A broken connection must not look like one that ended.
  void Abort() {
    for (Side& side : sides_) {
      if (side.tls.stream().open()) sys::SetLingerReset(side.tls.stream().fd());
    }
    Close();
  }

  void Close() {
    for (Side& side : sides_) side.tls.stream().Close();
  }

  Reactor& reactor_;
  int open_ = 0;
  Side sides_[2];  // 0: that was taken
};

absl::StatusOr<SslContext> MakeContext(const Wrapping& wrapping, const std::string& version,
                                       const std::string& certificate, const std::string& key) {
  return wrapping.accepting ? AcceptingContext(version, certificate, key) : ConnectingContext(version);
}

}  // namespace

int RunTls(std::vector<std::string> words) {
  Arguments arguments(std::move(words));
  if (arguments.Flag("help")) return Help(kHelp);
  Wrapping wrapping;
  wrapping.accepting = arguments.Flag("accept");
  if (arguments.Flag("connect") == wrapping.accepting) arguments.Fault("--accept or --connect is needed, one of them");
  const sys::SocketAddress address = arguments.Address("listen");
  wrapping.to = arguments.Address("to");
  if (!address.is_ip()) arguments.Fault("--listen ADDRESS:PORT is needed");
  if (!wrapping.to.is_ip()) arguments.Fault("--to ADDRESS:PORT is needed");
  const std::string certificate = arguments.Text("cert", "");
  const std::string key = arguments.Text("key", "");
  if (certificate.empty() != key.empty()) arguments.Fault("--cert and --key are needed together");
  if (!wrapping.accepting && !certificate.empty()) arguments.Fault("--connect shows no certificate: no --cert");
  const std::string version = arguments.Text("tls", "");
  if (!version.empty() && version != "1.2" && version != "1.3") {
    arguments.Fault(absl::StrCat("--tls ", version, ": 1.2 or 1.3 is needed"));
  }
  const ServerOptions options = TakeServerOptions(arguments);
  if (absl::Status status = arguments.Finish(); !status.ok()) return Usage("mix tls", status);
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = PrepareProcess(options.cpu);
  if (!reactor.ok()) return CannotRun("mix tls", reactor.status());
  absl::StatusOr<SslContext> context = MakeContext(wrapping, version, certificate, key);
  if (!context.ok()) return CannotRun("mix tls", context.status());
  wrapping.context = *std::move(context);
  absl::StatusOr<std::unique_ptr<Listener>> listener =
      Listener::Open(**reactor, address, [&](sys::UniqueFd fd) { Pair::Start(**reactor, wrapping, std::move(fd)); });
  if (!listener.ok()) return CannotRun("mix tls", listener.status());
  return Serve(**reactor, (*listener)->address().ToString(), options);
}

}  // namespace sluice::bench::mix
