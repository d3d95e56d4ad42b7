#include "sys/loop/testing/loop_kinds.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sys/base/errno_or.h"
#include "sys/base/errno_status.h"
#include "sys/loop/epoll_loop.h"
#include "sys/loop/uring_loop.h"
#include "sys/ring/uring.h"

namespace sluice::sys::testing {
namespace {

template <typename T>
absl::StatusOr<std::unique_ptr<Loop>> Convert(ErrnoOr<std::unique_ptr<T>> loop, absl::string_view what) {
  if (loop.ok()) return *std::move(loop);
  return absl::UnavailableError(absl::StrCat(what, " refused: ", ErrnoName(loop.error().code)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loop>> MakeLoop(LoopKind kind) {
  switch (kind) {
    case LoopKind::kEpoll:
      return Convert(EpollLoop::Create(), "epoll");
    case LoopKind::kUring:
      return Convert(UringLoop::Create({}), "io_uring");
    case LoopKind::kSmallUring:
      return Convert(UringLoop::Create({.entries = 64, .completions = 64, .plain = true}), "io_uring");
  }
  return absl::InvalidArgumentError("no such loop");
}

}  // namespace sluice::sys::testing
