// The floor of a splicing relay: two splice calls through a 256 KB pipe, edge-triggered epoll, one thread.
//
//   floor_splice LISTEN_PORT ORIGIN_IP ORIGIN_PORT [LISTEN_IP]
//
// Pipes are pooled: a direction takes one when it has something to read and gives it back when it is empty again, so
// only directions whose output is blocked hold one. An idle connection has none.

#include <fcntl.h>

#include "bench/floor/floor_loop.h"

namespace sluice::bench {
namespace {

constexpr int kPipeBytes = 256 * 1024;

struct Pipe {
  int read_fd;
  int write_fd;
};

class SpliceMover {
 public:
  // The pipe that a blocked output left something in.
  struct Rest {
    bool empty() const { return held == 0; }
    Pipe pipe;
    size_t held = 0;
  };

  Moved Move(End<Rest>& from, End<Rest>& to) {
    if (!from.rest.empty()) {
      if (!to.writable) return Moved::kWaiting;
      if (!Drain(from.rest, to)) return Moved::kBroken;
      if (!from.rest.empty()) return Moved::kWaiting;
      free_.push_back(from.rest.pipe);
    }
    if (!from.readable || !to.writable) return Moved::kWaiting;
    from.rest.pipe = Take();
    Moved moved = Fill(from, to);
    if (from.rest.empty()) free_.push_back(from.rest.pipe);
    return moved;
  }

  // A pipe with a rest is closed, never pooled: its bytes would reach another connection.
  void Release(Rest& rest) {
    if (rest.empty()) return;
    close(rest.pipe.read_fd);
    close(rest.pipe.write_fd);
    rest.held = 0;
  }

 private:
  // Splices into an empty pipe and out of it until the input or the output blocks.
  static Moved Fill(End<Rest>& from, End<Rest>& to) {
    while (from.rest.empty()) {
      ssize_t taken = splice(from.fd, nullptr, from.rest.pipe.write_fd, nullptr, kPipeBytes, SPLICE_F_NONBLOCK);
      if (taken == 0) return Moved::kEnded;
      if (taken < 0) {
        if (errno != EAGAIN) return Moved::kBroken;
        from.readable = false;
        break;
      }
      from.rest.held = taken;
      if (!Drain(from.rest, to)) return Moved::kBroken;
    }
    return Moved::kWaiting;
  }

  // Splices out until the pipe is empty or the output blocks; false for a hard error.
  static bool Drain(Rest& rest, End<Rest>& to) {
    while (rest.held > 0) {
      ssize_t given = splice(rest.pipe.read_fd, nullptr, to.fd, nullptr, rest.held, SPLICE_F_NONBLOCK);
      if (given > 0) {
        rest.held -= given;
      } else if (given < 0 && errno == EAGAIN) {
        to.writable = false;
        return true;
      } else {
        return false;
      }
    }
    return true;
  }

  Pipe Take() {
    if (!free_.empty()) {
      Pipe pipe = free_.back();
      free_.pop_back();
      return pipe;
    }
    int fds[2];
    if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0 || fcntl(fds[1], F_SETPIPE_SZ, kPipeBytes) < 0) {
      perror("floor: pipe");
      _exit(1);
    }
    return {fds[0], fds[1]};
  }

  std::vector<Pipe> free_;
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  sluice::bench::FloorLoop<sluice::bench::SpliceMover>(sluice::bench::StartFloor(argc, argv), {}).Run();
}
