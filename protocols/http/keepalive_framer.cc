#include "protocols/http/keepalive_framer.h"

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"

namespace sluice::http {
namespace {

constexpr int kUp = 0;

bool IsIdempotent(Method method) {
  switch (method) {
    case Method::kGet:
    case Method::kHead:
    case Method::kOptions:
    case Method::kTrace:
    case Method::kPut:
    case Method::kDelete:
      return true;
    case Method::kPost:
    case Method::kConnect:
    case Method::kPatch:
    case Method::kOther:
      return false;
  }
  return false;
}

bool AuthenticatesConnection(const RequestHead& request) {
  for (const Field& field : request.fields) {
    if (field.name.size() == 13 && IsNamed(field, "authorization")) {
      return absl::StartsWithIgnoreCase(field.value, "ntlm") || absl::StartsWithIgnoreCase(field.value, "negotiate");
    }
  }
  return false;
}

}  // namespace

std::string KeepaliveFramer::Begin(const RequestHead& request, absl::string_view raw, std::string behind, bool reused) {
  reused_ = reused;
  std::string head = Start(request, raw);
  held_ = std::move(behind);
  sent_bytes_ = static_cast<int64_t>(head.size());
  return head;
}

std::string KeepaliveFramer::Start(const RequestHead& request, absl::string_view raw) {
  method_ = request.method;
  client_minor_ = static_cast<uint8_t>(request.minor_version);
  client_keeps_ = request.keep_alive;
  asks_upgrade_ = !request.upgrade.empty();
  request_body_ = Body(request.body, request.body_bytes, /*write_chunks=*/true);
  request_ = request_body_.over() ? Request::kDone : Request::kBody;
  awaits_continue_ = request.expects_continue && client_minor_ > 0 && request_ == Request::kBody;
  answering_ = told_to_continue_ = false;
  informational_ = 0;
  upstream_ok_ = false;
  pinned_ = pinned_ || AuthenticatesConnection(request);
  request_bytes_ = static_cast<int64_t>(raw.size());
  response_bytes_ = sent_bytes_ = 0;
  if (reused_ && raw.size() <= kMostRetryBytes) retry_.assign(raw.data(), raw.size());
  OnRequest(request);
  std::string head;
  AppendRequestHead(request, *policy_, ClientAddress(), policy_->disclosure == Disclosure::kRandom ? Random() : 0,
                    head);
  return head;
}

bool KeepaliveFramer::Wants(int direction) const { return direction != kUp || request_ != Request::kDone; }

int64_t KeepaliveFramer::RawBytes(int direction) const {
  if (direction == kUp) return request_ == Request::kBody ? request_body_.RawBytes() : 0;
  return answering_ ? response_body_.RawBytes() : 0;
}

relay::Framer::Next KeepaliveFramer::OnRaw(int direction, int64_t bytes) {
  if (direction == kUp) {
    request_bytes_ += bytes;
    sent_bytes_ += bytes;
    ForgetRetry();  // nobody has seen them
    awaits_continue_ = false;
    if (request_body_.OnRaw(bytes) == Body::State::kOver) request_ = Request::kDone;
    return Next::kGoOn;
  }
  response_bytes_ += bytes;
  return response_body_.OnRaw(bytes) == Body::State::kOver ? EndExchange(/*trailing=*/false) : Next::kGoOn;
}

relay::Framer::Step KeepaliveFramer::OnBytes(int direction, absl::string_view bytes, std::string& out) {
  return direction == kUp ? OnRequestBytes(bytes, out) : OnResponseBytes(bytes, out);
}

// --- The client's direction.

relay::Framer::Step KeepaliveFramer::OnRequestBytes(absl::string_view bytes, std::string& out) {
  std::string held = std::move(held_);
  held_.clear();
  const bool from_held = !held.empty();
  const size_t given = bytes.size();
  if (from_held) {
    held.append(bytes.data(), bytes.size());
    bytes = held;
  }
  Step step;
  const size_t before = out.size();
  if (request_ != Request::kHead || TakeRequestHead(bytes, step, out)) TakeRequestBody(bytes, !from_held, step, out);
  sent_bytes_ += static_cast<int64_t>(out.size() - before + step.pass_bytes);
  if (from_held) step.taken = given;
  return step;
}

// False: the client leaves with what it has sent.
bool KeepaliveFramer::TakeRequestHead(absl::string_view bytes, Step& step, std::string& out) {
  HeadScanner scanner;
  RequestHead request;
  absl::string_view head;
  bool serves = scanner.Scan(bytes) == HeadScanner::State::kWhole;
  if (serves) {
    head = bytes.substr(scanner.leading_bytes(), scanner.end() - scanner.leading_bytes());
    serves = ParseRequestHead(head, request, policy_->fallback()).ok() && Serves(request);
  }
  if (!serves) {
    held_.assign(bytes.data(), bytes.size());
    step.taken = bytes.size();
    step.next = Next::kReturn;
    return false;
  }
  reused_ = true;  // it has served a request of this session
  out.append(Start(request, head));
  step.taken = scanner.end();
  return true;
}

void KeepaliveFramer::TakeRequestBody(absl::string_view bytes, bool may_pass, Step& step, std::string& out) {
  const size_t begin = step.taken;
  if (request_ == Request::kBody && step.taken < bytes.size()) {
    const Body::State state = request_body_.Take(bytes, may_pass, step, out);
    request_bytes_ += static_cast<int64_t>(step.taken - begin);
    awaits_continue_ = false;
    KeepForRetry(bytes.substr(begin, step.taken - begin));
    if (state == Body::State::kBad) {
      step.next = Refuse(Outcome::kBadRequest, "a malformed chunked body", 0);
      return;
    }
    if (state == Body::State::kOver) request_ = Request::kDone;
  }
  if (request_ != Request::kDone || step.taken == bytes.size()) return;
  held_.assign(bytes.data() + step.taken, bytes.size() - step.taken);
  step.taken = bytes.size();
}

// --- The upstream's direction.

relay::Framer::Step KeepaliveFramer::OnResponseBytes(absl::string_view bytes, std::string& out) {
  Step step;
  if (Quiet()) {  // nobody has asked for it: it must not become the beginning of the next answer
    upstream_ok_ = false;
    step.taken = bytes.size();
    step.next = Next::kReturn;
    return step;
  }
  ForgetRetry();
  while (!answering_ && step.next == Next::kGoOn && step.taken < bytes.size()) TakeResponseHead(bytes, step, out);
  if (!answering_ || step.next != Next::kGoOn) return step;
  const size_t begin = step.taken;
  const Body::State state = response_body_.Take(bytes, /*may_pass=*/true, step, out);
  response_bytes_ += static_cast<int64_t>(step.taken - begin);
  if (state == Body::State::kBad) step.next = Refuse(Outcome::kBadAnswer, "a malformed chunked body", 0);
  if (state == Body::State::kOver) {
    step.next = EndExchange(/*trailing=*/step.taken < bytes.size());
    step.taken = bytes.size();  // what came behind the answer goes nowhere
  }
  return step;
}

void KeepaliveFramer::TakeResponseHead(absl::string_view bytes, Step& step, std::string& out) {
  absl::string_view text = bytes.substr(step.taken);
  const size_t before = partial_ == nullptr ? 0 : partial_->bytes.size();
  HeadScanner fresh;
  HeadScanner& scanner = partial_ == nullptr ? fresh : partial_->scanner;
  if (partial_ != nullptr) {
    partial_->bytes.append(text.data(), text.size());
    text = partial_->bytes;
  }
  switch (scanner.Scan(text)) {
    case HeadScanner::State::kBad:
      step.taken = bytes.size();
      step.next = Refuse(Outcome::kBadAnswer, scanner.error().what, 0);
      return;
    case HeadScanner::State::kMore:
      if (partial_ == nullptr) partial_.reset(new PartialHead{std::string(text), fresh});
      response_bytes_ += static_cast<int64_t>(bytes.size() - step.taken);
      step.taken = bytes.size();
      return;
    case HeadScanner::State::kWhole:
      break;
  }
  const std::unique_ptr<PartialHead> owner = std::move(partial_);  // `text` may lie in it
  const size_t end = scanner.end();
  response_bytes_ += static_cast<int64_t>(end - before);
  step.taken += end - before;
  UseResponseHead(text.substr(scanner.leading_bytes(), end - scanner.leading_bytes()), step, out);
}

void KeepaliveFramer::UseResponseHead(absl::string_view head, Step& step, std::string& out) {
  ResponseHead response;
  if (const HeadError error = ParseResponseHead(head, method_, response); !error.ok()) {
    step.next = Refuse(Outcome::kBadAnswer, error.what, 0);
    return;
  }
  if (response.status == 101) {
    if (!asks_upgrade_ || response.upgrade.empty() || request_ != Request::kDone) {
      step.next = Refuse(Outcome::kBadAnswer, "a 101 that nobody asked for", 0);
      return;
    }
    AppendResponseHead(response, {client_minor_, true, false}, out);
    step.next = Next::kTunnel;
    return;
  }
  if (response.informational()) {
    if (++informational_ > kMostInformational) {
      step.next = Refuse(Outcome::kBadAnswer, "no end of 1xx answers", 0);
      return;
    }
    const bool told = response.status == 100 && told_to_continue_;
    if (client_minor_ > 0 && !told) AppendResponseHead(response, {client_minor_, true, false}, out);
    if (response.status == 100) awaits_continue_ = false;
    return;
  }
  if (response.status == 407 && policy_->to_proxy && !policy_->passes_challenges) {
    // The credentials are ours: the client could give none that would help.
    step.next = Refuse(Outcome::kBadAnswer, "the parent does not take our credentials", 0);
    return;
  }
  BeginAnswer(response, out);
}

void KeepaliveFramer::BeginAnswer(const ResponseHead& response, std::string& out) {
  ResponseForm form;
  form.client_minor_version = client_minor_;
  form.chunked = response.declared.chunked && client_minor_ > 0;
  // An answer that comes before the request is over is the last one: whether the rest of the request still comes is not
  // ours to say.
  const bool delimited =
      response.body != BodyKind::kUntilClose && (response.body != BodyKind::kChunked || client_minor_ > 0);
  client_keeps_ = client_keeps_ && delimited && request_ == Request::kDone;
  form.keep_alive = client_keeps_;
  form.challenge = policy_->passes_challenges && response.status == 407;
  upstream_keeps_ = response.keep_alive;
  pinned_ = pinned_ || response.pins;
  response_body_ = Body(response.body, response.body_bytes, form.chunked);
  hid_body_ = response.body == BodyKind::kNone;
  answering_ = true;
  awaits_continue_ = false;
  AppendResponseHead(response, form, out);
}

relay::Framer::Next KeepaliveFramer::EndExchange(bool trailing) {
  upstream_ok_ = upstream_keeps_ && !trailing && request_ == Request::kDone;
  // An origin that sends a body all the same is not to have it taken for the next answer: a request that is there
  // already goes elsewhere, one that comes later finds those bytes before it.
  if (hid_body_ && !held_.empty()) upstream_ok_ = false;
  OnOver(Outcome::kWhole, "", 0);
  request_ = Request::kHead;
  answering_ = false;
  if (!client_keeps_) return Next::kClose;
  return upstream_ok_ ? Next::kGoOn : Next::kReturn;
}

// The exchange has failed. A client that has got nothing of an answer is told so; any other must see that what it got
// is not whole.
relay::Framer::Next KeepaliveFramer::Refuse(Outcome outcome, const char* what, int error) {
  upstream_ok_ = false;
  std::string answer = OnOver(answering_ && outcome != Outcome::kBadRequest ? Outcome::kCut : outcome, what, error);
  request_ = Request::kHead;
  partial_.reset();
  held_.clear();
  ForgetRetry();
  if (std::exchange(answering_, false)) return Next::kAbort;
  answer_ = std::move(answer);
  return Next::kClose;
}

relay::Framer::Next KeepaliveFramer::SendAgain() {
  OnOver(Outcome::kAgain, "", 0);
  upstream_ok_ = false;
  request_ = Request::kHead;
  wants_fresh_ = true;
  held_.insert(0, retry_);
  ForgetRetry();
  return Next::kReturn;
}

void KeepaliveFramer::KeepForRetry(absl::string_view bytes) {
  if (retry_.empty() || bytes.empty()) return;
  if (retry_.size() + bytes.size() > kMostRetryBytes) return ForgetRetry();
  retry_.append(bytes.data(), bytes.size());
}

// The memory of a short one is kept for the next; idle connections are many.
void KeepaliveFramer::ForgetRetry() {
  if (retry_.capacity() > 512) {
    std::string().swap(retry_);
  } else {
    retry_.clear();
  }
}

std::string KeepaliveFramer::OnWaited() {
  awaits_continue_ = false;
  told_to_continue_ = true;
  return "HTTP/1.1 100 Continue\r\n\r\n";
}

relay::Framer::Next KeepaliveFramer::OnEnd(int direction, int error, int64_t undelivered_bytes) {
  if (direction == kUp) {
    if (Quiet()) return Next::kClose;
    upstream_ok_ = false;
    OnOver(Outcome::kClientGone, "", error);
    request_ = Request::kHead;
    return Next::kAbort;
  }
  if (Quiet()) {
    upstream_ok_ = false;
    return Next::kReturn;
  }
  upstream_keeps_ = false;
  if (answering_) {
    if (error == 0 && response_body_.kind() == BodyKind::kUntilClose) return EndExchange(/*trailing=*/false);
    return Refuse(Outcome::kCut, "the answer ended in the middle", error);
  }
  if (error == ETIMEDOUT) {
    return request_ == Request::kBody ? Refuse(Outcome::kClientSlow, "the request did not go on", 0)
                                      : Refuse(Outcome::kTimeout, "the origin did not answer in time", error);
  }
  if (!retry_.empty() && (IsIdempotent(method_) || undelivered_bytes >= sent_bytes_)) return SendAgain();
  if (partial_ != nullptr) return Refuse(Outcome::kBadAnswer, "an answer that ends in its head", error);
  return Refuse(Outcome::kNoAnswer, "the origin closed the connection without an answer", error);
}

}  // namespace sluice::http
