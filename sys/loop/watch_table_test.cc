#include "sys/loop/watch_table.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <set>
#include <vector>

#include "sys/loop/loop.h"
#include "sys/loop/poll_bits.h"
#include "sys/ring/op_tag.h"

namespace sluice::sys {
namespace {

constexpr Loop::Interest kBoth = Loop::Interest::kBoth;

TEST(WatchTableTest, GrowsAndKeepsWhatIsInIt) {
  WatchTable table;
  std::vector<const WatchTable::Watch*> places;
  std::set<uint32_t> slots;
  constexpr uint32_t kMany = 3 * WatchTable::kChunk + 1;
  for (uint32_t i = 0; i < kMany; ++i) {
    const uint32_t slot = table.Take(static_cast<int>(i), 1000 + i, kBoth);
    ASSERT_TRUE(slots.insert(slot).second);
    ASSERT_EQ(slot, i) << "dense, so that ids stay small";
    places.push_back(&table[slot]);
  }
  EXPECT_EQ(table.used(), static_cast<int>(kMany));
  EXPECT_EQ(table.capacity(), 4 * WatchTable::kChunk);
  for (uint32_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(&table[i], places[i]) << "a watch does not move";
    EXPECT_EQ(table[i].fd, static_cast<int>(i));
    EXPECT_EQ(table[i].token, 1000 + i);
    EXPECT_EQ(table[i].state, WatchTable::State::kUnarmed);
  }
}

TEST(WatchTableTest, OldTagsFindNothing) {
  WatchTable table;
  const uint32_t slot = table.Take(1, 10, kBoth);
  const OpTag old_tag = OpTag::Unpack(table.Tag(slot));
  EXPECT_EQ(table.Find(old_tag), &table[slot]);
  table.Free(slot);
  EXPECT_EQ(table.Find(old_tag), nullptr);
  ASSERT_EQ(table.Take(1, 11, kBoth), slot) << "the slot freed last is taken first";
  EXPECT_EQ(table.Find(old_tag), nullptr);
  EXPECT_EQ(table.Find(OpTag::Unpack(table.Tag(slot)))->token, 11u);
  EXPECT_EQ(table.Find(OpTag{OpKind::kWatch, 0, table.capacity()}), nullptr) << "no slot of this table";
}

TEST(WatchTableTest, GenerationsWrapWithoutTouchingTheirNeighbours) {
  WatchTable table;
  const uint32_t slot = table.Take(5, 10, Loop::Interest::kWrite);
  table[slot].generation = OpTag::kGenerationMask;
  table.Free(slot);
  ASSERT_EQ(table.Take(5, 11, Loop::Interest::kWrite), slot);
  EXPECT_EQ(table[slot].generation, 0u);
  EXPECT_EQ(table[slot].interest, Loop::Interest::kWrite);
  EXPECT_EQ(table[slot].fd, 5);
}

TEST(PollBitsTest, EveryInterestSeesTheEnd) {
  for (const Loop::Interest interest : {Loop::Interest::kRead, Loop::Interest::kWrite, kBoth}) {
    EXPECT_TRUE(PollMask(interest) & EPOLLRDHUP);
  }
  EXPECT_FALSE(PollMask(Loop::Interest::kRead) & EPOLLOUT);
  EXPECT_FALSE(PollMask(Loop::Interest::kWrite) & (EPOLLIN | EPOLLPRI));
  EXPECT_EQ(ReadyBits(EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLRDBAND | EPOLLWRNORM), Loop::kReadable | Loop::kWritable);
}

}  // namespace
}  // namespace sluice::sys
