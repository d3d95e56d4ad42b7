// The facts of splice(2) that the data path is built on, each on this machine's kernel.

#include "sys/pipes/pipe.h"

#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>

#include "sys/pipes/pipe_pool.h"

namespace sluice::sys {
namespace {

struct SocketPair {
  SocketPair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    near = UniqueFd(ends[0]);
    far = UniqueFd(ends[1]);
  }
  UniqueFd near, far;
};

Pipe NewPipe() {
  ErrnoOr<Pipe> pipe = Pipe::Create();
  EXPECT_TRUE(pipe.ok());
  return *std::move(pipe);
}

void Send(const UniqueFd& fd, const std::string& bytes) {
  ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

std::string Receive(const UniqueFd& fd) {
  char buffer[4096];
  const ssize_t got = recv(fd.get(), buffer, sizeof buffer, 0);
  return got < 0 ? "error" : std::string(buffer, static_cast<size_t>(got));
}

TEST(PipeTest, CapacityIsWhatTheKernelGave) {
  const Pipe pipe = NewPipe();
  EXPECT_GE(pipe.capacity_bytes(), Pipe::kLeastBytes);
  EXPECT_EQ(pipe.capacity_bytes(), fcntl(pipe.read_fd(), F_GETPIPE_SZ));
  EXPECT_NE(fcntl(pipe.read_fd(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(PipeTest, MovesBytesAndCountsThem) {
  SocketPair in, out;
  Pipe pipe = NewPipe();
  Send(in.far, "hello, world");
  EXPECT_EQ(pipe.FillFrom(in.near.get(), 1 << 20), 12);
  EXPECT_EQ(pipe.held_bytes(), 12);
  EXPECT_EQ(pipe.DrainTo(out.near.get(), 5), 5);
  EXPECT_EQ(pipe.held_bytes(), 7);
  EXPECT_EQ(pipe.DrainTo(out.near.get(), 1 << 20), 7);
  EXPECT_TRUE(pipe.empty());
  EXPECT_EQ(Receive(out.far), "hello, world");
}

TEST(PipeTest, AFullPipeAndAnEmptySocketBothSayEagain) {
  SocketPair in;
  Pipe pipe = NewPipe();
  EXPECT_EQ(pipe.FillFrom(in.near.get(), 1 << 20), -EAGAIN);  // empty socket
  EXPECT_TRUE(pipe.empty());
  int64_t result = 0;
  while (result >= 0) {
    (void)send(in.far.get(), "x", 1, MSG_NOSIGNAL);
    result = pipe.FillFrom(in.near.get(), 1 << 20);
  }
  EXPECT_EQ(result, -EAGAIN);  // full pipe
  int readable = 0;
  ASSERT_EQ(ioctl(in.near.get(), FIONREAD, &readable), 0);
  EXPECT_GT(readable, 0) << "the socket has bytes, and still splice said EAGAIN";
  EXPECT_FALSE(pipe.empty()) << "which is how the two cases are told apart";
}

TEST(PipeTest, SlotsNotBytesFillAPipe) {
  SocketPair in;
  Pipe pipe = NewPipe();
  const int slots = pipe.capacity_bytes() / static_cast<int>(sysconf(_SC_PAGESIZE));
  int moved = 0;
  while (true) {
    Send(in.far, "x");
    const int64_t result = pipe.FillFrom(in.near.get(), 1 << 20);
    if (result < 0) break;
    moved += static_cast<int>(result);
    ASSERT_LE(moved, slots);
  }
  EXPECT_EQ(moved, slots) << "one byte a slot";
}

TEST(PipeTest, EndOfStreamIsZeroWhileThePipeStillHoldsBytes) {
  SocketPair in, out;
  Pipe pipe = NewPipe();
  Send(in.far, "tail");
  ASSERT_EQ(shutdown(in.far.get(), SHUT_WR), 0);
  EXPECT_EQ(pipe.FillFrom(in.near.get(), 1 << 20), 4);
  EXPECT_EQ(pipe.FillFrom(in.near.get(), 1 << 20), 0);
  EXPECT_EQ(pipe.held_bytes(), 4);
  EXPECT_EQ(pipe.DrainTo(out.near.get(), 1 << 20), 4);
  EXPECT_EQ(Receive(out.far), "tail");
}

TEST(PipeTest, ABlockedOutputLeavesTheRestInThePipe) {
  SocketPair in, out;
  const std::string block(16384, 'b');
  while (send(out.near.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
  }
  Pipe pipe = NewPipe();
  Send(in.far, "later");
  ASSERT_EQ(pipe.FillFrom(in.near.get(), 1 << 20), 5);
  EXPECT_EQ(pipe.DrainTo(out.near.get(), 1 << 20), -EAGAIN);
  EXPECT_EQ(pipe.held_bytes(), 5);
  std::string all;
  for (std::string got = Receive(out.far); got != "error"; got = Receive(out.far)) all += got;
  EXPECT_EQ(pipe.DrainTo(out.near.get(), 1 << 20), 5);
  EXPECT_EQ(Receive(out.far), "later");
}

TEST(PipeTest, AGoneReceiverIsEpipeAndTheBytesStay) {
  signal(SIGPIPE, SIG_IGN);
  SocketPair in, out;
  Pipe pipe = NewPipe();
  Send(in.far, "lost");
  ASSERT_EQ(pipe.FillFrom(in.near.get(), 1 << 20), 4);
  out.far.reset();
  EXPECT_EQ(pipe.DrainTo(out.near.get(), 1 << 20), -EPIPE);
  EXPECT_EQ(pipe.held_bytes(), 4);
}

TEST(PipeTest, TakesWhatTheKernelAllowsWhenMoreIsRefused) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const int given = fcntl(ends[0], F_GETPIPE_SZ);
  constexpr int kMoreThanAnyoneGets = 1 << 30;
  ErrnoOr<Pipe> pipe = Pipe::FromEnds(UniqueFd(ends[0]), UniqueFd(ends[1]), kMoreThanAnyoneGets);
  ASSERT_TRUE(pipe.ok());
  EXPECT_GE(pipe->capacity_bytes(), given);
  EXPECT_LT(pipe->capacity_bytes(), kMoreThanAnyoneGets);
  EXPECT_EQ(pipe->capacity_bytes(), fcntl(pipe->read_fd(), F_GETPIPE_SZ));
}

TEST(PipeTest, APipeOfAFewPagesIsNotWorthHaving) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const int small = fcntl(ends[0], F_SETPIPE_SZ, 8192);
  ASSERT_EQ(small, 8192);
  ErrnoOr<Pipe> pipe = Pipe::FromEnds(UniqueFd(ends[0]), UniqueFd(ends[1]), small);
  ASSERT_FALSE(pipe.ok());
  EXPECT_EQ(pipe.error().code, ENOBUFS);
  EXPECT_EQ(fcntl(ends[0], F_GETFD), -1) << "both ends are closed";
}

TEST(PipePoolTest, LendsTheSamePipeAgain) {
  PipePool pool;
  std::unique_ptr<Pipe> pipe = pool.Take(0);
  ASSERT_NE(pipe, nullptr);
  const Pipe* first = pipe.get();
  pool.Put(std::move(pipe));
  EXPECT_EQ(pool.idle(), 1);
  EXPECT_EQ(pool.Take(0).get(), first);
  EXPECT_EQ(pool.stats().created, 1);
}

TEST(PipePoolTest, KeepsOnlySoManyAndTakesNoNull) {
  PipePool pool;
  std::vector<std::unique_ptr<Pipe>> pipes;
  for (int i = 0; i < PipePool::kKept + 3; ++i) pipes.push_back(pool.Take(0));
  for (auto& pipe : pipes) pool.Put(std::move(pipe));
  pool.Put(nullptr);
  EXPECT_EQ(pool.idle(), PipePool::kKept);
  pool.Clear();
  EXPECT_EQ(pool.idle(), 0);
}

TEST(PipePoolTest, ResidueNeverReachesTheNextSession) {
  PipePool pool;
  SocketPair in;
  Send(in.far, "secret");
  std::unique_ptr<Pipe> pipe = pool.Take(0);
  ASSERT_EQ(pipe->FillFrom(in.near.get(), 1 << 20), 6);
  pool.Put(std::move(pipe));
  EXPECT_EQ(pool.idle(), 0);
  EXPECT_EQ(pool.stats().dirty_closed, 1);

  // Also when the count says "empty" and the kernel knows better.
  Send(in.far, "secret");
  pipe = pool.Take(0);
  ASSERT_EQ(pipe->FillFrom(in.near.get(), 1 << 20), 6);
  pipe->TookOut(6);
  pool.Put(std::move(pipe));
  EXPECT_EQ(pool.idle(), 0);
  EXPECT_EQ(pool.stats().dirty_closed, 2);
}

TEST(PipePoolTest, DoesNotAskAgainAtOnceWhenThereAreNoPipes) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  PipePool pool;
  constexpr int64_t kNow = 1'000'000'000;
  EXPECT_EQ(pool.Take(kNow), nullptr);
  EXPECT_EQ(pool.Take(kNow), nullptr);
  EXPECT_EQ(pool.stats().create_failed, 1) << "the second time the kernel was not asked";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(pool.Take(kNow + PipePool::kRetryNanos - 1), nullptr);
  EXPECT_NE(pool.Take(kNow + PipePool::kRetryNanos), nullptr);
}

}  // namespace
}  // namespace sluice::sys
