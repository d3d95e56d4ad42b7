// Epoll against the ring: a worker that echoes messages over N TCP connections, and a client on the other CPU that
// keeps one message of 1 KB on its way in each. The figure is the worker thread's CPU time per message, system time and
// the loopback's softirqs in its context included; the loops take turns in short rounds, because a virtual machine's
// speed drifts, and the ratio is that of neighbours.
//
//   bazel run -c opt //sys/loop:loop_bench -- [CONNECTIONS [ROUNDS [MILLISECONDS_A_ROUND]]]

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/loop/loop_probe.h"
#include "sys/thread/clock.h"

namespace sluice::sys {
namespace {

constexpr int kMessage = 1024;

void Pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

int64_t ThreadNanos() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kNanosPerSecond + now.tv_nsec;
}

// Answers each message with the next one, until the worker's side is closed.
void Client(const std::vector<UniqueFd>& fds) {
  Pin(1);
  const UniqueFd epoll(epoll_create1(0));
  char message[65536] = {};
  for (const UniqueFd& fd : fds) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.fd = fd.get();
    epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event);
    if (send(fd.get(), message, kMessage, MSG_NOSIGNAL) < 0) return;
  }
  epoll_event events[256];
  for (;;) {
    const int count = epoll_wait(epoll.get(), events, 256, -1);
    for (int i = 0; i < count; ++i) {
      const ssize_t got = recv(events[i].data.fd, message, sizeof message, 0);
      if (got == 0 || (got > 0 && send(events[i].data.fd, message, got, MSG_NOSIGNAL) < 0)) _exit(0);
    }
  }
}

std::vector<std::pair<UniqueFd, UniqueFd>> Connect(int connections) {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  std::vector<std::pair<UniqueFd, UniqueFd>> pairs;
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener.get(), 16) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return pairs;
  }
  for (int i = 0; i < connections; ++i) {
    UniqueFd client(socket(AF_INET, SOCK_STREAM, 0));
    if (connect(client.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) break;
    UniqueFd ours(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
    const int on = 1;
    for (const int fd : {client.get(), ours.get()}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(client.get(), F_SETFL, O_NONBLOCK);
    pairs.emplace_back(std::move(ours), std::move(client));
  }
  return pairs;
}

struct Result {
  double nanos_per_message = 0;
  double events_per_turn = 0;
  int64_t messages = 0;
};

Result Measure(Loop& loop, int connections, int millis) {
  std::vector<std::pair<UniqueFd, UniqueFd>> pairs = Connect(connections);
  const pid_t child = fork();
  if (child == 0) {
    std::vector<UniqueFd> theirs;
    for (auto& pair : pairs) theirs.push_back(std::move(pair.second));
    pairs.clear();
    Client(theirs);
    _exit(0);
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].second.reset();
    loop.Watch(pairs[i].first.get(), i, Loop::Interest::kBoth);
  }
  static char buffer[65536];
  const MonotonicNanos start = Clock::System().Now();
  const MonotonicNanos warm = start + millis * kNanosPerMilli / 4;
  MonotonicNanos end = std::numeric_limits<MonotonicNanos>::max();
  Result result;
  int64_t cpu = 0, turns = 0;
  for (MonotonicNanos now = start; now < end; now = Clock::System().Now()) {
    if (cpu == 0 && now > warm) {
      cpu = ThreadNanos();
      end = now + millis * kNanosPerMilli;
      result.messages = 0;
      turns = loop.stats().turns;
    }
    for (const Loop::Event& event : loop.Turn(10 * kNanosPerMilli)) {
      if ((event.ready & Loop::kReadable) == 0) continue;
      const int fd = pairs[event.token].first.get();
      const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
      // As the relay does: a short read is the end unless urgent data may be behind it.
      if ((event.ready & Loop::kPriority) != 0) [[maybe_unused]]
        const ssize_t none = recv(fd, buffer, 1, 0);
      if (got > 0 && send(fd, buffer, got, MSG_NOSIGNAL) == got) ++result.messages;
    }
  }
  result.nanos_per_message = static_cast<double>(ThreadNanos() - cpu) / result.messages;
  result.events_per_turn = static_cast<double>(result.messages) / (loop.stats().turns - turns);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return result;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Run(int connections, int rounds, int millis) {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  Pin(0);
  std::vector<double> ratios, nanos[2];
  for (int round = 0; round < rounds; ++round) {
    double figure[2];
    for (int turn = 0; turn < 2; ++turn) {
      const int which = (turn + round) % 2;
      const LoopChoice choice{which == 0 ? Backend::kEpoll : Backend::kUring, "", false};
      std::string fell_back;
      const absl::StatusOr<std::unique_ptr<Loop>> loop = CreateLoop(choice, kRingEntries, &fell_back);
      if (!loop.ok()) {
        std::fprintf(stderr, "%s\n", loop.status().ToString().c_str());
        return 1;
      }
      const Result result = Measure(**loop, connections, millis);
      figure[which] = result.nanos_per_message;
      nanos[which].push_back(result.nanos_per_message);
      std::printf("%-8s %5d connections: %6.0f ns CPU a message, %8.0f messages/s, %5.1f a turn, %ld armed again\n",
                  (*loop)->name(), connections, result.nanos_per_message, result.messages * 1000.0 / millis,
                  result.events_per_turn, static_cast<long>((*loop)->stats().rearmed));
    }
    ratios.push_back(figure[1] / figure[0]);
  }
  std::printf("median: epoll %.0f ns, io_uring %.0f ns, ratio of neighbours %.3f (%.3f-%.3f, n=%d)\n", Median(nanos[0]),
              Median(nanos[1]), Median(ratios), *std::min_element(ratios.begin(), ratios.end()),
              *std::max_element(ratios.begin(), ratios.end()), rounds);
  return 0;
}

}  // namespace
}  // namespace sluice::sys

int main(int argc, char** argv) {
  return sluice::sys::Run(argc > 1 ? std::atoi(argv[1]) : 64, argc > 2 ? std::atoi(argv[2]) : 5,
                          argc > 3 ? std::atoi(argv[3]) : 500);
}
