#include "relay/testing/line_framer.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace sluice::relay::testing {
namespace {

constexpr int kUp = 0, kDown = 1;

}  // namespace

Framer::Step LineFramer::OnBytes(int direction, absl::string_view bytes, std::string& out) {
  return direction == kUp ? OnRequest(bytes, out) : OnAnswer(bytes, out);
}

Framer::Step LineFramer::OnRequest(absl::string_view bytes, std::string& out) {
  Step step;
  if (request_ == Request::kBody && held_.empty()) {
    step.pass_bytes = step.taken = static_cast<size_t>(std::min<int64_t>(left_[kUp], bytes.size()));
    step.next = OnRaw(kUp, static_cast<int64_t>(step.taken));
    return step;
  }
  held_.append(bytes.data(), bytes.size());
  step.taken = bytes.size();
  const size_t end = held_.find('\n');
  if (request_ != Request::kHead || end == std::string::npos) return step;
  out.append("U").append(held_, 0, end + 1);
  left_[kUp] = std::atoll(held_.c_str());
  waits_ = end > 0 && held_[end - 1] == 'W';
  ends_up_ = end > 0 && held_[end - 1] == 'E';
  held_.erase(0, end + 1);
  request_ = Request::kBody;
  const size_t body = static_cast<size_t>(std::min<int64_t>(left_[kUp], held_.size()));
  out.append(held_, 0, body);
  held_.erase(0, body);
  step.next = OnRaw(kUp, static_cast<int64_t>(body));
  return step;
}

Framer::Step LineFramer::OnAnswer(absl::string_view bytes, std::string& out) {
  Step step;
  if (Quiet()) {
    upstream_ok_ = false;
    step.taken = bytes.size();
    step.next = Next::kReturn;
    return step;
  }
  if (answering_) {
    step.pass_bytes = step.taken = static_cast<size_t>(std::min<int64_t>(left_[kDown], bytes.size()));
    step.next = OnRaw(kDown, static_cast<int64_t>(step.taken));
    return step;
  }
  const size_t end = bytes.find('\n');
  step.taken = end == absl::string_view::npos ? bytes.size() : end + 1;
  partial_.append(bytes.data(), step.taken);
  if (end == absl::string_view::npos) return step;
  out.append("D").append(partial_);
  answering_ = true;
  left_[kDown] = std::atoll(partial_.c_str());
  switch (partial_[partial_.size() - 2]) {
    case 'C':
      after_ = Next::kClose;
      break;
    case 'R':
      after_ = Next::kReturn;
      break;
    case 'A':
      after_ = Next::kAbort;
      break;
    case 'T':
      step.next = Next::kTunnel;
      return step;
    default:
      after_ = Next::kGoOn;
  }
  partial_.clear();
  if (left_[kDown] == 0) step.next = EndExchange();
  return step;
}

Framer::Next LineFramer::OnRaw(int direction, int64_t bytes) {
  left_[direction] -= bytes;
  if (direction == kUp && bytes > 0) waits_ = false;
  if (left_[direction] > 0) return Next::kGoOn;
  if (direction == kDown) return EndExchange();
  request_ = Request::kDone;
  return ends_up_ ? Next::kEndUp : Next::kGoOn;
}

Framer::Next LineFramer::EndExchange() {
  request_ = Request::kHead;
  answering_ = false;
  return after_;
}

Framer::Next LineFramer::OnEnd(int direction, int error, int64_t undelivered_bytes) {
  if (direction == kUp) return Quiet() ? Next::kClose : Next::kAbort;
  upstream_ok_ = false;
  if (Quiet()) return Next::kReturn;
  log_->undelivered_bytes = undelivered_bytes;
  if (answering_) return Next::kAbort;
  answer_ = error == ETIMEDOUT ? "late\n" : "gone\n";
  request_ = Request::kHead;
  return Next::kClose;
}

}  // namespace sluice::relay::testing
