#include "bench/load/exchange.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "bench/load/http.h"
#include "bench/load/tcp.h"

namespace sluice::bench {
namespace {

constexpr size_t kMostHeadBytes = 16 * 1024;
// A head with a body of 1 KB in one piece; longer bodies are dropped in the kernel.
constexpr size_t kHeadReadBytes = 2048;
constexpr size_t kDropBytes = 1 << 20;

}  // namespace

Message::Message(const Options& options, bool close) {
  std::string url = options.Text("url");
  if (url.empty()) {
    answer_bytes = options.Int("request", 1024, 1, 1 << 20);
    request.reserve(answer_bytes);
    while (request.size() < answer_bytes) {
      request.append(PatternAt(request.size()), std::min<size_t>(answer_bytes - request.size(), kPatternBytes));
    }
    return;
  }
  http = true;
  std::string host = options.Text("host");
  if (size_t scheme = url.find("://"); scheme != std::string::npos) {
    host = url.substr(scheme + 3, url.find('/', scheme + 3) - scheme - 3);
  }
  answer_bytes = ParseInt("the path of --url", url.substr(url.rfind('/') + 1), 0, INT64_MAX);
  size_t body = options.Int("post", 0, 0, 1 << 24);
  request = MakeRequest(url, host, body, close);
  for (size_t added = 0; added < body;) {
    size_t piece = std::min(body - added, kPatternBytes);
    request.append(PatternAt(added), piece);
    added += piece;
  }
}

bool Exchange::Connect(int epoll, const Route& route) {
  fd_ = opening_.Start(route);
  if (fd_ < 0) return false;
  connected_ = answered_ = in_head_ = until_end_ = last_ = false;
  unread_ = 0;
  message_ = nullptr;
  Watch(epoll, fd_, this);
  return true;
}

Exchange::Progress Exchange::Send(const Message& message) {
  message_ = &message;
  sent_ = 0;
  in_head_ = message.http;
  head_.clear();
  unread_ = message.http ? 0 : message.answer_bytes;
  return SendRest();
}

Exchange::Progress Exchange::SendRest() {
  while (sent_ < message_->request.size()) {
    ssize_t sent = send(fd_, message_->request.data() + sent_, message_->request.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN ? Progress::kNothing : Progress::kBroken;
    sent_ += sent;
  }
  return Progress::kNothing;
}

Exchange::Progress Exchange::Handle(uint32_t events) {
  if (!connected_) {
    Opening::Progress progress = opening_.Handle(fd_, events);
    connected_ = progress == Opening::Progress::kOpen;
    if (connected_) return Progress::kConnected;
    return progress == Opening::Progress::kBroken ? Progress::kBroken : Progress::kNothing;
  }
  if (message_ && (events & EPOLLOUT) && SendRest() == Progress::kBroken) return Progress::kBroken;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) return Progress::kNothing;
  return Receive();
}

Exchange::Progress Exchange::Receive() {
  while (true) {
    // Also while no answer is due: anything that comes then (an end, an error, stray bytes) breaks the connection.
    char bytes[kHeadReadBytes];
    bool drop = !in_head_ && (unread_ > 0 || until_end_);
    size_t most = !drop ? sizeof bytes : until_end_ ? kDropBytes : std::min<uint64_t>(unread_, kDropBytes);
    ssize_t received = recv(fd_, drop ? nullptr : bytes, most, drop ? MSG_TRUNC : 0);
    if (received < 0) return errno == EAGAIN ? Progress::kNothing : Progress::kBroken;
    errno = 0;
    if (received == 0) {
      return until_end_ && body_bytes_ == message_->answer_bytes ? Progress::kLast : Progress::kBroken;
    }
    if (in_head_) {
      if (!TakeHead({bytes, static_cast<size_t>(received)})) return Progress::kBroken;
      if (in_head_) continue;
    } else if (until_end_) {
      body_bytes_ += received;
    } else if (static_cast<uint64_t>(received) > unread_) {
      return Progress::kBroken;
    } else {
      unread_ -= received;
    }
    if (unread_ == 0 && !until_end_) {
      answered_ = true;
      return last_ ? Progress::kLast : Progress::kAnswered;
    }
  }
}

// Takes bytes of which the first ones belong to the head; false if the answer is not the one that is wanted.
bool Exchange::TakeHead(std::string_view text) {
  if (!head_.empty()) {
    head_.append(text);
    text = head_;
  }
  size_t size = HeadBytes(text);
  if (size == 0) {
    if (head_.empty()) head_ = text;
    return text.size() < kMostHeadBytes;
  }
  std::optional<AnswerHead> head = ParseAnswerHead(text.substr(0, size));
  uint64_t have = text.size() - size;
  if (!head || head->status != 200 || head->body_bytes.value_or(message_->answer_bytes) != message_->answer_bytes ||
      have > message_->answer_bytes) {
    return false;
  }
  in_head_ = false;
  last_ = head->close;
  until_end_ = !head->body_bytes;
  body_bytes_ = have;
  unread_ = until_end_ ? 0 : *head->body_bytes - have;
  return true;
}

void Exchange::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  connected_ = false;
}

}  // namespace sluice::bench
