#include "bench/mix/origin.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bench/mix/content.h"
#include "bench/mix/listener.h"
#include "bench/mix/stream.h"
#include "bench/mix/wire.h"
#include "bench/tool/arguments.h"
#include "bench/tool/command.h"
#include "bench/tool/reactor.h"
#include "sys/base/unique_fd.h"

namespace sluice::bench::mix {
namespace {

constexpr char kHelp[] =
    R"(usage: mix origin --listen ADDRESS:PORT [--cpu N] [--seconds S]

The origin of `mix load`: answers its requests until SIGTERM. Prints
"ready ADDRESS:PORT" once it listens.

  --listen ADDRESS:PORT  port 0: one that is free
  --cpu N                runs on this CPU only
  --seconds S            ends by itself after so long (default 3600)

Exit status: 0, 1 if it cannot listen, 2 for wrong usage.
)";

constexpr int kSendsPerVisit = 8;  // of up to 260 KB each: a large answer does not hold up the others
constexpr size_t kReadBytes = 16 * 1024;

// One client connection: a request, its answer, the next request. Destroys itself.
class Serving final : public Reactor::Handler {
 public:
  static void Start(Reactor& reactor, sys::UniqueFd fd) {
    auto* serving = new Serving(reactor);
    if (serving->stream_.Adopt(std::move(fd), *serving) != 0) delete serving;
  }

  void OnReady(uint16_t ready) override {
    if (!stream_.open()) return;
    stream_.Note(ready);
    for (int i = 0; i < kSendsPerVisit; ++i) {
      switch (answering_ ? Answer() : Read()) {
        case Step::kOn:
          break;
        case Step::kWait:
          return;
        case Step::kClose:
          stream_.Close();
          return;
      }
    }
    reactor_.Again(*this);
  }

  void OnReleased() override {
    stream_.Released();
    delete this;
  }

 private:
  enum class Step { kOn, kWait, kClose };

  explicit Serving(Reactor& reactor) : reactor_(reactor), stream_(reactor) {}
  ~Serving() = default;

  Step Read() {
    if (!received_.empty()) {
      size_t head_bytes = 0;
      switch (ParseRequest(received_, &head_bytes, &request_)) {
        case Parsed::kMore:
          break;
        case Parsed::kBad:
          return Step::kClose;
        case Parsed::kDone:
          received_.erase(0, head_bytes);
          head_ = AnswerText(request_);
          body_sent_ = 0;
          answering_ = true;
          return Step::kOn;
      }
    }
    static char scratch[kReadBytes];
    const ssize_t got = stream_.Receive(scratch, sizeof scratch);
    if (got == -EAGAIN) return Step::kWait;
    if (got <= 0) return Step::kClose;
    received_.append(scratch, static_cast<size_t>(got));
    return Step::kOn;
  }

  // The rest of the head and the body in one call. What the client sends meanwhile, its end too, is looked at later.
  Step Answer() {
    iovec pieces[1 + kMostPieces];
    pieces[0] = {head_.data(), head_.size()};
    const int count = ContentPieces(request_.id, body_sent_, request_.bytes - body_sent_, pieces + 1);
    const ssize_t sent = stream_.Send(pieces, 1 + count);
    if (sent == -EAGAIN) return Step::kWait;
    if (sent < 0) return Step::kClose;
    const size_t of_head = std::min(static_cast<size_t>(sent), head_.size());
    head_.erase(0, of_head);
    body_sent_ += sent - static_cast<ssize_t>(of_head);
    if (!head_.empty() || body_sent_ < request_.bytes) return Step::kOn;
    answering_ = false;
    return request_.last ? Step::kClose : Step::kOn;
  }

  Reactor& reactor_;
  Stream stream_;
  std::string received_;  // not yet a whole request
  bool answering_ = false;
  Request request_;
  std::string head_;  // its unsent part
  int64_t body_sent_ = 0;
};

}  // namespace

int RunOrigin(std::vector<std::string> words) {
  Arguments arguments(std::move(words));
  if (arguments.Flag("help")) return Help(kHelp);
  const sys::SocketAddress address = arguments.Address("listen");
  const ServerOptions options = TakeServerOptions(arguments);
  if (!address.is_ip()) arguments.Fault("--listen ADDRESS:PORT is needed");
  if (absl::Status status = arguments.Finish(); !status.ok()) return Usage("mix origin", status);
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = PrepareProcess(options.cpu);
  if (!reactor.ok()) return CannotRun("mix origin", reactor.status());
  absl::StatusOr<std::unique_ptr<Listener>> listener =
      Listener::Open(**reactor, address, [&](sys::UniqueFd fd) { Serving::Start(**reactor, std::move(fd)); });
  if (!listener.ok()) return CannotRun("mix origin", listener.status());
  return Serve(**reactor, (*listener)->address().ToString(), options);
}

}  // namespace sluice::bench::mix
