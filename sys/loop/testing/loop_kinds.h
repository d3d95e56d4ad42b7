#ifndef SLUICE_SYS_LOOP_TESTING_LOOP_KINDS_H_
#define SLUICE_SYS_LOOP_TESTING_LOOP_KINDS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sys/loop/loop.h"

namespace sluice::sys::testing {

// The loops that a test of something above them runs on, as a parameter:
//
//   INSTANTIATE_TEST_SUITE_P(Loops, RelayTest, ::testing::ValuesIn(kLoopKinds), LoopKindName);
//   void SetUp() override {
//     absl::StatusOr<std::unique_ptr<Loop>> loop = MakeLoop(GetParam());
//     if (!loop.ok()) GTEST_SKIP() << loop.status();  // this machine refuses io_uring
//   }
enum class LoopKind {
  kEpoll,
  kUring,
  // A ring with the fewest flags and the smallest queues (64 requests, 64 completions): overflows at every occasion.
  kSmallUring,
};

inline constexpr LoopKind kLoopKinds[] = {LoopKind::kEpoll, LoopKind::kUring, LoopKind::kSmallUring};

// kUnavailable with the reason when the kernel refuses io_uring.
absl::StatusOr<std::unique_ptr<Loop>> MakeLoop(LoopKind kind);

inline std::string ToString(LoopKind kind) {
  switch (kind) {
    case LoopKind::kEpoll:
      return "Epoll";
    case LoopKind::kUring:
      return "Uring";
    case LoopKind::kSmallUring:
      return "SmallUring";
  }
  return "";
}

// For INSTANTIATE_TEST_SUITE_P.
template <typename Info>
std::string LoopKindName(const Info& info) {
  return ToString(info.param);
}

}  // namespace sluice::sys::testing

#endif  // SLUICE_SYS_LOOP_TESTING_LOOP_KINDS_H_
