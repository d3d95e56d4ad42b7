#include "bench/mix/connection.h"

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/mix/content.h"
#include "sys/base/errno_status.h"

namespace sluice::bench::mix {
namespace {

constexpr size_t kReadBytes = 256 * 1024;
constexpr int kReadsPerVisit = 4;

}  // namespace

const char* FailureName(Failure failure) {
  switch (failure) {
    case Failure::kConnect:
      return "connect";
    case Failure::kTunnel:
      return "tunnel";
    case Failure::kNoAnswer:
      return "no_answer";
    case Failure::kCut:
      return "cut";
    case Failure::kHead:
      return "head";
    case Failure::kContent:
      return "content";
    case Failure::kExtra:
      return "extra";
    case Failure::kNoEnd:
      return "no_end";
    case Failure::kStall:
      return "stall";
  }
  return "?";
}

void Connection::Open() {
  moved_ = Now();
  tunnel_stage_ = 0;
  unsent_.clear();
  head_.clear();
  state_ = State::kConnecting;
  const int error = stream_.Connect(route_.next, *this);
  if (error == 0) return;
  state_ = State::kClosed;
  owner_.OnFailed(*this, Failure::kConnect, sys::ErrnoText(-error), false);
  owner_.OnClosed(*this);
}

void Connection::Begin(const Request& request, sys::MonotonicNanos due) {
  request_ = request;
  due_ = due;
  moved_ = Now();
  body_bytes_ = 0;
  head_.clear();
  state_ = State::kHead;
  shut_ = request.last && (route_.via != Via::kHttp || route_.http_half_close);
  unsent_ = RequestText(request, route_.via, route_.origin);
  SendRest();
}

void Connection::Expire(sys::MonotonicNanos since) {
  if (state_ == State::kClosed || state_ == State::kIdle || state_ == State::kClosing || moved_ >= since) return;
  if (state_ == State::kEnd) return Fail(Failure::kNoEnd, "no end after the answer");
  const char* const waiting = state_ == State::kConnecting ? "connecting"
                              : state_ == State::kTunnel   ? "waiting for the tunnel"
                              : state_ == State::kHead     ? "waiting for the answer"
                                                           : "within the answer";
  Fail(state_ == State::kConnecting ? Failure::kConnect : Failure::kStall, absl::StrCat("time ran out ", waiting));
}

void Connection::OnReady(uint16_t ready) {
  if (!stream_.open()) return;
  stream_.Note(ready);
  if (state_ == State::kConnecting) Connected();
  SendRest();
  ReadOn();
}

void Connection::OnReleased() {
  stream_.Released();
  state_ = State::kClosed;
  owner_.OnClosed(*this);
}

void Connection::Connected() {
  const int outcome = stream_.ConnectOutcome();
  if (outcome == -EINPROGRESS) return;
  if (outcome != 0) return Fail(Failure::kConnect, sys::ErrnoText(-outcome));
  moved_ = Now();
  unsent_ = TunnelOpening(route_.via, route_.origin);
  if (!unsent_.empty()) {
    state_ = State::kTunnel;
    return;
  }
  state_ = State::kIdle;
  owner_.OnOpen(*this);
}

void Connection::SendRest() {
  while (!unsent_.empty() && stream_.open()) {
    const ssize_t sent = stream_.Send(unsent_);
    if (sent == -EAGAIN) return;
    if (sent < 0) return Ended(static_cast<int>(-sent));
    unsent_.erase(0, static_cast<size_t>(sent));
    if (unsent_.empty() && shut_ && in_exchange()) stream_.ShutWrite();
  }
}

void Connection::ReadOn() {
  static char scratch[kReadBytes];
  for (int i = 0; i < kReadsPerVisit; ++i) {
    if (!stream_.open() || state_ == State::kConnecting) return;
    const ssize_t got = stream_.Receive(scratch, sizeof scratch);
    if (got == -EAGAIN) return;
    if (got <= 0) return Ended(static_cast<int>(-got));
    moved_ = Now();
    Take(absl::string_view(scratch, static_cast<size_t>(got)));
  }
  reactor_.Again(*this);
}

void Connection::Take(absl::string_view bytes) {
  switch (state_) {
    case State::kTunnel:
      return TakeTunnel(bytes);
    case State::kHead:
      return TakeHead(bytes);
    case State::kBody:
      return TakeBody(bytes);
    case State::kIdle:
    case State::kEnd:
      return Fail(Failure::kExtra, absl::StrCat(bytes.size(), " bytes behind the answer"));
    case State::kConnecting:
    case State::kClosed:
    case State::kClosing:
      return;
  }
}

void Connection::TakeTunnel(absl::string_view bytes) {
  head_.append(bytes.data(), bytes.size());
  TunnelStep step = NextTunnelStep(route_.via, tunnel_stage_, route_.origin, head_);
  head_.erase(0, step.consumed);
  switch (step.kind) {
    case TunnelStep::kMore:
      return;
    case TunnelStep::kRefused:
      return Fail(Failure::kTunnel, step.text);
    case TunnelStep::kSend:
      ++tunnel_stage_;
      unsent_ = std::move(step.text);
      return SendRest();
    case TunnelStep::kOpen:
      if (!head_.empty()) return Fail(Failure::kExtra, "bytes behind the proxy's answer");
      state_ = State::kIdle;
      owner_.OnOpen(*this);
  }
}

void Connection::TakeHead(absl::string_view bytes) {
  if (!head_.empty()) {
    head_.append(bytes.data(), bytes.size());
    bytes = head_;
  }
  size_t head_bytes = 0;
  AnswerHead answer;
  switch (ParseAnswer(bytes, &head_bytes, &answer)) {
    case Parsed::kMore:
      if (head_.empty()) head_ = std::string(bytes);
      return;
    case Parsed::kBad:
      return Fail(Failure::kHead, "the answer is no HTTP");
    case Parsed::kDone:
      break;
  }
  if (answer.status != 200) return Fail(Failure::kHead, absl::StrCat("status ", answer.status));
  if (answer.length != request_.bytes || answer.id != request_.id) {
    return Fail(Failure::kHead, absl::StrCat("length ", answer.length, " of exchange ", answer.id, ", not ",
                                             request_.bytes, " of ", request_.id));
  }
  last_ = request_.last || answer.closes;
  state_ = State::kBody;
  TakeBody(bytes.substr(head_bytes));
}

void Connection::TakeBody(absl::string_view bytes) {
  const int64_t left = request_.bytes - body_bytes_;
  if (static_cast<int64_t>(bytes.size()) > left) {
    return Fail(Failure::kExtra,
                absl::StrCat(static_cast<int64_t>(bytes.size()) - left, " bytes behind ", request_.bytes));
  }
  if (!ContentFits(request_.id, body_bytes_, bytes)) {
    return Fail(Failure::kContent, absl::StrCat("wrong bytes at ", body_bytes_, " of ", request_.bytes));
  }
  body_bytes_ += static_cast<int64_t>(bytes.size());
  if (body_bytes_ == request_.bytes) BodyComplete();
}

void Connection::BodyComplete() {
  if (!unsent_.empty()) return Fail(Failure::kExtra, "the answer came before the whole request was sent");
  state_ = last_ ? State::kEnd : State::kIdle;
  if (state_ == State::kIdle) owner_.OnAnswered(*this, true);
}

// The stream ended (0) or broke.
void Connection::Ended(int error) {
  const std::string how = error == 0 ? "the connection ended" : sys::ErrnoText(error);
  switch (state_) {
    case State::kTunnel:
      return Fail(Failure::kTunnel, how);
    case State::kHead:
      return Fail(head_.empty() ? Failure::kNoAnswer : Failure::kCut, how);
    case State::kBody:
      return Fail(Failure::kCut, absl::StrCat(how, " after ", body_bytes_, " of ", request_.bytes, " bytes"));
    case State::kEnd:
      if (error != 0) return Fail(Failure::kNoEnd, how);
      Close();
      return owner_.OnAnswered(*this, false);
    case State::kIdle:
      Close();
      return owner_.OnIdleEnd(*this);
    case State::kConnecting:
    case State::kClosed:
    case State::kClosing:
      return;
  }
}

void Connection::Fail(Failure failure, const std::string& what) {
  const bool was_in_exchange = in_exchange();
  Close();
  owner_.OnFailed(*this, failure, what, was_in_exchange);
}

void Connection::Close() {
  state_ = State::kClosing;
  stream_.Close();
}

}  // namespace sluice::bench::mix
