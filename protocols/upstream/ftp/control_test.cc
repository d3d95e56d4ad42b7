#include "protocols/upstream/ftp/control.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::upstream {
namespace {

using ::testing::ElementsAre;
using Fault = FtpAnswer::Fault;

// Only ever reached when something is broken.
sys::MonotonicNanos Far() { return sys::Clock::System().Now() + 20 * sys::kNanosPerSecond; }

// An FTP server that says its lines, one behind each command that it hears, and keeps those.
class Server {
 public:
  Server() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    near_ = sys::UniqueFd(ends[0]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    far_ = sys::UniqueFd(ends[1]);
  }
  ~Server() {
    far_.reset();
    if (thread_.joinable()) thread_.join();
  }

  sys::UniqueFd Connect() { return std::move(near_); }
  void Say(const std::string& text) {
    EXPECT_EQ(send(far_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  void Answer(std::vector<std::string> replies) {
    thread_ = std::thread([this, replies = std::move(replies)] {
      for (const std::string& reply : replies) {
        std::string line;
        char c;
        while (recv(far_.get(), &c, 1, 0) == 1 && c != '\n') line.push_back(c);
        heard_.push_back(line);
        Say(reply);
      }
    });
  }
  // Once all replies were given.
  const std::vector<std::string>& heard() {
    thread_.join();
    return heard_;
  }
  void Leave() { far_.reset(); }

 private:
  sys::UniqueFd near_, far_;
  std::thread thread_;
  std::vector<std::string> heard_;
};

sys::SocketAddress Ipv4() { return sys::SocketAddress::Ipv4(0x7f000001, 21); }
sys::SocketAddress Ipv6() { return sys::SocketAddress::Loopback(sys::AddressFamily::kIpv6, 21); }

TEST(FtpControlTest, ASessionWithRepliesInOnePiece) {
  Server server;
  FtpControl control(server.Connect(), Ipv4(), nullptr);
  server.Say("220-hello\r\n 220 not yet\r\n220 there\r\n");
  EXPECT_TRUE(control.Read(Far()).completed());
  server.Answer({"331 who\r\n", "230 in\r\n", "229 (|||5000|)\r\n", "150 here it comes\r\n226 done\r\n"});
  EXPECT_TRUE(control.Login("me", "secret", Far()).completed());
  const FtpControl::Passive passive = control.EnterPassive(Far());
  EXPECT_EQ(passive.address.ToString(), "127.0.0.1:5000");
  EXPECT_TRUE(control.Ask("RETR", "a file", Far()).preliminary());
  EXPECT_EQ(control.Read(Far()).reply.code, 226);
  EXPECT_THAT(server.heard(), ElementsAre("USER me\r", "PASS secret\r", "EPSV\r", "RETR a file\r"));
}

TEST(FtpControlTest, LoginsThatNeedNoPasswordOrAreRefused) {
  for (const char* reply : {"230 welcome\r\n", "530 no\r\n", "332 account\r\n"}) {
    Server server;
    FtpControl control(server.Connect(), Ipv4(), nullptr);
    server.Answer({reply});
    EXPECT_EQ(control.Login("a", "b", Far()).completed(), reply[0] == '2') << reply;
    EXPECT_THAT(server.heard(), ElementsAre("USER a\r"));
  }
}

TEST(FtpControlTest, PassiveByEitherCommandAndAtTheAddressOfTheServerOnly) {
  Server server;
  FtpControl control(server.Connect(), Ipv4(), nullptr);
  server.Answer({"500 what\r\n", "227 (10,0,0,1,1,2)\r\n"});
  EXPECT_EQ(control.EnterPassive(Far()).address.ToString(), "127.0.0.1:258");
  EXPECT_THAT(server.heard(), ElementsAre("EPSV\r", "PASV\r"));

  Server six;
  FtpControl ipv6(six.Connect(), Ipv6(), nullptr);
  six.Answer({"229 (|||77|)\r\n", "500 what\r\n"});
  EXPECT_EQ(ipv6.EnterPassive(Far()).address.ToString(), "[::1]:77");
  const FtpControl::Passive none = ipv6.EnterPassive(Far());
  EXPECT_EQ(none.address.family(), sys::AddressFamily::kNone);
  EXPECT_EQ(none.answer.reply.code, 500);
}

TEST(FtpControlTest, PassiveRepliesThatNameNoPort) {
  for (const char* bad : {"229 (|||p|)\r\n", "229 (||||)\r\n", "229 (|||0|)\r\n"}) {
    Server server;
    FtpControl control(server.Connect(), Ipv4(), nullptr);
    server.Answer({bad});
    const FtpControl::Passive passive = control.EnterPassive(Far());
    EXPECT_EQ(passive.answer.fault, Fault::kBadReply) << bad;
    EXPECT_EQ(passive.address.family(), sys::AddressFamily::kNone);
  }
  for (const char* bad : {"227 (127,0,0,1,0,0)\r\n", "227 (999,1,1,1,1,1)\r\n", "227 none\r\n"}) {
    Server server;
    FtpControl control(server.Connect(), Ipv4(), nullptr);
    server.Answer({"502 no\r\n", bad});
    EXPECT_EQ(control.EnterPassive(Far()).answer.fault, Fault::kBadReply) << bad;
  }
}

TEST(FtpControlTest, SilenceAndEndsAndNonsense) {
  Server silent;
  FtpControl waits(silent.Connect(), Ipv4(), nullptr);
  EXPECT_EQ(waits.Read(sys::Clock::System().Now() + 10 * sys::kNanosPerMilli).fault, Fault::kTimeout);

  Server ends;
  FtpControl closed(ends.Connect(), Ipv4(), nullptr);
  ends.Say("220-only a part");
  ends.Leave();
  EXPECT_EQ(closed.Read(Far()).fault, Fault::kClosed);

  Server nonsense;
  FtpControl bad(nonsense.Connect(), Ipv4(), nullptr);
  nonsense.Say("SSH-2.0-OpenSSH\r\n");
  EXPECT_EQ(bad.Read(Far()).fault, Fault::kBadReply);

  Server leaves;
  FtpControl told(leaves.Connect(), Ipv4(), nullptr);
  leaves.Say("421 too many of you\r\n");
  leaves.Leave();
  EXPECT_EQ(told.Ask("USER", "a", Far()).reply.code, 421) << "why it left";
}

TEST(FtpControlTest, ACancelledWaitEnds) {
  Server server;
  sys::Cancellation cancellation;
  FtpControl control(server.Connect(), Ipv4(), &cancellation);
  std::thread canceller([&] { cancellation.Cancel(); });
  EXPECT_EQ(control.Read(Far()).fault, Fault::kFailed);
  canceller.join();
}

TEST(FtpControlTest, ArgumentsEndNoCommand) {
  EXPECT_TRUE(FtpControl::IsArgument("a b\xff/\xc3\xa4"));
  for (const absl::string_view bad : {"a\r", "a\nDELE b", "\r\n"}) EXPECT_FALSE(FtpControl::IsArgument(bad));
  EXPECT_FALSE(FtpControl::IsArgument(absl::string_view("a\0b", 3)));
  Server server;
  FtpControl control(server.Connect(), Ipv4(), nullptr);
  server.Answer({"250 ok\r\n"});
  control.Ask("CWD",
              "a\xff"
              "b",
              Far());
  EXPECT_THAT(server.heard(), ElementsAre("CWD a\xff\xff"
                                          "b\r"));
}

}  // namespace
}  // namespace sluice::upstream
