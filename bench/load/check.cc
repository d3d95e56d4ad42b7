#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "bench/load/commands.h"
#include "bench/load/counters.h"
#include "bench/load/options.h"
#include "bench/load/tcp.h"

namespace sluice::bench {
namespace {

constexpr uint64_t kPatienceNanos = 20'000'000'000;

class Check {
 public:
  explicit Check(const Options& options)
      : to_send_(options.Int("send", 0, 0, INT64_MAX)),
        to_receive_(options.Int("receive", to_send_, 0, INT64_MAX)),
        until_end_(to_send_ > 0),
        fd_(StartConnect(options.Address("connect"))) {
    if (fd_ < 0) Fail("connect");
  }

  int Run() {
    uint64_t deadline = NowNanos() + kPatienceNanos;
    while (wrong_.empty() && (until_end_ ? !ended_ : received_ < to_receive_)) {
      if (NowNanos() > deadline) {
        wrong_ = "nothing more came";
      } else {
        Turn();
      }
    }
    if (wrong_.empty() && received_ < to_receive_) wrong_ = "the stream ended early";
    printf("{\"ok\": %s, \"sent\": %llu, \"received\": %llu, \"wrong\": \"%s\"}\n", wrong_.empty() ? "true" : "false",
           static_cast<unsigned long long>(sent_), static_cast<unsigned long long>(received_), wrong_.c_str());
    return wrong_.empty() ? 0 : 1;
  }

 private:
  void Turn() {
    bool sending = !half_closed_ && until_end_;
    pollfd waiting = {fd_, static_cast<short>(POLLIN | (sending ? POLLOUT : 0)), 0};
    if (poll(&waiting, 1, 100) <= 0) return;
    if (sending && (waiting.revents & POLLOUT)) Send();
    if (waiting.revents & (POLLIN | POLLERR | POLLHUP)) Receive();
  }

  void Send() {
    if (sent_ < to_send_) {
      ssize_t size = send(fd_, PatternAt(sent_), std::min<uint64_t>(to_send_ - sent_, kPatternBytes), MSG_NOSIGNAL);
      if (size < 0 && errno != EAGAIN) wrong_ = strerror(errno);
      if (size > 0) sent_ += size;
    }
    if (sent_ == to_send_) {
      shutdown(fd_, SHUT_WR);
      half_closed_ = true;
    }
  }

  void Receive() {
    static char bytes[kPatternBytes];
    ssize_t size = recv(fd_, bytes, sizeof bytes, 0);
    if (size < 0 && errno != EAGAIN) wrong_ = strerror(errno);
    if (size == 0) {
      ended_ = true;
      if (!until_end_) wrong_ = "the stream ended early";
    }
    if (size <= 0) return;
    if (memcmp(bytes, PatternAt(received_), size) != 0) wrong_ = "bytes differ after " + std::to_string(received_);
    received_ += size;
    if (until_end_ && received_ > to_receive_) wrong_ = "more came back than was sent";
  }

  const uint64_t to_send_;
  const uint64_t to_receive_;
  const bool until_end_;
  const int fd_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  bool half_closed_ = false;
  bool ended_ = false;
  std::string wrong_;
};

}  // namespace

int RunCheck(int argc, char** argv) { return Check(Options(argc, argv, {"connect", "send", "receive"})).Run(); }

}  // namespace sluice::bench
