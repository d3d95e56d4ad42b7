#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "protocols/accounting/counters/counter_file.h"
#include "protocols/accounting/counters/counter_keeper.h"
#include "protocols/accounting/counters/counter_store.h"

namespace sluice::accounting {
namespace {

// 2024-05-01 12:00:00 UTC, a Wednesday.
constexpr int64_t kNoon = 1714564800;
constexpr int64_t kDay = 86400;

class CountersTest : public ::testing::Test {
 protected:
  CountersTest() {
    setenv("TZ", "UTC", 1);
    tzset();
    char name[] = "/tmp/countersXXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/counters";
  }
  ~CountersTest() override { std::filesystem::remove_all(folder_); }

  static std::string Contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void Write(const std::string& contents) { std::ofstream(path_, std::ios::binary) << contents; }
  CounterFileOptions Options() const { return {path_, std::nullopt}; }

  std::string folder_, path_;
  CounterStore store_;
  std::vector<std::string> said_;
};

CounterTerms Terms(int64_t limit, Rotation reset) { return {limit, reset, "comment"}; }

TEST_F(CountersTest, FileHoldsWhatWasCounted) {
  const std::vector<CounterRecord> records = {{1, "", 500, 100, 200, ""}, {2, "a b\n\\", 7, 100, 200, ""}};
  const absl::StatusOr<std::vector<CounterRecord>> read = DecodeCounters(EncodeCounters(records));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, records);
}

TEST_F(CountersTest, FileThatIsCutOrChangedIsNotBelieved) {
  const std::string whole = EncodeCounters({{1, "", 500, 100, 200, ""}, {2, "bob", 7, 100, 200, ""}});
  for (size_t size = 1; size < whole.size(); ++size) EXPECT_FALSE(DecodeCounters(whole.substr(0, size)).ok()) << size;
  for (const char* text : {"x", "sluice counters 2\nend 0\n", "sluice counters 1\n1 2 3\nend 1\n",
                           "sluice counters 1\n0 2 3 4\nend 1\n", "sluice counters 1\nend 0\nx"}) {
    EXPECT_FALSE(DecodeCounters(text).ok()) << text;
  }
}

TEST_F(CountersTest, FileOf3proxyIsReadAndKept) {
  std::string foreign("3CF\0........", 12);
  foreign.resize(16);
  for (const int64_t number : {500, 100, 200, 700, 300, 400}) {
    foreign.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  Write(foreign);
  CounterKeeper keeper(&store_, nullptr);
  ASSERT_TRUE(keeper.Load(Options()).ok());
  keeper.Follow(Options(), kNoon);
  EXPECT_EQ(store_.Find({2, ""}, Terms(1000, Rotation::kNone))->bytes().bytes(), 700);
  keeper.Tick(kNoon + CounterKeeper::kSaveSeconds);
  EXPECT_EQ(Contents(path_ + ".3proxy"), foreign);
  EXPECT_EQ(DecodeCounters(Contents(path_))->size(), 2u);
}

TEST_F(CountersTest, CounterOutlivesTheProcessAndItsConfiguration) {
  {
    CounterKeeper keeper(&store_, nullptr);
    ASSERT_TRUE(keeper.Load(Options()).ok()) << "no file is no counters";
    keeper.Follow(Options(), kNoon);
    store_.Find({1, ""}, Terms(1000, Rotation::kNone))->bytes().Add(300);
    store_.Find({7, "bob"}, Terms(1000, Rotation::kNone))->bytes().Add(5);
  }  // stopping writes it
  CounterStore next;
  CounterKeeper keeper(&next, nullptr);
  ASSERT_TRUE(keeper.Load(Options()).ok());
  keeper.Follow(Options(), kNoon);
  const auto counter = next.Find({1, ""}, Terms(1000, Rotation::kNone));
  EXPECT_EQ(counter->bytes().bytes(), 300);
  EXPECT_EQ(counter->bytes().left(), 700);
  EXPECT_EQ(next.Records(kNoon).size(), 2u) << "what nobody has asked for yet stays in the file";
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(CountersTest, FileIsWrittenOnceAMinuteIfAnythingChanged) {
  CounterKeeper keeper(&store_, nullptr);
  ASSERT_TRUE(keeper.Load(Options()).ok());
  keeper.Follow(Options(), kNoon);
  const auto counter = store_.Find({1, ""}, Terms(1000, Rotation::kNone));
  counter->bytes().Add(300);
  keeper.Tick(kNoon + 59);
  EXPECT_EQ(Contents(path_), "");
  keeper.Tick(kNoon + 60);
  EXPECT_TRUE(absl::StrContains(Contents(path_), "1 300 ")) << Contents(path_);
  std::filesystem::remove(path_);
  keeper.Tick(kNoon + 120);
  EXPECT_EQ(Contents(path_), "") << "nothing has changed";
  counter->bytes().Add(1);
  keeper.Tick(kNoon + 180);
  EXPECT_TRUE(absl::StrContains(Contents(path_), "1 301 "));
}

TEST_F(CountersTest, BrokenFileIsAnErrorThatNamesIt) {
  Write("sluice counters 1\n1 500 100 200\n");
  CounterKeeper keeper(&store_, nullptr);
  const absl::Status status = keeper.Load(Options());
  EXPECT_TRUE(absl::StrContains(status.message(), path_)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "move it away"));
}

TEST_F(CountersTest, DiskThatFailsIsToldOnceAMinute) {
  CounterKeeper keeper(&store_, [this](const std::string& line) { said_.push_back(line); });
  const CounterFileOptions options{folder_ + "/missing/counters", std::nullopt};
  ASSERT_TRUE(keeper.Load(options).ok());
  keeper.Follow(options, kNoon);
  store_.Find({1, ""}, Terms(1000, Rotation::kHour))->bytes().Add(300);
  for (int second = 60; second < 180; second += 20) keeper.Tick(kNoon + second);
  EXPECT_EQ(said_.size(), 2u);
}

TEST_F(CountersTest, CountersBeginAnewWithTheirPeriod) {
  const struct {
    Rotation reset;
    int64_t from;  // 2024-05-01 12:00 UTC and so many seconds
    int64_t at;
  } kRows[] = {
      {Rotation::kHour, 0, 3600},
      {Rotation::kHour, 3599, 3600},
      {Rotation::kDay, 0, kDay / 2},
      {Rotation::kWeek, 0, kDay / 2 + 3 * kDay},  // Sunday, the 5th
      {Rotation::kMonth, 0, kDay / 2 + 30 * kDay},
      {Rotation::kYear, 0, kDay / 2 + 244 * kDay},
  };
  for (const auto& row : kRows) {
    Counter counter({1, ""}, Terms(1000, row.reset), kNoon + row.from);
    counter.bytes().Add(1000);
    EXPECT_FALSE(counter.ResetIfDue(kNoon + row.at - 1));
    EXPECT_EQ(counter.bytes().left(), 0);
    EXPECT_TRUE(counter.ResetIfDue(kNoon + row.at)) << static_cast<int>(row.reset);
    EXPECT_EQ(counter.bytes().left(), 1000);
    EXPECT_FALSE(counter.ResetIfDue(kNoon + row.at + 1));
  }
  Counter never({1, ""}, Terms(1000, Rotation::kNone), kNoon);
  EXPECT_FALSE(never.ResetIfDue(kNoon + 10'000 * kDay));
  Counter set_back({1, ""}, Terms(1000, Rotation::kHour), kNoon);
  EXPECT_FALSE(set_back.ResetIfDue(kNoon - 7200)) << "a clock that was set back";
}

TEST_F(CountersTest, PeriodThatEndedWhileNobodyRanIsOver) {
  store_.Load({{1, "", 500, kNoon, kNoon, ""}});
  EXPECT_EQ(store_.Find({1, ""}, Terms(1000, Rotation::kDay))->bytes().bytes(), 0);
  store_.Load({{2, "", 500, kNoon, kNoon, ""}});
  EXPECT_EQ(store_.Find({2, ""}, Terms(1000, Rotation::kNone))->bytes().bytes(), 500);
}

TEST_F(CountersTest, DayInWhichTheClocksChangeIsADay) {
  setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  tzset();
  // 2024-03-31 has 23 hours: 00:00 CET is 23:00 UTC the day before, the next midnight 22:00 UTC.
  Counter counter({1, ""}, Terms(1000, Rotation::kDay), 1711843200 + 3600);
  counter.bytes().Add(1);
  EXPECT_FALSE(counter.ResetIfDue(1711839600 + 23 * 3600 - 1));
  EXPECT_TRUE(counter.ResetIfDue(1711839600 + 23 * 3600));
}

TEST_F(CountersTest, ReportSaysWhatThePeriodHadBeforeItIsReset) {
  LogTarget report;
  report.kind = LogTarget::Kind::kFile;
  report.name = folder_ + "/report";
  report.rotation = Rotation::kDay;
  const CounterFileOptions options{path_, report};
  CounterKeeper keeper(&store_, nullptr);
  ASSERT_TRUE(keeper.Load(options).ok());
  keeper.Follow(options, kNoon);
  store_.Find({12, ""}, {1000, Rotation::kNone, "office"})->bytes().Add(1234567);
  store_.Find({3, "bob"}, {1000, Rotation::kNone, ""})->bytes().Add(5);
  keeper.Tick(kNoon + kDay / 2 - 1);
  EXPECT_EQ(Contents(folder_ + "/report.2024.05.01"), "");
  keeper.Tick(kNoon + kDay / 2 + 2);
  EXPECT_EQ(Contents(folder_ + "/report.2024.05.01"),
            "00003 00000000000000000005 bob\n00012 00000000000001234567 #office\n");
}

TEST_F(CountersTest, ReloadKeepsTheBytesAndChangesTheTerms) {
  const auto counter = store_.Find({1, ""}, Terms(1000, Rotation::kNone));
  counter->bytes().Add(600);
  EXPECT_EQ(store_.Find({1, ""}, Terms(700, Rotation::kNone)), counter);
  EXPECT_EQ(counter->bytes().left(), 100);
  counter->Release();
  EXPECT_EQ(counter->bytes().left(), relay::ByteCounter::kUnlimited);
}

TEST_F(CountersTest, CountersOfPeopleWhoAreGoneAreForgotten) {
  store_.Find({1, "bob"}, Terms(1000, Rotation::kNone));
  const auto held = store_.Find({1, "eve"}, Terms(1000, Rotation::kNone));
  store_.Find({1, "joe"}, Terms(1000, Rotation::kNone))->bytes().Add(1);
  store_.ResetDue(kNoon);
  std::string keys;
  for (const CounterRecord& record : store_.Records(kNoon)) absl::StrAppend(&keys, record.key, " ");
  EXPECT_EQ(keys, "eve joe ");
}

}  // namespace
}  // namespace sluice::accounting
