#include "relay/rate_limiter.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "relay/session_limits.h"

namespace sluice::relay {
namespace {

constexpr int64_t kSecond = sys::kNanosPerSecond;
constexpr int64_t kMilli = sys::kNanosPerMilli;
constexpr int64_t kStart = 1'000'000 * kSecond;

// A session as the engine runs it: it reads up to `read_bytes` at once whenever its limits let it, and the wheel wakes
// it up to two milliseconds late.
struct Reader {
  FlowLimits limits;
  int64_t read_bytes = 64 * 1024;
  int64_t moved = 0;
  int64_t wakes = 0;
  sys::MonotonicNanos wake_at = kStart;

  void Run(sys::MonotonicNanos now) {
    if (now < wake_at) return;
    ++wakes;
    for (int reads = 0; reads < 10'000; ++reads) {
      const int64_t most = limits.MayTake(now);
      if (most <= 0) break;
      const int64_t got = std::min(most, read_bytes);
      limits.Took(got);
      moved += got;
    }
    limits.Pause();
    wake_at = (limits.until(now) / kMilli + 2) * kMilli;
  }
};

// All of them for so long, in steps of a millisecond.
void RunAll(std::vector<std::unique_ptr<Reader>>& readers, sys::MonotonicNanos& now, int64_t nanos) {
  for (const sys::MonotonicNanos end = now + nanos; now < end; now += kMilli) {
    for (auto& reader : readers) reader->Run(now);
  }
}

std::vector<std::unique_ptr<Reader>> ReadersOf(const std::shared_ptr<RateLimiter>& limiter, int count) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < count; ++i) {
    readers.push_back(std::make_unique<Reader>());
    readers.back()->limits.Add(limiter);
  }
  return readers;
}

int64_t SumOf(const std::vector<std::unique_ptr<Reader>>& readers) {
  int64_t sum = 0;
  for (const auto& reader : readers) sum += reader->moved;
  return sum;
}

TEST(RateLimiter, RateHoldsForAnyNumberOfSessions) {
  for (const int64_t bits : {300, 8'000, 1'000'000, 16'000'000, 1'000'000'000}) {
    for (const int count : {1, 20}) {
      const auto limiter = std::make_shared<RateLimiter>(bits);
      auto readers = ReadersOf(limiter, count);
      sys::MonotonicNanos now = kStart;
      RunAll(readers, now, kSecond);  // what the bucket held is gone
      const int64_t before = SumOf(readers);
      RunAll(readers, now, 10 * kSecond);
      const double expected = static_cast<double>(bits) / 8 * 10;
      // A slow rate comes in bytes, each of them once in a round.
      const double slack = std::max(expected * 0.03, static_cast<double>(count) * 10);
      EXPECT_NEAR(static_cast<double>(SumOf(readers) - before), expected, slack) << bits << " bit/s, " << count;
    }
  }
}

TEST(RateLimiter, SessionsOfOneRuleGetTheSame) {
  for (const int64_t bits : {1'000'000, 16'000'000, 1'000'000'000}) {
    for (const int count : {2, 20}) {
      const auto limiter = std::make_shared<RateLimiter>(bits);
      auto readers = ReadersOf(limiter, count);
      readers[0]->read_bytes = 1000;  // one that reads little at once asks more often
      sys::MonotonicNanos now = kStart;
      RunAll(readers, now, kSecond);
      for (auto& reader : readers) reader->moved = 0;
      RunAll(readers, now, 10 * kSecond);
      int64_t least = readers[0]->moved;
      int64_t most = least;
      for (const auto& reader : readers) {
        least = std::min(least, reader->moved);
        most = std::max(most, reader->moved);
      }
      EXPECT_GT(least * 2, most) << bits << " bit/s, " << count;
    }
  }
}

TEST(RateLimiter, NewcomerNeedNotWaitForLong) {
  const auto limiter = std::make_shared<RateLimiter>(16'000'000);
  auto readers = ReadersOf(limiter, 7);
  sys::MonotonicNanos now = kStart;
  std::vector<std::unique_ptr<Reader>> newcomer;
  newcomer.push_back(std::move(readers.back()));
  readers.pop_back();
  RunAll(readers, now, 5 * kSecond);
  readers.push_back(std::move(newcomer[0]));
  readers.back()->wake_at = now;
  RunAll(readers, now, 250 * kMilli);
  EXPECT_GT(readers.back()->moved, 0);
}

TEST(RateLimiter, AfterAPauseNoMoreThanTheBucketComesAtOnce) {
  for (const int64_t bits : {300, 1'000'000, 16'000'000, 1'000'000'000}) {
    auto readers = ReadersOf(std::make_shared<RateLimiter>(bits), 1);
    sys::MonotonicNanos now = kStart + 3600 * kSecond;
    readers[0]->Run(now);
    const int64_t bucket = std::max<int64_t>(RateLimiter::kLeastBurstBytes, bits / 8 / 50);
    EXPECT_LE(readers[0]->moved, bucket + 1) << bits;
    EXPECT_GE(readers[0]->moved, bucket * 3 / 4) << bits;
  }
}

TEST(RateLimiter, SlowRateWakesNobodyOften) {
  auto readers = ReadersOf(std::make_shared<RateLimiter>(300), 1);
  sys::MonotonicNanos now = kStart;
  RunAll(readers, now, 3600 * kSecond / 60);
  readers[0]->wakes = 0;
  RunAll(readers, now, 60 * kSecond);
  EXPECT_LE(readers[0]->wakes, 60 * 5);
  EXPECT_GE(readers[0]->wakes, 60);
}

TEST(RateLimiter, TurnThatWasNotUsedIsSomebodyElses) {
  const auto limiter = std::make_shared<RateLimiter>(8'000'000);
  auto readers = ReadersOf(limiter, 1);
  FlowLimits silent;  // readable by mistake, again and again
  silent.Add(limiter);
  sys::MonotonicNanos now = kStart;
  RunAll(readers, now, kSecond);
  const int64_t before = SumOf(readers);
  for (int i = 0; i < 5000; ++i) {
    RunAll(readers, now, 2 * kMilli);
    if (silent.MayTake(now) > 0) silent.Pause();
  }
  EXPECT_NEAR(static_cast<double>(SumOf(readers) - before), 1e7, 3e5);
}

TEST(RateLimiter, SmallMessageBelowTheRateDoesNotWait) {
  FlowLimits limits;
  limits.Add(std::make_shared<RateLimiter>(1'000'000));
  sys::MonotonicNanos now = kStart;
  for (int i = 0; i < 100; ++i) {
    now += 100 * kMilli;
    ASSERT_GT(limits.MayTake(now), 0) << i;
    limits.Took(1000);
  }
}

TEST(RateLimiter, SlowestOfSeveralRatesHolds) {
  std::vector<std::unique_ptr<Reader>> readers;
  readers.push_back(std::make_unique<Reader>());
  const auto wide = std::make_shared<RateLimiter>(80'000'000);
  readers[0]->limits.Add(wide);
  readers[0]->limits.Add(std::make_shared<RateLimiter>(8'000'000));
  // What the first may not move another one does.
  readers.push_back(std::make_unique<Reader>());
  readers[1]->limits.Add(wide);
  sys::MonotonicNanos now = kStart;
  RunAll(readers, now, kSecond);
  for (auto& reader : readers) reader->moved = 0;
  RunAll(readers, now, 10 * kSecond);
  EXPECT_NEAR(static_cast<double>(readers[0]->moved), 1e7, 3e5);
  EXPECT_NEAR(static_cast<double>(readers[1]->moved), 9e7, 27e5);
}

TEST(RateLimiter, ChangedRateReachesWhoWaits) {
  const auto limiter = std::make_shared<RateLimiter>(300);
  auto readers = ReadersOf(limiter, 50);
  sys::MonotonicNanos now = kStart;
  RunAll(readers, now, kSecond);
  limiter->SetRate(80'000'000);
  RunAll(readers, now, kSecond);
  for (auto& reader : readers) {
    EXPECT_GT(reader->moved, 0);
    reader->moved = 0;
  }
  RunAll(readers, now, 5 * kSecond);
  EXPECT_NEAR(static_cast<double>(SumOf(readers)), 5e7, 15e5);
  limiter->SetRate(0);  // the rule has gone
  RunAll(readers, now, kSecond);
  EXPECT_EQ(readers[0]->limits.MayTake(now), FlowLimits::kNoLimit);
}

TEST(RateLimiter, SessionThatEndsWhileItWaitsLeavesItsTurn) {
  const auto limiter = std::make_shared<RateLimiter>(8'000'000);
  sys::MonotonicNanos now = kStart;
  for (int i = 0; i < 1000; ++i) {
    FlowLimits limits;
    limits.Add(limiter);
    for (int64_t most; (most = limits.MayTake(now)) > 0;) limits.Took(most);
    EXPECT_TRUE(limits.waiting());
  }
  EXPECT_LE(limiter->Reserve(1, now), now + 60 * kMilli) << "a thousand turns that nobody takes";
  EXPECT_EQ(limiter->TurnBytes(), 16'384) << "nobody waits";
}

TEST(RateLimiter, ThreadsTogetherGetNoMoreThanTheRate) {
  const auto limiter = std::make_shared<RateLimiter>(8'000'000);
  std::atomic<int64_t> moved{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      FlowLimits limits;
      limits.Add(limiter);
      for (sys::MonotonicNanos now = kStart; now < kStart + 2 * kSecond; now += kMilli / 10) {
        const int64_t most = limits.MayTake(now);
        if (most <= 0) continue;
        limits.Took(most);
        moved += most;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // The threads' clocks are not the same: those that are behind may find the bucket refilled.
  EXPECT_LE(moved.load(), 2'000'000 + 2 * 20'000);
}

TEST(SessionLimits, CountersStopAllWhoShareThem) {
  const auto counter = std::make_shared<ByteCounter>(1000);
  FlowLimits one, other;
  one.Add(counter);
  other.Add(counter);
  EXPECT_EQ(one.MayTake(kStart), 1000);
  one.Took(600);
  EXPECT_EQ(other.MayTake(kStart), 400);
  other.Took(400);
  EXPECT_EQ(one.MayTake(kStart), FlowLimits::kSpent);
  EXPECT_EQ(other.MayTake(kStart), FlowLimits::kSpent);
  counter->Set(0);
  EXPECT_EQ(one.MayTake(kStart), 1000);
}

TEST(SessionLimits, EarlyBytesAreCountedAndPaidFor) {
  const auto counter = std::make_shared<ByteCounter>();
  FlowLimits limits;
  limits.Add(counter);
  limits.Add(std::make_shared<RateLimiter>(8'000));
  limits.Charge(20'000, kStart);
  EXPECT_EQ(counter->bytes(), 20'000);
  EXPECT_EQ(limits.MayTake(kStart), FlowLimits::kWait);
  EXPECT_EQ(limits.MayTake(kStart + 3 * kSecond), FlowLimits::kWait) << "3,616 bytes are owed, at 1,000 a second";
}

}  // namespace
}  // namespace sluice::relay
