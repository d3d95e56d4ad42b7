#ifndef SLUICE_RELAY_TESTING_RELAY_MATRIX_H_
#define SLUICE_RELAY_TESTING_RELAY_MATRIX_H_

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "relay/testing/session_harness.h"
#include "sys/loop/testing/loop_kinds.h"

namespace sluice::relay::testing {

// -s0, -s3, -s7.
enum class Path { kCopy, kSplice, kAutomatic };

inline constexpr Path kPaths[] = {Path::kCopy, Path::kSplice, Path::kAutomatic};

inline SpliceOptions SpliceOptionsOf(Path path) {
  SpliceOptions options;
  options.from_upstream = options.from_client = path != Path::kCopy;
  options.automatic = path == Path::kAutomatic;
  return options;
}

// Every case of the relay runs on each loop, on each data path, with sockets of each kind.
class RelayMatrixTest : public ::testing::TestWithParam<std::tuple<sys::testing::LoopKind, Path, SocketKind>> {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<sys::Loop>> loop = sys::testing::MakeLoop(std::get<0>(GetParam()));
    if (!loop.ok()) {
      ASSERT_NE(std::get<0>(GetParam()), sys::testing::LoopKind::kEpoll) << loop.status();
      GTEST_SKIP() << "NOT TESTED, this machine has no io_uring: " << loop.status();
    }
    harness_ = std::make_unique<SessionHarness>(*std::move(loop));
    options_.splice = SpliceOptionsOf(path());
  }

  Path path() const { return std::get<1>(GetParam()); }
  SocketKind kind() const { return std::get<2>(GetParam()); }
  bool is_tcp() const { return kind() != SocketKind::kUnix; }

  TestSession& Start() { return Start({}); }
  TestSession& Start(StartArgs args) {
    args.client = args.upstream = kind();
    return harness_->Start(args, &options_);
  }
  template <typename Done>
  ::testing::AssertionResult TurnUntil(Done done) {
    return harness_->TurnUntil(std::move(done));
  }

  RelayOptions options_;
  std::unique_ptr<SessionHarness> harness_;
};

inline std::string MatrixName(const ::testing::TestParamInfo<RelayMatrixTest::ParamType>& info) {
  static constexpr const char* kNames[] = {"Copy", "Splice", "Auto"};
  return absl::StrCat(sys::testing::ToString(std::get<0>(info.param)),
                      kNames[static_cast<int>(std::get<1>(info.param))], ToString(std::get<2>(info.param)));
}

}  // namespace sluice::relay::testing

#endif  // SLUICE_RELAY_TESTING_RELAY_MATRIX_H_
