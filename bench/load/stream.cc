#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/load/commands.h"
#include "bench/load/counters.h"
#include "bench/load/options.h"
#include "bench/load/route.h"
#include "bench/load/schedule.h"
#include "bench/load/tcp.h"

namespace sluice::bench {
namespace {

constexpr size_t kDropBytes = 1 << 20;

class Streams {
 public:
  Streams(const Options& options)
      : up_(IsUp(options.Text("direction"))),
        route_(options),
        schedule_(options),
        counters_(OpenCounters(options.Text("counters"))),
        epoll_(NewEpoll()),
        streams_(options.Int("streams", 1, 1, 10000)) {}

  int Run() {
    for (Stream& stream : streams_) {
      stream.fd = stream.opening.Start(route_);
      if (stream.fd < 0) Fail("connect");
      Watch(epoll_, stream.fd, &stream);
    }
    uint64_t deadline = NowNanos() + 20'000'000'000;
    while (counters_.connections < streams_.size()) {
      Wait();
      if (counters_.errors > 0) Fail("connect");
      if (NowNanos() > deadline) {
        errno = ETIMEDOUT;
        Fail("connecting");
      }
    }
    counters_.started_nanos = schedule_.Start();
    counters_.phase = Phase::kRunning;
    while (NowNanos() < schedule_.end() && counters_.connections > 0) Wait();
    counters_.phase = Phase::kDone;
    printf("{\"bytes\": %llu, \"seconds\": %.3f, \"gbit_per_second\": %.3f, \"errors\": %llu}\n",
           static_cast<unsigned long long>(measured_), schedule_.seconds(),
           schedule_.seconds() > 0 ? static_cast<double>(measured_) * 8e-9 / schedule_.seconds() : 0,
           static_cast<unsigned long long>(counters_.errors.load()));
    return measured_ > 0 ? 0 : 1;
  }

 private:
  struct Stream {
    Opening opening;
    int fd = -1;
    bool connected = false;
    uint64_t sent = 0;
  };

  static bool IsUp(const std::string& direction) {
    if (direction != "" && direction != "up" && direction != "down") FailUsage("--direction is up or down");
    return direction == "up";
  }

  void Wait() {
    epoll_event events[64];
    int count = epoll_wait(epoll_, events, 64, 50);
    for (int i = 0; i < count; ++i) {
      auto& stream = *static_cast<Stream*>(events[i].data.ptr);
      if (!stream.connected) {
        Opening::Progress progress = stream.opening.Handle(stream.fd, events[i].events);
        if (progress == Opening::Progress::kNothing) continue;
        if (progress == Opening::Progress::kBroken) {
          Counters::Add(counters_.errors, 1);
          return;
        }
        stream.connected = true;
        Counters::Add(counters_.connections, 1);
      }
      if (!(up_ ? Write(stream) : Read(stream))) {
        close(stream.fd);
        Counters::Add(counters_.errors, 1);
        Counters::Add(counters_.connections, -1);
      }
    }
  }

  bool Read(Stream& stream) {
    ssize_t received;
    do {
      received = recv(stream.fd, nullptr, kDropBytes, MSG_TRUNC);
      if (received <= 0) return received < 0 && errno == EAGAIN;
      Counters::Add(counters_.received_bytes, received);
      if (schedule_.Measuring(NowNanos())) measured_ += received;
    } while (received == static_cast<ssize_t>(kDropBytes));
    return true;
  }

  bool Write(Stream& stream) {
    while (true) {
      ssize_t sent = send(stream.fd, PatternAt(stream.sent), kPatternBytes, MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN;
      stream.sent += sent;
      Counters::Add(counters_.sent_bytes, sent);
      uint64_t now = NowNanos();
      if (schedule_.Measuring(now)) measured_ += sent;
      if (schedule_.end() != 0 && now >= schedule_.end()) return true;
    }
  }

  const bool up_;
  const Route route_;
  Schedule schedule_;
  Counters& counters_;
  const int epoll_;
  std::vector<Stream> streams_;
  uint64_t measured_ = 0;
};

}  // namespace

int RunStream(int argc, char** argv) {
  Options options(argc, argv,
                  {"connect", "tunnel", "target", "streams", "direction", "warmup", "seconds", "tail", "counters"});
  return Streams(options).Run();
}

}  // namespace sluice::bench
