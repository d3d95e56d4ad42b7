#ifndef SLUICE_RELAY_TESTING_LINE_FRAMER_H_
#define SLUICE_RELAY_TESTING_LINE_FRAMER_H_

#include <string>
#include <utility>
#include <vector>

#include "relay/framer.h"

namespace sluice::relay::testing {

// The least protocol that needs a framer: a message is a line with the number of bytes that follow. A request's line
// goes on with "U" before it, an answer's with "D"; bodies go as they are. Behind the number an answer may say how
// the session goes on after it: C kClose, R kReturn, A kAbort, T kTunnel. Behind that of a request: W, the client waits
// for a word before it sends the body; E, nothing more goes to the upstream (kEndUp).
class LineFramer final : public Framer {
 public:
  // What became of the descriptors that left the session.
  struct Log {
    int64_t undelivered_bytes = -1;  // as of the last end of the upstream in an exchange
    std::vector<sys::UniqueFd> freed;
    std::vector<Returned> returned;
  };

  // `begun`: the handshake has read a request already.
  LineFramer(Log* log, const RelayOptions* tunnel, bool begun = false)
      : log_(log), tunnel_(tunnel), request_(begun ? Request::kDone : Request::kHead) {}

  Step OnBytes(int direction, absl::string_view bytes, std::string& out) override;
  Next OnEnd(int direction, int error, int64_t undelivered_bytes) override;
  bool HeadInPart() const override { return !partial_.empty(); }
  int64_t WaitNanos() const override { return waits_ ? 2 * sys::kNanosPerSecond : 0; }
  std::string OnWaited() override {
    waits_ = false;
    return "go on\n";
  }
  int64_t RawBytes(int direction) const override { return left_[direction]; }
  Next OnRaw(int direction, int64_t bytes) override;
  bool Wants(int direction) const override { return direction != 0 || request_ != Request::kDone; }
  bool HoldsInput() const override { return request_ == Request::kHead && held_.find('\n') != std::string::npos; }
  std::string TakeHeld() override { return std::exchange(held_, {}); }
  std::string TakeAnswer() override { return std::exchange(answer_, {}); }
  bool Quiet() const override { return request_ == Request::kHead; }
  int64_t QuietNanos() const override { return 10 * sys::kNanosPerSecond; }
  bool UpstreamIsReusable() const override { return Quiet() && upstream_ok_; }
  const RelayOptions* TunnelOptions() const override { return tunnel_; }
  void OnUpstreamFree(Worker*, sys::UniqueFd upstream) override { log_->freed.push_back(std::move(upstream)); }
  void OnReturned(Worker*, Returned returned) override { log_->returned.push_back(std::move(returned)); }

 private:
  enum class Request { kHead, kBody, kDone };

  Step OnRequest(absl::string_view bytes, std::string& out);
  Step OnAnswer(absl::string_view bytes, std::string& out);
  Next EndExchange();

  Log* const log_;
  const RelayOptions* const tunnel_;
  Request request_;
  bool answering_ = false;
  bool upstream_ok_ = true;
  bool waits_ = false;
  bool ends_up_ = false;
  Next after_ = Next::kGoOn;
  int64_t left_[2] = {0, 0};
  std::string held_;
  std::string partial_;  // an answer's line so far
  std::string answer_;
};

}  // namespace sluice::relay::testing

#endif  // SLUICE_RELAY_TESTING_LINE_FRAMER_H_
