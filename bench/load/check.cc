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
#include "bench/load/route.h"
#include "bench/load/tcp.h"

namespace sluice::bench {
namespace {

constexpr uint64_t kPatienceNanos = 20'000'000'000;

class Check {
 public:
  explicit Check(const Options& options)
      : save_(options.Text("save")),
        to_send_(options.Int("send", 0, 0, INT64_MAX)),
        to_receive_(options.Int("receive", to_send_, 0, INT64_MAX)),
        until_end_(to_send_ > 0),
        half_close_(until_end_ && options.Text("half-close") != "0"),
        route_(options),
        fd_(opening_.Start(route_)) {
    if (fd_ < 0) Fail("connect");
  }

  int Run() {
    if (!save_.empty() && (file_ = fopen(save_.c_str(), "w")) == nullptr) Fail(save_);
    uint64_t deadline = NowNanos() + kPatienceNanos;
    while (wrong_.empty() && (half_close_ ? !ended_ : received_ < to_receive_)) {
      if (NowNanos() > deadline) {
        wrong_ = "nothing more came";
      } else {
        Turn();
      }
    }
    if (wrong_.empty() && received_ < to_receive_) wrong_ = "the stream ended early";
    if (file_ != nullptr && fclose(file_) != 0) Fail(save_);
    printf("{\"ok\": %s, \"sent\": %llu, \"received\": %llu, \"wrong\": \"%s\"}\n", wrong_.empty() ? "true" : "false",
           static_cast<unsigned long long>(sent_), static_cast<unsigned long long>(received_), wrong_.c_str());
    return wrong_.empty() ? 0 : 1;
  }

 private:
  void Turn() {
    bool sending = open_ && !all_sent_ && until_end_;
    pollfd waiting = {fd_, static_cast<short>(POLLIN | (sending || !connected_ ? POLLOUT : 0)), 0};
    if (poll(&waiting, 1, 100) <= 0) return;
    if (!open_) {
      connected_ = true;
      Opening::Progress progress = opening_.Handle(fd_, waiting.revents);
      open_ = progress == Opening::Progress::kOpen;
      if (progress == Opening::Progress::kBroken) wrong_ = errno == 0 ? "refused" : strerror(errno);
      return;
    }
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
      if (half_close_) shutdown(fd_, SHUT_WR);
      all_sent_ = true;
    }
  }

  void Receive() {
    static char bytes[kPatternBytes];
    ssize_t size = recv(fd_, bytes, sizeof bytes, 0);
    if (size < 0 && errno != EAGAIN) wrong_ = strerror(errno);
    if (size == 0) {
      ended_ = true;
      if (!half_close_) wrong_ = "the stream ended early";
    }
    if (size <= 0) return;
    if (memcmp(bytes, PatternAt(received_), size) != 0) wrong_ = "bytes differ after " + std::to_string(received_);
    received_ += size;
    if (file_ != nullptr) fwrite(bytes, 1, size, file_);
    if (until_end_ && received_ > to_receive_) wrong_ = "more came back than was sent";
  }

  const std::string save_;
  FILE* file_ = nullptr;
  const uint64_t to_send_;
  const uint64_t to_receive_;
  const bool until_end_;
  const bool half_close_;
  const Route route_;
  Opening opening_;
  const int fd_;
  bool connected_ = false;
  bool open_ = false;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  bool all_sent_ = false;
  bool ended_ = false;
  std::string wrong_;
};

}  // namespace

int RunCheck(int argc, char** argv) {
  return Check(Options(argc, argv, {"connect", "tunnel", "target", "send", "receive", "half-close", "save"})).Run();
}

}  // namespace sluice::bench
