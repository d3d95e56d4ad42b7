#include "protocols/accounting/log_sink.h"

#include <cerrno>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "protocols/accounting/log_output.h"
#include "sys/base/errno_or.h"
#include "sys/thread/clock.h"

namespace sluice::accounting {
namespace {

constexpr int64_t kRetry = sys::kNanosPerSecond;

// Takes as much as it is told, or fails as it is told; then everything.
class ScriptedOutput final : public LogOutput {
 public:
  int Open(int64_t) override { return 0; }
  sys::ErrnoOr<size_t> Write(absl::string_view lines) override {
    size_t takes = lines.size();
    if (!script.empty()) {
      const int step = script.front();
      script.pop_front();
      if (step < 0) return sys::Errno{-step};
      takes = std::min(takes, static_cast<size_t>(step));
    }
    text.append(lines.data(), takes);
    return takes;
  }
  int poll_fd() const override { return 99; }
  int Turn(int64_t) override {
    ++turns;
    text += '|';
    return turn_error;
  }
  Recovery Recover(int error, int64_t) override {
    recovered_from.push_back(error);
    return recovery;
  }
  int Reopen(int64_t) override {
    text += "<reopened>";
    return 0;
  }

  std::deque<int> script;
  std::string text;
  int turns = 0;
  int turn_error = 0;
  Recovery recovery = Recovery::kSame;
  std::vector<int> recovered_from;
};

class LogSinkTest : public testing::Test {
 protected:
  LogSinkTest() {
    auto output = std::make_unique<ScriptedOutput>();
    output_ = output.get();
    sink_ = std::make_unique<LogSink>(std::move(output), "test", kRetry, counters_, complain_);
  }

  bool Add(const std::string& line) {
    std::string* buffer = sink_->Buffer();
    if (buffer == nullptr) return false;
    *buffer += line;
    sink_->Added();
    return true;
  }

  std::vector<std::string> complaints_;
  std::function<void(absl::string_view)> complain_ = [this](absl::string_view line) { complaints_.emplace_back(line); };
  LogCounters counters_;
  ScriptedOutput* output_ = nullptr;
  std::unique_ptr<LogSink> sink_;
};

TEST_F(LogSinkTest, ABatchIsOneWrite) {
  Add("a\n");
  Add("b\n");
  EXPECT_TRUE(sink_->Flush(0, 0));
  EXPECT_EQ(output_->text, "|a\nb\n");
  EXPECT_EQ(counters_.written, 2u);
  EXPECT_TRUE(complaints_.empty());
}

TEST_F(LogSinkTest, NothingComesBetweenThePartsOfALine) {
  output_->script = {3, -EAGAIN, 1};
  Add("line\n");
  EXPECT_FALSE(sink_->Flush(0, 0));
  EXPECT_EQ(sink_->wait(), LogSink::Wait::kPoll);
  sink_->Reopen(0);  // must wait for the end of the line
  Add("next\n");
  EXPECT_FALSE(sink_->Flush(0, 0));  // poll has not said so
  EXPECT_EQ(output_->text, "|lin");
  sink_->Ready();
  EXPECT_TRUE(sink_->Flush(0, 0));
  EXPECT_EQ(output_->text, "|line\nnext\n<reopened>");
  EXPECT_EQ(counters_.written, 2u);
  EXPECT_EQ(counters_.failed, 0u);  // EAGAIN is no failure
}

TEST_F(LogSinkTest, AnErrorIsTriedAgainAfterASecondAndToldOnce) {
  output_->script = {2, -ENOSPC, -ENOSPC};
  Add("line\n");
  EXPECT_FALSE(sink_->Flush(0, 0));
  EXPECT_EQ(sink_->wait(), LogSink::Wait::kTime);
  EXPECT_FALSE(sink_->Flush(kRetry - 1, 0));
  EXPECT_EQ(counters_.failed, 1u);
  EXPECT_FALSE(sink_->Flush(kRetry, 0));
  EXPECT_EQ(counters_.failed, 2u);
  EXPECT_TRUE(sink_->Flush(2 * kRetry, 0));
  EXPECT_EQ(output_->text, "|line\n");
  EXPECT_EQ(output_->recovered_from, (std::vector<int>{ENOSPC, ENOSPC}));
  EXPECT_EQ(complaints_, (std::vector<std::string>{
                             "log test: cannot be written: No space left on device; trying again, records wait",
                             "log test: takes records again, none was lost"}));
}

TEST_F(LogSinkTest, TheRestOfALineHasNoPlaceInANewFile) {
  output_->script = {2, -EPIPE};
  output_->recovery = LogOutput::Recovery::kFresh;
  Add("line\n");
  Add("next\n");
  EXPECT_FALSE(sink_->Flush(0, 0));
  EXPECT_TRUE(sink_->Flush(kRetry, 0));
  EXPECT_EQ(output_->text, "|li|next\n");
  EXPECT_EQ(counters_.written, 1u);
  EXPECT_EQ(counters_.dropped, 1u);
}

TEST_F(LogSinkTest, ATornLineAloneLeavesAWorkingSink) {
  output_->script = {2, -EPIPE};
  output_->recovery = LogOutput::Recovery::kFresh;
  Add("line\n");
  EXPECT_FALSE(sink_->Flush(0, 0));
  EXPECT_TRUE(sink_->Flush(kRetry, 0));
  EXPECT_TRUE(sink_->MayTell(kRetry));
}

TEST_F(LogSinkTest, AnOutputThatDoesNotComeBackIsAskedOnceASecond) {
  output_->script = {-ENXIO};
  output_->recovery = LogOutput::Recovery::kFailed;
  Add("line\n");
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(sink_->Flush(i * kRetry / 2, 0));
  EXPECT_EQ(output_->recovered_from.size(), 2u);
  EXPECT_EQ(complaints_.size(), 1u);
}

TEST_F(LogSinkTest, AGapIsToldOnceTheOutputWorksAndAtMostOnceASecond) {
  output_->script = {-EAGAIN};
  const std::string line = std::string(9999, 'x') + "\n";
  int taken = 0;
  while (Add(line)) {
    sink_->Flush(0, 0);
    ++taken;
  }
  EXPECT_EQ(taken, 105);  // 1 MB
  sink_->Drop(7);
  sink_->Lost(2);
  EXPECT_FALSE(sink_->MayTell(0));  // still blocked
  sink_->Ready();
  EXPECT_TRUE(sink_->Flush(0, 0));
  ASSERT_TRUE(sink_->MayTell(0));
  sink_->Told(0);
  EXPECT_EQ(complaints_, (std::vector<std::string>{"log test: dropped 9 records (it was too slow)"}));
  EXPECT_EQ(counters_.dropped, 7u);  // Lost: counted elsewhere
  sink_->Drop(1);
  EXPECT_FALSE(sink_->MayTell(kRetry - 1));
  EXPECT_TRUE(sink_->MayTell(kRetry));
}

TEST_F(LogSinkTest, AskedForInTheMiddleOfABatch) {
  EXPECT_FALSE(sink_->wants_flush());
  Add(std::string(LogSink::kFlushBytes - 1, 'x') + "\n");
  EXPECT_TRUE(sink_->wants_flush());
  output_->script = {-EAGAIN};
  sink_->Flush(0, 0);
  EXPECT_FALSE(sink_->wants_flush());  // blocked: not for every record
  Add(std::string(LogSink::kFlushBytes - 1, 'x') + "\n");
  EXPECT_TRUE(sink_->wants_flush());
}

TEST_F(LogSinkTest, ANewNameThatFailsIsToldAndTheOldOneIsUsed) {
  output_->turn_error = EACCES;
  for (int i = 0; i < 5; ++i) {
    Add("a\n");
    EXPECT_TRUE(sink_->Flush(i, 0));
  }
  EXPECT_EQ(output_->turns, 1);
  EXPECT_EQ(complaints_.size(), 1u);
  EXPECT_EQ(counters_.written, 5u);
}

TEST_F(LogSinkTest, WhatIsGivenUpIsCounted) {
  output_->script = {2, -EAGAIN};
  Add("a\n");
  Add("b\n");
  Add("c\n");
  EXPECT_FALSE(sink_->Flush(0, 0));
  sink_->DropPending();
  EXPECT_EQ(counters_.written, 1u);
  EXPECT_EQ(counters_.dropped, 2u);
  EXPECT_EQ(sink_->untold_records(), 2u);
  EXPECT_FALSE(sink_->has_pending());
}

}  // namespace
}  // namespace sluice::accounting
