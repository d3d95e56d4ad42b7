#ifndef SLUICE_PROTOCOLS_HTTP_KEEPALIVE_FRAMER_H_
#define SLUICE_PROTOCOLS_HTTP_KEEPALIVE_FRAMER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/http/body.h"
#include "protocols/http/forwarding.h"
#include "protocols/http/head.h"
#include "protocols/http/request_head.h"
#include "protocols/http/response_head.h"
#include "relay/framer.h"
#include "sys/net/socket_address.h"

namespace sluice::http {

// The exchanges of one client with one upstream: each request, and its answer, one after the other. Both heads are
// rewritten, both bodies delimited; what makes a message ambiguous ends the connection (head.h, message_length.h,
// chunked.h). Knows no sockets, no clock and no log: HttpSession adds those.
//
//   client's direction              upstream's direction
//   kHead: the next request may     (nothing may come: what does is thrown away, and the upstream with it)
//          come
//   kBody: its body goes on         kHead: 1xx and then the answer's head are awaited
//   kDone: nothing is read until    kBody: its body goes on
//          the answer is over       over: kHead again, for both
//
// A request that this session cannot serve, or that has not come whole in one read, or that is wrong, is held, and the
// client leaves the session with it: whoever serves it anew (kReturn) has the deadlines and the answers for it.
//
// Worker only.
class KeepaliveFramer : public relay::Framer {
 public:
  // `policy` outlives this object.
  explicit KeepaliveFramer(const ForwardingPolicy* policy) : policy_(policy) {}
  // Another one, of the parent that the upstream is. Before Begin().
  void UsePolicy(const ForwardingPolicy* policy) { policy_ = policy; }

  // The first request, which the handshake has read: gives its head for the upstream, which has not been sent. `raw` is
  // the head as it came, `behind` what was read behind it. `reused`: the upstream has served others, so that its end in
  // place of an answer may mean only that it was too late. The request is then sent again, if that does no harm: when
  // its method is one that may be repeated (RFC 9110 section 9.2.2), or none of its bytes has arrived.
  std::string Begin(const RequestHead& request, absl::string_view raw, std::string behind, bool reused);

  Step OnBytes(int direction, absl::string_view bytes, std::string& out) override;
  Next OnEnd(int direction, int error, int64_t undelivered_bytes) override;
  bool HeadInPart() const override { return partial_ != nullptr; }
  // Of OnWaited(): a client that asked by Expect has not been told to go on, nor has it by itself.
  bool AwaitsContinue() const { return awaits_continue_; }
  std::string OnWaited() override;
  int64_t RawBytes(int direction) const override;
  Next OnRaw(int direction, int64_t bytes) override;
  bool Wants(int direction) const override;
  bool HoldsInput() const override { return request_ != Request::kDone && !held_.empty(); }
  std::string TakeHeld() override { return std::move(held_); }
  std::string TakeAnswer() override { return std::move(answer_); }
  bool Quiet() const override { return request_ == Request::kHead; }
  bool UpstreamIsReusable() const override { return upstream_ok_ && !pinned_; }

  // What is kept of a request that may have to be sent again. Forms and calls of programs fit; an upload that is longer
  // should not begin on an upstream that may be about to end.
  static constexpr size_t kMostRetryBytes = 16 * 1024;

  // The request that is held was sent once already, on a connection that turned out to be too old: it gets a fresh one.
  bool wants_fresh_upstream() const { return wants_fresh_; }

 protected:
  // How an exchange ended.
  enum class Outcome : uint8_t {
    kWhole,       // the client has the whole answer
    kNoAnswer,    // the upstream ended or failed before it
    kTimeout,     // the upstream was silent
    kClientSlow,  // the client was, in the middle of its request
    kBadAnswer,   // what came is none
    kBadRequest,  // the body of the request is malformed
    kCut,         // the answer ended in the middle
    kClientGone,  // the client did
    kAgain,       // nothing was answered: the request is sent again
  };

  int64_t request_bytes() const { return request_bytes_; }
  int64_t response_bytes() const { return response_bytes_; }
  Method method() const { return method_; }

  // Whether this session's route serves the request.
  virtual bool Serves(const RequestHead& request) const = 0;
  virtual const sys::SocketAddress& ClientAddress() const = 0;
  virtual uint32_t Random() = 0;  // for Disclosure::kRandom
  virtual void OnRequest(const RequestHead& request) = 0;
  // `what` is a literal. Gives what the client is told where it can still be told anything; `error` an errno or 0.
  virtual std::string OnOver(Outcome outcome, const char* what, int error) = 0;

 private:
  enum class Request : uint8_t { kHead, kBody, kDone };
  // An answer's head that has come in part.
  struct PartialHead {
    std::string bytes;
    HeadScanner scanner;
  };

  std::string Start(const RequestHead& request, absl::string_view raw);
  Step OnRequestBytes(absl::string_view bytes, std::string& out);
  bool TakeRequestHead(absl::string_view bytes, Step& step, std::string& out);
  void TakeRequestBody(absl::string_view bytes, bool may_pass, Step& step, std::string& out);
  Step OnResponseBytes(absl::string_view bytes, std::string& out);
  void TakeResponseHead(absl::string_view bytes, Step& step, std::string& out);
  void UseResponseHead(absl::string_view head, Step& step, std::string& out);
  void BeginAnswer(const ResponseHead& response, std::string& out);
  Next Refuse(Outcome outcome, const char* what, int error);
  Next EndExchange(bool trailing);
  Next SendAgain();
  void KeepForRetry(absl::string_view bytes);
  void ForgetRetry();

  // More than these before one answer are a way to keep a connection busy for ever.
  static constexpr int kMostInformational = 100;

  const ForwardingPolicy* policy_;
  std::string held_;    // of the client: behind the request that runs, or a request for somebody else
  std::string answer_;  // in place of what the upstream did not say
  std::string retry_;   // the request, as far as it has come; empty when it cannot be sent again
  std::unique_ptr<PartialHead> partial_;
  Body request_body_, response_body_;
  int64_t request_bytes_ = 0;   // of this exchange
  int64_t response_bytes_ = 0;  // likewise
  int64_t sent_bytes_ = 0;      // to the upstream, of this exchange
  Method method_ = Method::kOther;
  Request request_ = Request::kHead;
  uint8_t client_minor_ = 1;
  uint8_t informational_ = 0;  // answers of 1xx so far
  bool answering_ = false;     // the final answer's head has gone to the client
  bool client_keeps_ = false;
  bool asks_upgrade_ = false;
  bool awaits_continue_ = false;
  bool told_to_continue_ = false;  // by us
  bool hid_body_ = false;          // the answer has no body though its fields may speak of one
  bool upstream_keeps_ = false;
  bool upstream_ok_ = false;  // between exchanges: it may serve another one
  bool pinned_ = false;       // connection-bound authentication: it serves nobody else
  bool reused_ = false;
  bool wants_fresh_ = false;
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_KEEPALIVE_FRAMER_H_
