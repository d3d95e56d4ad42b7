#include "relay/session_table.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace sluice::relay {
namespace {

Session* Begin(SessionTable& table) {
  Session* session = table.Allocate();
  if (session != nullptr) session->stage = SessionStage::kRelaying;
  return session;
}

TEST(SessionTableTest, SlotsAreDistinctAndNeverMove) {
  SessionTable table;
  std::vector<Session*> sessions;
  std::set<uint32_t> slots;
  for (uint32_t i = 0; i < 3 * SessionTable::kChunk + 1; ++i) {
    sessions.push_back(Begin(table));
    slots.insert(sessions.back()->slot);
  }
  EXPECT_EQ(slots.size(), sessions.size());
  EXPECT_EQ(table.used(), static_cast<int>(sessions.size()));
  EXPECT_EQ(table.capacity(), 4 * SessionTable::kChunk);
  for (Session* session : sessions) {
    EXPECT_EQ(table.Find(session->slot, session->generation), session);
    EXPECT_EQ(&table.At(session->slot), session);
  }
  for (Session* session : sessions) table.Free(*session);
  EXPECT_EQ(table.used(), 0);
}

TEST(SessionTableTest, StaleNamesFindNothing) {
  SessionTable table;
  Session* session = Begin(table);
  const uint32_t slot = session->slot;
  const uint32_t generation = session->generation;
  table.Free(*session);
  EXPECT_EQ(table.Find(slot, generation), nullptr);
  EXPECT_EQ(table.Find(slot, generation + 1), nullptr) << "the slot is not in use";
  Session* next = Begin(table);
  ASSERT_EQ(next->slot, slot) << "last freed, first used";
  EXPECT_EQ(table.Find(slot, generation), nullptr);
  EXPECT_EQ(table.Find(slot, next->generation), next);
  EXPECT_EQ(table.Find(12345, 0), nullptr) << "a slot that does not exist";
}

TEST(SessionTableTest, GenerationsWrapWithinWhatATokenCarries) {
  SessionTable table;
  Session* session = Begin(table);
  session->generation = SessionTable::kGenerationMask;
  const uint32_t slot = session->slot;
  table.Free(*session);
  EXPECT_EQ(table.At(slot).generation, 0u);
  EXPECT_EQ(Begin(table)->generation, 0u);
  EXPECT_EQ(table.Find(slot, SessionTable::kGenerationMask), nullptr);
}

TEST(SessionTableTest, FreeingDestroysWhatTheSessionOwns) {
  SessionTable table;
  ConnectionBudget budget(1, [] {});
  ASSERT_TRUE(budget.TryTake());
  int64_t total = 0;
  Session* session = Begin(table);
  session->admission = Admission(&budget);
  ASSERT_TRUE(session->flow[kUp].rest.Keep("x", 1, &total));
  session->ready_listed = true;
  session->flow[kDown].bytes = 7;
  table.Free(*session);
  EXPECT_EQ(budget.used(), 0);
  EXPECT_EQ(total, 0);
  session = table.Allocate();
  EXPECT_FALSE(session->ready_listed);
  EXPECT_EQ(session->flow[kDown].bytes, 0);
  EXPECT_EQ(session->stage, SessionStage::kFree);
  EXPECT_EQ(table.Find(session->slot, session->generation), nullptr) << "not begun yet";
}

}  // namespace
}  // namespace sluice::relay
