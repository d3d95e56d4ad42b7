#include "protocols/accounting/log_thread.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "protocols/accounting/log_format.h"
#include "protocols/accounting/log_target.h"
#include "protocols/accounting/result_code.h"
#include "protocols/accounting/traffic_record.h"
#include "sys/base/unique_fd.h"
#include "sys/thread/clock.h"

namespace sluice::accounting {
namespace {

// Asks `condition` again and again for ten seconds at most.
bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 2);
  }
  return true;
}

class LogThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/log_thread_XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
  }

  void Start() {
    options_.retry_nanos = 50 * sys::kNanosPerMilli;
    options_.complain = [this](absl::string_view line) {
      std::lock_guard<std::mutex> lock(mutex_);
      complaints_.emplace_back(line);
    };
    options_.syslog_path = folder_ + "/syslog";
    log_ = std::make_unique<LogThread>(options_);
  }

  std::unique_ptr<LogChannel> Channel(const std::string& name, const std::string& format = "G%E %T") {
    auto target = LogTarget::Parse(name, "", 0);
    EXPECT_TRUE(target.ok());
    auto channel = log_->Open(*target, *LogFormat::Compile(format));
    EXPECT_TRUE(channel.ok()) << channel.status();
    return *std::move(channel);
  }

  static void Say(LogChannel& channel, const std::string& text) {
    TrafficRecord record;
    record.text = text;
    channel.Submit(std::move(record));
  }

  bool Complained(const std::string& part) {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::any_of(complaints_.begin(), complaints_.end(),
                       [&part](const std::string& line) { return absl::StrContains(line, part); });
  }

  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }

  std::string File(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  LogThread::Options options_;
  std::mutex mutex_;
  std::vector<std::string> complaints_;
  std::unique_ptr<LogThread> log_;
};

TEST_F(LogThreadTest, WritesRecordsInOrderWhileItRuns) {
  Start();
  auto channel = Channel(File("log"));
  for (int i = 0; i < 3; ++i) Say(*channel, absl::StrCat("record ", i));
  EXPECT_TRUE(Eventually([&] { return Read(File("log")) == "00000 record 0\n00000 record 1\n00000 record 2\n"; }));
  EXPECT_TRUE(Eventually([&] { return log_->stats().written == 3; }));
  EXPECT_EQ(log_->stats().dropped, 0u);
  EXPECT_EQ(log_->stats().failed, 0u);
}

TEST_F(LogThreadTest, StopWritesWhatIsQueued) {
  Start();
  auto channel = Channel(File("log"));
  for (int i = 0; i < 5000; ++i) Say(*channel, "x");
  log_->Stop();
  EXPECT_EQ(Read(File("log")).size(), 5000 * std::string("00000 x\n").size());
  Say(*channel, "too late");
  EXPECT_EQ(log_->stats().dropped, 1u);
}

TEST_F(LogThreadTest, AChannelMayGoWhileItsRecordsAreQueued) {
  Start();
  for (int i = 0; i < 50; ++i) {
    auto channel = Channel(File("log"));
    Say(*channel, "x");
  }
  log_->Stop();
  EXPECT_EQ(Read(File("log")).size(), 50 * std::string("00000 x\n").size());
}

TEST_F(LogThreadTest, TwoFormatsShareAFile) {
  Start();
  auto one = Channel(File("log"), "Gone %T");
  auto two = Channel(File("log"), "Gtwo %T");
  Say(*one, "a");
  Say(*two, "b");
  Say(*one, "c");
  log_->Stop();
  EXPECT_EQ(Read(File("log")), "one a\ntwo b\none c\n");
}

TEST_F(LogThreadTest, ManyThreadsLoseNothingAndTearNothing) {
  Start();
  auto channel = Channel(File("log"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&channel, t] {
      for (int i = 0; i < 1000; ++i) Say(*channel, absl::StrCat("t", t, " ", i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  log_->Stop();
  EXPECT_EQ(log_->stats().written, 4000u);
  const std::string text = Read(File("log"));
  std::vector<int> next(4, 0);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    ASSERT_EQ(words.size(), 3u) << line;
    int& expected = next[static_cast<size_t>(words[1].at(1) - '0')];
    EXPECT_EQ(words[2], absl::StrCat(expected)) << line;
    ++expected;
  }
}

TEST_F(LogThreadTest, AFileThatCannotBeMadeIsAnErrorThatNamesIt) {
  Start();
  const auto channel = log_->Open(*LogTarget::Parse(File("no/such/folder"), "", 0), LogFormat());
  ASSERT_FALSE(channel.ok());
  EXPECT_TRUE(absl::StrContains(channel.status().message(), File("no/such/folder"))) << channel.status();
}

TEST_F(LogThreadTest, ReopenFindsTheNameAgainAfterSomeoneMovedTheFile) {
  Start();
  auto channel = Channel(File("log"));
  Say(*channel, "old");
  EXPECT_TRUE(Eventually([&] { return log_->stats().written == 1; }));
  ASSERT_EQ(::rename(File("log").c_str(), File("log.1").c_str()), 0);
  log_->Reopen();
  Say(*channel, "new");
  log_->Stop();
  EXPECT_EQ(Read(File("log.1")), "00000 old\n");
  EXPECT_EQ(Read(File("log")), "00000 new\n");
}

// The number of records a gap record tells, or 0.
uint64_t ToldDropped(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  uint64_t count = 0;
  if (words.size() != 4 || words[0] != "00098" || words[1] != "dropped" || words[3] != "records") return 0;
  return absl::SimpleAtoi(words[2], &count) ? count : 0;
}

// Lines that are neither a whole record of `length` x nor a gap; and what the good ones come to.
struct Tally {
  uint64_t whole = 0;
  uint64_t told = 0;
  std::string odd;
};

Tally TallyOf(const std::string& text, size_t length) {
  Tally tally;
  const std::string record = "00000 " + std::string(length, 'x');
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (line == record) {
      ++tally.whole;
    } else if (const uint64_t dropped = ToldDropped(line); dropped > 0) {
      tally.told += dropped;
    } else if (tally.odd.empty()) {
      tally.odd = std::string(line);
    }
  }
  return tally;
}

TEST_F(LogThreadTest, AFifoWhoseReaderStoppedCostsRecordsAndRecovers) {
  Start();
  ASSERT_EQ(::mkfifo(File("fifo").c_str(), 0600), 0);
  const sys::UniqueFd reader(::open(File("fifo").c_str(), O_RDONLY | O_NONBLOCK));
  auto fifo = Channel(File("fifo"));
  auto other = Channel(File("log"));

  // 12 MB, in bursts that the queue takes, into a pipe of 64 KB and a buffer of 1 MB: most of it is lost.
  const std::string kText(1000, 'x');
  for (int burst = 0; burst < 8; ++burst) {
    for (int i = 0; i < 1500; ++i) Say(*fifo, kText);
    // The other target goes on meanwhile.
    const std::string mark = absl::StrCat("burst ", burst, "\n");
    Say(*other, absl::StrCat("burst ", burst));
    ASSERT_TRUE(Eventually([&] { return absl::EndsWith(Read(File("log")), mark); }));
  }
  EXPECT_GT(log_->stats().dropped, 5000u);

  // The reader is back: everything that was kept arrives, then the gap is told, then new records come.
  std::string got;
  const auto pump = [&] {
    char buffer[65536];
    ssize_t count;
    while ((count = ::read(reader.get(), buffer, sizeof(buffer))) > 0) got.append(buffer, static_cast<size_t>(count));
  };
  EXPECT_TRUE(Eventually([&] {
    pump();
    return Complained("dropped ");
  }));
  Say(*fifo, kText);
  EXPECT_TRUE(Eventually([&] {
    pump();
    const Tally tally = TallyOf(got, kText.size());
    return tally.whole + tally.told == 8 * 1500 + 1 && absl::EndsWith(got, "\n");
  }));
  const Tally tally = TallyOf(got, kText.size());
  EXPECT_EQ(tally.odd, "");
  EXPECT_EQ(tally.told, log_->stats().dropped);
}

TEST_F(LogThreadTest, AFullQueueIsToldToo) {
  // The thread is kept from its work by a complaint that does not return.
  std::mutex gate;
  gate.lock();
  std::atomic<bool> held{false};
  options_.retry_nanos = 50 * sys::kNanosPerMilli;
  std::atomic<bool> told{false};
  options_.complain = [&](absl::string_view line) {
    if (absl::StrContains(line, "dropped 500 records")) told = true;
    if (!held.exchange(true)) std::lock_guard<std::mutex> wait(gate);
  };
  log_ = std::make_unique<LogThread>(options_);
  auto full = Channel("/dev/full");
  auto channel = Channel(File("log"));
  Say(*full, "x");
  EXPECT_TRUE(Eventually([&] { return held.load(); }));
  for (int i = 0; i < 8192 + 500; ++i) Say(*channel, "x");
  EXPECT_EQ(log_->stats().dropped, 500u);
  gate.unlock();
  EXPECT_TRUE(Eventually([&] { return told.load(); }));
  EXPECT_TRUE(Eventually([&] {
    const Tally tally = TallyOf(Read(File("log")), 1);
    return tally.whole == 8192 && tally.told == 500 && tally.odd.empty();
  }));
  log_->Stop();  // it calls what lives on this stack
}

TEST_F(LogThreadTest, DevFullFailsWithoutHarmAndStopDoesNotWaitForIt) {
  Start();
  auto full = Channel("/dev/full");
  auto other = Channel(File("log"));
  Say(*full, "x");
  Say(*other, "y");
  EXPECT_TRUE(Eventually([&] { return log_->stats().failed >= 3; }));  // it goes on trying
  EXPECT_EQ(Read(File("log")), "00000 y\n");
  EXPECT_TRUE(Complained("No space left on device"));
  const auto before = std::chrono::steady_clock::now();
  log_->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
  EXPECT_EQ(log_->stats().dropped, 1u);
  EXPECT_TRUE(Complained("dropped 1 records"));
}

TEST_F(LogThreadTest, StopGivesABlockedTargetItsTimeAndNoMore) {
  Start();
  ASSERT_EQ(::mkfifo(File("fifo").c_str(), 0600), 0);
  auto fifo = Channel(File("fifo"));
  for (int i = 0; i < 200; ++i) Say(*fifo, std::string(1000, 'x'));
  const auto before = std::chrono::steady_clock::now();
  log_->Stop();
  const auto took = std::chrono::steady_clock::now() - before;
  EXPECT_GE(took, std::chrono::milliseconds(1900));
  EXPECT_LT(took, std::chrono::seconds(4));
  EXPECT_GT(log_->stats().dropped, 100u);
}

TEST_F(LogThreadTest, AReaderThatComesBackDuringStopGetsEverything) {
  Start();
  ASSERT_EQ(::mkfifo(File("fifo").c_str(), 0600), 0);
  const sys::UniqueFd reader(::open(File("fifo").c_str(), O_RDONLY | O_NONBLOCK));
  auto fifo = Channel(File("fifo"));
  for (int i = 0; i < 200; ++i) Say(*fifo, std::string(1000, 'x'));
  std::string got;
  std::thread drain([&] {
    Eventually([&] {
      char buffer[4096];
      const ssize_t count = ::read(reader.get(), buffer, sizeof(buffer));
      if (count > 0) got.append(buffer, static_cast<size_t>(count));
      return got.size() >= 200 * 1007;
    });
  });
  log_->Stop();
  drain.join();
  EXPECT_EQ(log_->stats().dropped, 0u);
  EXPECT_EQ(TallyOf(got, 1000).whole, 200u);
}

TEST_F(LogThreadTest, APipeOnStandardOutputIsNotMadeNonBlockingForOthers) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const sys::UniqueFd reader(ends[0]);
  sys::UniqueFd writer(ends[1]);
  options_.stdout_fd = writer.get();
  Start();
  auto channel = Channel("");
  for (int i = 0; i < 200; ++i) Say(*channel, std::string(1000, 'x'));
  std::string got;
  EXPECT_TRUE(Eventually([&] {
    char buffer[4096];
    const ssize_t count = ::read(reader.get(), buffer, sizeof(buffer));
    if (count > 0) got.append(buffer, static_cast<size_t>(count));
    return got.size() == 200 * 1007;
  }));
  EXPECT_EQ(TallyOf(got, 1000).whole, 200u);
  EXPECT_EQ(::fcntl(writer.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(LogThreadTest, TheReaderOfStandardOutputMayDie) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  sys::UniqueFd reader(ends[0]);
  const sys::UniqueFd writer(ends[1]);
  options_.stdout_fd = writer.get();
  Start();
  auto channel = Channel("");
  reader.reset();
  Say(*channel, "x");
  EXPECT_TRUE(Eventually([&] { return log_->stats().failed >= 2; }));
  EXPECT_TRUE(Complained("Broken pipe"));
  log_->Stop();
}

sys::UniqueFd SyslogAt(const std::string& path) {
  ::unlink(path.c_str());
  sys::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

std::string Datagram(int fd) {
  char buffer[8192];
  const ssize_t count = ::recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
  return count < 0 ? "" : std::string(buffer, static_cast<size_t>(count));
}

TEST_F(LogThreadTest, SyslogMayBeLateBeFullAndBeRestarted) {
  Start();
  auto channel = Channel("@sluice-test");
  Say(*channel, "before syslog is there");
  ASSERT_TRUE(Eventually([&] { return log_->stats().failed >= 2; }));

  sys::UniqueFd syslog = SyslogAt(File("syslog"));
  std::string got;
  EXPECT_TRUE(Eventually([&] { return !(got = Datagram(syslog.get())).empty(); }));
  EXPECT_TRUE(absl::StartsWith(got, "<30>")) << got;
  EXPECT_TRUE(absl::EndsWith(got, absl::StrCat(" sluice-test[", ::getpid(), "]: 00000 before syslog is there"))) << got;

  // More than a datagram socket's queue holds: the rest waits and comes.
  for (int i = 0; i < 1000; ++i) Say(*channel, absl::StrCat("record ", i));
  int received = 0;
  EXPECT_TRUE(Eventually([&] {
    for (std::string line; !(line = Datagram(syslog.get())).empty(); ++received) {
      EXPECT_TRUE(absl::EndsWith(line, absl::StrCat(" record ", received))) << line;
    }
    return received == 1000;
  }));

  syslog.reset();
  syslog = SyslogAt(File("syslog"));
  Say(*channel, "after a restart");
  EXPECT_TRUE(Eventually([&] { return absl::EndsWith(Datagram(syslog.get()), "00000 after a restart"); }));
  EXPECT_EQ(log_->stats().dropped, 0u);
}

TEST_F(LogThreadTest, DevNullCostsNothing) {
  Start();
  auto channel = Channel("/dev/null");
  for (int i = 0; i < 100; ++i) Say(*channel, "x");
  log_->Stop();
  EXPECT_EQ(log_->stats().dropped, 0u);
}

}  // namespace
}  // namespace sluice::accounting
