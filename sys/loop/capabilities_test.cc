#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/status/statusor.h"
#include "sys/loop/loop_probe.h"

namespace sluice::sys {
namespace {

// Half of the tests skip where the kernel refuses io_uring. So that this is not taken for success, a machine that runs
// the tests promises io_uring unless it says otherwise:  --test_env=SLUICE_NO_URING_PROMISED=1
TEST(CapabilitiesTest, ThisMachineHasTheIoUringThatItPromised) {
  const absl::StatusOr<LoopChoice> choice = ProbeLoop(Backend::kUring);
  if (choice.ok()) return;
  const char* no_promise = std::getenv("SLUICE_NO_URING_PROMISED");
  if (no_promise != nullptr && std::string(no_promise) == "1") {
    GTEST_SKIP() << "NOT TESTED on io_uring, and not promised: " << choice.status();
  }
  FAIL() << "the tests of io_uring cannot run here: " << choice.status()
         << "\nSLUICE_NO_URING_PROMISED=1 says that this is known";
}

}  // namespace
}  // namespace sluice::sys
