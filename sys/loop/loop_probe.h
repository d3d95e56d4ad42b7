#ifndef SLUICE_SYS_LOOP_LOOP_PROBE_H_
#define SLUICE_SYS_LOOP_LOOP_PROBE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sys/loop/loop.h"

namespace sluice::sys {

enum class Backend { kAuto, kUring, kEpoll };

// Which loop this process runs on, and why; for the line "event loop: io_uring|epoll (reason)".
struct LoopChoice {
  Backend backend;     // kUring or kEpoll
  std::string reason;  // one phrase for people: "kernel 6.18, multishot poll works"
  // By kAuto: a worker whose ring cannot be made after all runs on epoll.
  bool may_fall_back;
};

// Requests a worker's ring holds between two turns, before the kernel takes some early: watches and releases of some
// hundred connections. 68 KB of locked memory, see uring.h.
constexpr unsigned kRingEntries = 512;

// Decides by trying, not by the kernel's version: makes a ring and runs a multishot poll on a pipe through it, from
// arming to release. Containers refuse io_uring in three ways (a seccomp profile with EPERM or ENOSYS, the sysctl
// kernel.io_uring_disabled), and memory in a fourth (RLIMIT_MEMLOCK); the reason tells which it was.
//
// kAuto: io_uring where it works, else epoll with the reason. kUring: io_uring, or an error with the reason; never
// epoll. kEpoll: epoll, nothing is tried.
//
// Start-up only: takes some 100 us, and waits for up to a second for a ring that does not answer.
absl::StatusOr<LoopChoice> ProbeLoop(Backend wanted);

// A loop for one worker, before its thread starts. Under `choice.may_fall_back` a ring that cannot be made (the n-th
// worker's meets RLIMIT_MEMLOCK though the first one's did not) gives an epoll loop, and `*fell_back` says why; it is
// left empty otherwise.
//
// Start-up only.
absl::StatusOr<std::unique_ptr<Loop>> CreateLoop(const LoopChoice& choice, unsigned entries, std::string* fell_back);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_LOOP_LOOP_PROBE_H_
