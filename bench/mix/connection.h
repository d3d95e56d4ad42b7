#ifndef SLUICE_BENCH_MIX_CONNECTION_H_
#define SLUICE_BENCH_MIX_CONNECTION_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "bench/mix/stream.h"
#include "bench/mix/wire.h"
#include "bench/tool/reactor.h"
#include "sys/net/socket_address.h"

namespace sluice::bench::mix {

// How an exchange, or a connection on its way to one, can fail.
enum class Failure : uint8_t {
  kConnect,   // no connection to the proxy (to the origin without one)
  kTunnel,    // the proxy refused CONNECT or SOCKS, or ended the connection instead of an answer
  kNoAnswer,  // the connection ended, or broke, before the first byte of the answer
  kCut,       // it did so within the answer
  kHead,      // the answer is no HTTP, not 200, has no length or a wrong one, or is of another exchange
  kContent,   // the body is not what was asked for
  kExtra,     // more came than was asked for
  kNoEnd,     // the answer came, and then not the end that should follow it
  kStall,     // nothing came for --timeout seconds
};
constexpr size_t kFailures = 9;
const char* FailureName(Failure failure);

// One of the load's connections: opened, kept idle, given an exchange now and then. Lives as long as the load; opened
// again after each end. Thread-compatible.
class Connection final : public Reactor::Handler {
 public:
  struct Route {
    Via via = Via::kNone;
    sys::SocketAddress next;  // the proxy, or the origin where there is none
    sys::SocketAddress origin;
    bool http_half_close = false;  // through an HTTP proxy, too, a last exchange shuts the sending side
  };

  // Called from Open(), Begin(), Expire() and events, never from within another callback.
  class Owner {
   public:
    virtual void OnOpen(Connection& connection) = 0;  // idle now
    // The exchange is over and all is well. `idle`: the connection may be given the next one; else it is closing.
    virtual void OnAnswered(Connection& connection, bool idle) = 0;
    // It is closing. `in_exchange`: this ends one.
    virtual void OnFailed(Connection& connection, Failure failure, const std::string& what, bool in_exchange) = 0;
    // An idle one that the other side ended, which it may. It is closing.
    virtual void OnIdleEnd(Connection& connection) = 0;
    // It may be opened again.
    virtual void OnClosed(Connection& connection) = 0;

   protected:
    ~Owner() = default;
  };

  Connection(Reactor& reactor, const Route& route, Owner& owner)
      : reactor_(reactor), route_(route), owner_(owner), stream_(reactor) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // REQUIRES: never opened, or OnClosed().
  void Open();
  // Starts an exchange; `due` is kept for whoever measures. REQUIRES: idle.
  void Begin(const Request& request, sys::MonotonicNanos due);
  // Fails with kStall what has been waiting since before `since` with nothing coming.
  void Expire(sys::MonotonicNanos since);

  bool in_exchange() const { return state_ == State::kHead || state_ == State::kBody || state_ == State::kEnd; }
  sys::MonotonicNanos due() const { return due_; }
  const Request& request() const { return request_; }

  void OnReady(uint16_t ready) override;
  void OnReleased() override;

  // Its place in the owner's list of idle ones; the owner's to set.
  static constexpr size_t kNotIdle = SIZE_MAX;
  size_t idle_index = kNotIdle;

 private:
  enum class State : uint8_t { kClosed, kConnecting, kTunnel, kIdle, kHead, kBody, kEnd, kClosing };

  void Connected();
  void SendRest();
  void ReadOn();
  void Take(absl::string_view bytes);
  void TakeTunnel(absl::string_view bytes);
  void TakeHead(absl::string_view bytes);
  void TakeBody(absl::string_view bytes);
  void BodyComplete();
  void Ended(int error);
  void Fail(Failure failure, const std::string& what);
  void Close();

  Reactor& reactor_;
  const Route& route_;
  Owner& owner_;
  Stream stream_;
  State state_ = State::kClosed;
  bool shut_ = false;  // after the request is sent, the sending side is shut
  bool last_ = false;  // the connection ends after this exchange
  int tunnel_stage_ = 0;
  std::string unsent_;
  std::string head_;  // received, not yet a whole head
  Request request_;
  int64_t body_bytes_ = 0;  // received
  sys::MonotonicNanos due_ = 0;
  sys::MonotonicNanos moved_ = 0;  // when something happened last
};

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_CONNECTION_H_
