#ifndef SLUICE_SYS_LOOP_TESTING_CONFINED_CHILD_H_
#define SLUICE_SYS_LOOP_TESTING_CONFINED_CHILD_H_

#include <functional>
#include <string>

namespace sluice::sys::testing {

// Runs `body` in a forked child and returns the string that it gives, for what a process cannot take back: a seccomp
// filter, a dropped capability. "child: ..." when the child died.
//
// The test must have no other thread at that moment.
std::string InChild(const std::function<std::string()>& body);

// In a child: the system call `number` answers with `error` from now on, as container runtimes have it. False when the
// kernel takes no filter.
bool RefuseSystemCall(int number, int error);

// In a child: locked memory is limited to `bytes`, also for root. False when that could not be had.
bool LimitLockedMemory(int bytes);

}  // namespace sluice::sys::testing

#endif  // SLUICE_SYS_LOOP_TESTING_CONFINED_CHILD_H_
