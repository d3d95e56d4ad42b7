#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "bench/load/commands.h"
#include "bench/load/counters.h"
#include "bench/load/exchange.h"
#include "bench/load/http.h"
#include "bench/load/options.h"
#include "bench/load/route.h"
#include "bench/load/tcp.h"

namespace sluice::bench {
namespace {

constexpr uint64_t kPatienceNanos = 20'000'000'000;

class Fetch {
 public:
  explicit Fetch(const Options& options)
      : route_(options), message_(options, true), fd_(opening_.Start(route_)), save_(options.Text("save")) {
    if (fd_ < 0) Fail("connect");
  }

  int Run() {
    uint64_t deadline = NowNanos() + kPatienceNanos;
    while (wrong_.empty() && !Whole()) {
      if (NowNanos() > deadline) {
        wrong_ = "nothing more came";
      } else {
        Turn();
      }
    }
    size_t size = HeadBytes(answer_);
    size_t body = size == 0 ? 0 : answer_.size() - size;
    FILE* file = fopen(save_.c_str(), "w");
    if (file == nullptr || fwrite(answer_.data() + size, 1, body, file) != body || fclose(file) != 0) Fail(save_);
    printf("{\"ok\": %s, \"received\": %zu, \"wrong\": \"%s\"}\n", wrong_.empty() ? "true" : "false", body,
           wrong_.c_str());
    return wrong_.empty() ? 0 : 1;
  }

 private:
  bool Whole() {
    size_t size = HeadBytes(answer_);
    if (size == 0) return false;
    if (!head_) head_ = ParseAnswerHead(std::string_view(answer_).substr(0, size));
    if (!head_ || head_->status != 200) {
      wrong_ = head_ ? "status " + std::to_string(head_->status) : "an answer that is none";
      return true;
    }
    return head_->body_bytes ? answer_.size() - size >= *head_->body_bytes : ended_;
  }

  void Turn() {
    bool sending = !connected_ || (open_ && sent_ < message_.request.size());
    pollfd waiting = {fd_, static_cast<short>(POLLIN | (sending ? POLLOUT : 0)), 0};
    if (poll(&waiting, 1, 100) <= 0) return;
    if (!open_) {
      connected_ = true;
      Opening::Progress progress = opening_.Handle(fd_, waiting.revents);
      open_ = progress == Opening::Progress::kOpen;
      if (progress == Opening::Progress::kBroken) wrong_ = errno == 0 ? "refused" : strerror(errno);
      return;
    }
    if (sending && (waiting.revents & POLLOUT)) {
      ssize_t sent = send(fd_, message_.request.data() + sent_, message_.request.size() - sent_, MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) wrong_ = strerror(errno);
      if (sent > 0) sent_ += sent;
    }
    if (waiting.revents & (POLLIN | POLLERR | POLLHUP)) Receive();
  }

  void Receive() {
    static char bytes[kPatternBytes];
    ssize_t size = recv(fd_, bytes, sizeof bytes, 0);
    if (size < 0 && errno != EAGAIN) wrong_ = strerror(errno);
    if (size > 0) answer_.append(bytes, size);
    if (size != 0) return;
    ended_ = true;
    if (!Whole() && wrong_.empty()) wrong_ = "the answer ended early";
  }

  const Route route_;
  const Message message_;
  Opening opening_;
  const int fd_;
  const std::string save_;
  size_t sent_ = 0;
  bool connected_ = false;
  bool open_ = false;
  bool ended_ = false;
  std::string answer_;
  std::optional<AnswerHead> head_;
  std::string wrong_;
};

}  // namespace

int RunFetch(int argc, char** argv) {
  return Fetch(Options(argc, argv, {"connect", "tunnel", "target", "url", "host", "post", "save"})).Run();
}

}  // namespace sluice::bench
