#include "relay/close_policy.h"

#include <string>

#include "gtest/gtest.h"

namespace sluice::relay {
namespace {

constexpr LegState kOpen = LegState::kOpen, kEnded = LegState::kEnded, kBroken = LegState::kBroken;

struct Row {
  const char* name;
  LegState leg;
  LegState other;
  bool other_is_gone;
  CloseKind close;
};

// The rows of the table in relay/README.md, by their names there.
constexpr Row kRows[] = {
    {"BrokenLegIsClosed1", kBroken, kOpen, false, CloseKind::kClose},
    {"BrokenLegIsClosed2", kBroken, kEnded, false, CloseKind::kClose},
    {"BrokenLegIsClosed3", kBroken, kBroken, false, CloseKind::kClose},
    {"BrokenLegIsClosed4", kBroken, kBroken, true, CloseKind::kClose},
    {"EndedLegIsClosed1", kEnded, kOpen, false, CloseKind::kClose},
    {"EndedLegIsClosed2", kEnded, kEnded, false, CloseKind::kClose},
    {"EndedLegAfterARefusedWriteIsClosed", kEnded, kBroken, false, CloseKind::kClose},
    {"AbortIsPassedOnToAnEndedLeg", kEnded, kBroken, true, CloseKind::kReset},
    {"OpenLegIsReadToItsEnd1", kOpen, kOpen, false, CloseKind::kDiscard},
    {"OpenLegIsReadToItsEnd2", kOpen, kEnded, false, CloseKind::kDiscard},
    {"OpenLegAfterARefusedWriteIsReadToItsEnd", kOpen, kBroken, false, CloseKind::kDiscard},
    {"AbortIsPassedOnToAnOpenLeg", kOpen, kBroken, true, CloseKind::kReset},
};

class ClosePolicyTest : public ::testing::TestWithParam<Row> {};

TEST_P(ClosePolicyTest, Row) {
  const Row& row = GetParam();
  EXPECT_EQ(CloseKindOf(row.leg, row.other, row.other_is_gone), row.close);
}

INSTANTIATE_TEST_SUITE_P(Rows, ClosePolicyTest, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice::relay
