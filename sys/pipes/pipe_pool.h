#ifndef SLUICE_SYS_PIPES_PIPE_POOL_H_
#define SLUICE_SYS_PIPES_PIPE_POOL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "sys/base/errno_or.h"
#include "sys/pipes/pipe.h"

namespace sluice::sys {

// A worker's idle pipes. A pipe is borrowed for one turn of a flow and stays with the flow only while it holds a rest.
//
// Put() takes back empty pipes only: one that still holds bytes is closed, so that no session ever sees another one's
// data. What is returned is trusted by `held_bytes`, and checked against the kernel (FIONREAD, 128 ns) as well.
//
// After a failed Create() the pool does not ask the kernel again for kRetryNanos: a machine that is out of pipes would
// otherwise pay a failing system call for every read.
//
// Worker only.
class PipePool {
 public:
  // A pipe's slots cost 5 KB of kernel memory each and two descriptors, so few are kept: sixteen serve a worker, which
  // uses one at a time apart from flows with a blocked output.
  static constexpr int kKept = 16;
  static constexpr int64_t kRetryNanos = 100'000'000;

  struct Stats {
    int64_t created = 0;
    int64_t create_failed = 0;
    int64_t dirty_closed = 0;
  };

  // `now` is the turn's CLOCK_MONOTONIC reading. Null when there is none to be had: copy instead.
  std::unique_ptr<Pipe> Take(int64_t now);
  void Put(std::unique_ptr<Pipe> pipe);
  // Closes the idle pipes.
  void Clear() { idle_.clear(); }

  int idle() const { return static_cast<int>(idle_.size()); }
  const Stats& stats() const { return stats_; }

 private:
  std::vector<std::unique_ptr<Pipe>> idle_;
  int64_t retry_at_ = 0;
  Stats stats_;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_PIPES_PIPE_POOL_H_
