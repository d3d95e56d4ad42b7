#include "sys/net/listen_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sluice::sys {
namespace {

using testing::HasSubstr;

ListenOptions On(SocketAddress address) {
  ListenOptions options;
  options.address = std::move(address);
  return options;
}

ListenOptions OnLoopback(AddressFamily family = AddressFamily::kIpv4, uint16_t port = 0) {
  return On(SocketAddress::Loopback(family, port));
}

class Folder {
 public:
  Folder() {
    std::string pattern = "/tmp/listenXXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() {
    unlink(File("s").c_str());
    rmdir(path_.c_str());
  }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

UniqueFd Connect(const SocketAddress& address) {
  sockaddr_storage storage;
  const socklen_t length = address.ToSockaddr(storage);
  UniqueFd fd(socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) return UniqueFd();
  return fd;
}

// Waits until something can be accepted.
ErrnoOr<Accepted> AcceptSoon(int listener) {
  pollfd wait = {listener, POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 10'000), 1);
  return AcceptFrom(listener);
}

class ListenOnIp : public testing::TestWithParam<AddressFamily> {};
INSTANTIATE_TEST_SUITE_P(Both, ListenOnIp, testing::Values(AddressFamily::kIpv4, AddressFamily::kIpv6));

TEST_P(ListenOnIp, AcceptsWithTheClientsAddress) {
  absl::StatusOr<UniqueFd> listener = OpenListener(OnLoopback(GetParam()));
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(AcceptFrom(listener->get()).error().code, EAGAIN);
  UniqueFd client = Connect(SocketAddress::OfSocket(listener->get()));
  ASSERT_TRUE(client.valid());
  ErrnoOr<Accepted> accepted = AcceptSoon(listener->get());
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->peer, SocketAddress::OfSocket(client.get()));
  EXPECT_NE(fcntl(accepted->fd.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(accepted->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_P(ListenOnIp, OneProbedPortServesAllWorkers) {
  absl::StatusOr<ListenProbe> probe = ProbeListenAddress(OnLoopback(GetParam()));
  ASSERT_TRUE(probe.ok()) << probe.status();
  ASSERT_NE(probe->address.port(), 0);
  std::vector<UniqueFd> workers;
  for (int i = 0; i < 4; ++i) {
    absl::StatusOr<UniqueFd> listener = OpenListener(On(probe->address));
    ASSERT_TRUE(listener.ok()) << listener.status();
    workers.push_back(*std::move(listener));
  }
  probe->holder.reset();
  EXPECT_TRUE(Connect(probe->address).valid());
  EXPECT_TRUE(OpenListener(On(probe->address)).ok()) << "also after the holder is gone";
}

TEST_P(ListenOnIp, ProbeFindsAPortThatIsInUse) {
  absl::StatusOr<UniqueFd> other = OpenListener(OnLoopback(GetParam()));
  ASSERT_TRUE(other.ok());
  const SocketAddress taken = SocketAddress::OfSocket(other->get());
  // Although both sides would share the port by SO_REUSEPORT, asked for or listed.
  ListenOptions options = On(taken);
  options.options = {{SocketOption::kSoReuseport, 1}};
  const absl::Status status = ProbeListenAddress(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::string(status.message()), absl::StrCat("listen on ", taken.ToString(), ": Address already in use"));
  // Without reuse_port the second listener fails as well.
  options = On(taken);
  options.reuse_port = false;
  EXPECT_EQ(OpenListener(options).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(ListenSocketTest, ProbeWaitsForADyingProcess) {
  absl::StatusOr<UniqueFd> other = OpenListener(OnLoopback());
  ASSERT_TRUE(other.ok());
  const SocketAddress taken = SocketAddress::OfSocket(other->get());
  std::thread dying([fd = *std::move(other)]() mutable {
    poll(nullptr, 0, 30);  // not a wait for a condition: it is the delay under test
    fd.reset();
  });
  EXPECT_TRUE(ProbeListenAddress(On(taken)).ok());
  dying.join();
}

TEST(ListenSocketTest, BothAnyAddressesCanShareAPort) {
  absl::StatusOr<UniqueFd> v6 = OpenListener(On(SocketAddress::Any(AddressFamily::kIpv6, 0)));
  ASSERT_TRUE(v6.ok()) << v6.status();
  const uint16_t port = SocketAddress::OfSocket(v6->get()).port();
  EXPECT_TRUE(ProbeListenAddress(On(SocketAddress::Any(AddressFamily::kIpv4, port))).ok());
  EXPECT_TRUE(OpenListener(On(SocketAddress::Any(AddressFamily::kIpv4, port))).ok());
}

TEST(ListenSocketTest, OperatorsOptionsAreSetAndErrorsNameTheAddress) {
  ListenOptions options = OnLoopback();
  options.options = {{SocketOption::kSoKeepalive, 1}};
  options.device = "lo";
  absl::StatusOr<UniqueFd> listener = OpenListener(options);
  ASSERT_TRUE(listener.ok()) << listener.status();
  int value = 0;
  socklen_t length = sizeof value;
  ASSERT_EQ(getsockopt(listener->get(), SOL_SOCKET, SO_KEEPALIVE, &value, &length), 0);
  EXPECT_EQ(value, 1);

  options.options = {{SocketOption::kTcpMaxseg, 3}};
  EXPECT_THAT(std::string(OpenListener(options).status().message()),
              HasSubstr("listen on 127.0.0.1:0: socket option TCP_MAXSEG=3: "));
  EXPECT_THAT(std::string(OpenListener(On(SocketAddress::Ipv4(0x08080808, 0))).status().message()),
              HasSubstr("listen on 8.8.8.8:0: Cannot assign requested address (no interface"));
  EXPECT_EQ(OpenListener(ListenOptions()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ListenSocketTest, DatagramSocketsShareAPortOnlyWhenAsked) {
  ListenOptions options = OnLoopback();
  options.kind = SocketKind::kDatagram;
  absl::StatusOr<ListenProbe> probe = ProbeListenAddress(options);
  ASSERT_TRUE(probe.ok()) << probe.status();
  options.address = probe->address;
  absl::StatusOr<UniqueFd> first = OpenListener(options), second = OpenListener(options);
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(ProbeListenAddress(options).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(ListenOnUnixTest, ModePeerAndRemoval) {
  Folder folder;
  const SocketAddress address = *SocketAddress::ParseUnix(folder.File("s"));
  ListenOptions options = On(address);
  options.unix_mode = 0600;
  absl::StatusOr<UniqueFd> listener = OpenListener(options);
  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat file;
  ASSERT_EQ(stat(folder.File("s").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  UniqueFd client = Connect(address);
  ASSERT_TRUE(client.valid());
  ErrnoOr<Accepted> accepted = AcceptSoon(listener->get());
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->peer.ToString(), "unix:");
  RemoveUnixSocket(address);
  EXPECT_NE(access(folder.File("s").c_str(), F_OK), 0);
}

TEST(ListenOnUnixTest, AStalePathIsTakenOverALivingOneIsNot) {
  Folder folder;
  const SocketAddress address = *SocketAddress::ParseUnix(folder.File("s"));
  absl::StatusOr<UniqueFd> first = OpenListener(On(address));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(OpenListener(On(address)).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ProbeListenAddress(On(address)).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Connect(address).valid()) << "the living listener was not harmed";
  first->reset();
  EXPECT_TRUE(ProbeListenAddress(On(address)).ok());
  EXPECT_EQ(access(folder.File("s").c_str(), F_OK), 0) << "a probe removes nothing";
  EXPECT_TRUE(OpenListener(On(address)).ok());
}

TEST(ListenOnUnixTest, AFileThatIsNoSocketIsNeverRemoved) {
  Folder folder;
  const std::string path = folder.File("s");
  UniqueFd file(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  ASSERT_TRUE(file.valid());
  const SocketAddress address = *SocketAddress::ParseUnix(path);
  EXPECT_THAT(std::string(OpenListener(On(address)).status().message()), HasSubstr("a file that is no socket"));
  EXPECT_FALSE(ProbeListenAddress(On(address)).ok());
  RemoveUnixSocket(address);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
}

TEST(ListenOnUnixTest, AFolderThatIsMissingIsNamed) {
  const absl::Status status = OpenListener(On(*SocketAddress::ParseUnix("/nosuchfolder/s"))).status();
  EXPECT_EQ(std::string(status.message()), "listen on unix:/nosuchfolder/s: No such file or directory");
}

TEST(ListenOnUnixTest, AbstractNames) {
  const SocketAddress address = *SocketAddress::ParseUnix(absl::StrCat("@sluice-test-", getpid()));
  EXPECT_TRUE(ProbeListenAddress(On(address)).ok());
  absl::StatusOr<UniqueFd> listener = OpenListener(On(address));
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_TRUE(Connect(address).valid());
  EXPECT_EQ(ProbeListenAddress(On(address)).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(AcceptFromTest, GivesTheErrno) {
  EXPECT_EQ(AcceptFrom(-1).error().code, EBADF);
  UniqueFd not_listening(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  EXPECT_EQ(AcceptFrom(not_listening.get()).error().code, EINVAL);
}

}  // namespace
}  // namespace sluice::sys
