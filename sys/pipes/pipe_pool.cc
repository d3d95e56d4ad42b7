#include "sys/pipes/pipe_pool.h"

#include <sys/ioctl.h>

#include <utility>

namespace sluice::sys {
namespace {

bool HoldsNothing(const Pipe& pipe) {
  int held = 0;
  return pipe.empty() && ioctl(pipe.read_fd(), FIONREAD, &held) == 0 && held == 0;
}

}  // namespace

std::unique_ptr<Pipe> PipePool::Take(int64_t now) {
  if (!idle_.empty()) {
    std::unique_ptr<Pipe> pipe = std::move(idle_.back());
    idle_.pop_back();
    return pipe;
  }
  if (now < retry_at_) return nullptr;
  ErrnoOr<Pipe> created = Pipe::Create();
  if (!created.ok()) {
    ++stats_.create_failed;
    retry_at_ = now + kRetryNanos;
    return nullptr;
  }
  ++stats_.created;
  return std::make_unique<Pipe>(*std::move(created));
}

void PipePool::Put(std::unique_ptr<Pipe> pipe) {
  if (pipe == nullptr) return;
  if (!HoldsNothing(*pipe)) {
    ++stats_.dirty_closed;
    return;
  }
  if (idle_.size() < kKept) idle_.push_back(std::move(pipe));
}

}  // namespace sluice::sys
