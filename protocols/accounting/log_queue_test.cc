#include "protocols/accounting/log_queue.h"

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "protocols/accounting/traffic_record.h"

namespace sluice::accounting {
namespace {

using Result = LogQueue::PutResult;

TrafficRecord Record(const std::string& text) {
  TrafficRecord record;
  record.text = text;
  return record;
}

size_t ItemsOf(const LogQueue::Batch& batch) {
  size_t items = 0;
  for (const auto& piece : batch.pieces) items += piece.size();
  return items;
}

class LogQueueTest : public testing::Test {
 protected:
  LogChannelState channel_;
  LogQueue queue_;
  LogQueue::Batch batch_;
};

TEST_F(LogQueueTest, KeepsTheOrderOverPieces) {
  for (int i = 0; i < 200; ++i) EXPECT_EQ(queue_.Put(&channel_, Record(std::to_string(i))), Result::kQueued);
  queue_.Take(batch_);
  int expected = 0;
  for (const auto& piece : batch_.pieces) {
    for (const LogItem& item : piece) EXPECT_EQ(std::string(item.record.text.view()), std::to_string(expected++));
  }
  EXPECT_EQ(expected, 200);
  queue_.Take(batch_);
  EXPECT_EQ(ItemsOf(batch_), 0u);
}

TEST_F(LogQueueTest, OnlyASleeperIsWokenAndOnlyOnce) {
  ASSERT_TRUE(queue_.Sleep());
  EXPECT_EQ(queue_.Put(&channel_, Record("a")), Result::kWake);
  EXPECT_EQ(queue_.Put(&channel_, Record("b")), Result::kQueued);
  EXPECT_FALSE(queue_.Sleep());  // there is something to do
  EXPECT_EQ(queue_.Put(&channel_, Record("c")), Result::kQueued);
  queue_.Take(batch_);
  ASSERT_TRUE(queue_.Sleep());
  queue_.Awake();
  EXPECT_EQ(queue_.Put(&channel_, Record("d")), Result::kQueued);
}

TEST_F(LogQueueTest, HalfFullWakesTheOneWhoCollects) {
  size_t wakes = 0;
  for (size_t i = 0; i < LogQueue::kMaxRecords; ++i) {
    if (queue_.Put(&channel_, Record("")) == Result::kWake) {
      ++wakes;
      EXPECT_EQ(i + 1, LogQueue::kMaxRecords / 2);
    }
  }
  EXPECT_EQ(wakes, 1u);
}

TEST_F(LogQueueTest, RefusesByNumberAndTellsWhoLost) {
  LogChannelState other;
  for (size_t i = 0; i < LogQueue::kMaxRecords; ++i) EXPECT_NE(queue_.Put(&channel_, Record("")), Result::kRefused);
  EXPECT_EQ(queue_.Put(&channel_, Record("")), Result::kRefused);
  EXPECT_EQ(queue_.Put(&other, Record("")), Result::kRefused);
  EXPECT_EQ(queue_.Put(&channel_, Record("")), Result::kRefused);
  queue_.Take(batch_);
  EXPECT_EQ(ItemsOf(batch_), LogQueue::kMaxRecords);
  ASSERT_EQ(batch_.refused.size(), 2u);
  EXPECT_EQ(batch_.refused[0], std::make_pair(&channel_, uint64_t{2}));
  EXPECT_EQ(batch_.refused[1], std::make_pair(&other, uint64_t{1}));
  EXPECT_EQ(queue_.Put(&channel_, Record("")), Result::kQueued);
  queue_.Take(batch_);
  EXPECT_TRUE(batch_.refused.empty());
}

TEST_F(LogQueueTest, RefusesByBytes) {
  const std::string text(4096, 'x');
  size_t queued = 0;
  while (queue_.Put(&channel_, Record(text)) != Result::kRefused) ++queued;
  EXPECT_LE(queued * text.size(), LogQueue::kMaxBytes);
  EXPECT_GT(queued, LogQueue::kMaxBytes / (text.size() + 300));
}

TEST_F(LogQueueTest, ControlAlwaysGetsInAndKeepsItsPlace) {
  for (size_t i = 0; i < LogQueue::kMaxRecords; ++i) (void)queue_.Put(&channel_, Record(""));
  auto owner = std::make_shared<LogChannelState>();
  (void)queue_.PutControl({LogItem::Kind::kClose, owner.get(), owner, TrafficRecord()});
  queue_.Close();
  EXPECT_EQ(queue_.Put(&channel_, Record("")), Result::kRefused);
  (void)queue_.PutControl({LogItem::Kind::kClose, owner.get(), owner, TrafficRecord()});
  queue_.Take(batch_);
  EXPECT_EQ(ItemsOf(batch_), LogQueue::kMaxRecords + 2);
  EXPECT_EQ(batch_.pieces.back().back().kind, LogItem::Kind::kClose);
}

}  // namespace
}  // namespace sluice::accounting
