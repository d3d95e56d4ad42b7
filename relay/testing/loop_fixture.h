#ifndef SLUICE_RELAY_TESTING_LOOP_FIXTURE_H_
#define SLUICE_RELAY_TESTING_LOOP_FIXTURE_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "relay/testing/session_harness.h"
#include "sys/loop/testing/loop_kinds.h"

namespace sluice::relay::testing {

// What does not depend on the data path or the kind of socket: once on each loop.
class RelayLoopTest : public ::testing::TestWithParam<sys::testing::LoopKind> {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<sys::Loop>> loop = sys::testing::MakeLoop(GetParam());
    if (!loop.ok()) {
      ASSERT_NE(GetParam(), sys::testing::LoopKind::kEpoll) << loop.status();
      GTEST_SKIP() << "NOT TESTED, this machine has no io_uring: " << loop.status();
    }
    harness_ = std::make_unique<SessionHarness>(*std::move(loop));
  }

  TestSession& Start() { return Start({}); }
  TestSession& Start(const StartArgs& args) { return harness_->Start(args, &options_); }
  template <typename Done>
  ::testing::AssertionResult TurnUntil(Done done) {
    return harness_->TurnUntil(std::move(done));
  }

  RelayOptions options_;
  std::unique_ptr<SessionHarness> harness_;
};

}  // namespace sluice::relay::testing

#endif  // SLUICE_RELAY_TESTING_LOOP_FIXTURE_H_
