#include "protocols/accounting/result_code.h"

#include <cerrno>
#include <string>

#include "gtest/gtest.h"
#include "relay/end_reason.h"

namespace sluice::accounting {
namespace {

using relay::EndCode;
using relay::EndSide;

struct Row {
  EndCode code;
  EndSide side;
  int error;
  Phase phase;
  int number;
  const char* name;
};

TEST(ResultCode, EveryEndHasThreeProxysNumberAndAName) {
  constexpr EndSide kUs = EndSide::kUs, kClient = EndSide::kClient, kUpstream = EndSide::kUpstream;
  const Row rows[] = {
      {EndCode::kFinished, kUs, 0, Phase::kRelay, 0, "ok"},
      {EndCode::kConnectFailed, kUpstream, ECONNREFUSED, Phase::kConnect, 13, "connect_refused"},
      {EndCode::kConnectFailed, kUpstream, EHOSTUNREACH, Phase::kConnect, 13, "host_unreachable"},
      {EndCode::kConnectFailed, kUs, EMFILE, Phase::kConnect, 11, "no_descriptors"},
      {EndCode::kConnectTimeout, kUpstream, 0, Phase::kConnect, 13, "connect_timeout"},
      {EndCode::kIdleTimeout, kUs, 0, Phase::kRelay, 92, "timeout"},
      {EndCode::kIdleTimeout, kClient, 0, Phase::kHandshake, 92, "timeout"},
      {EndCode::kIdleTimeout, kUpstream, 0, Phase::kConnect, 13, "connect_timeout"},
      {EndCode::kReadFailed, kClient, ECONNRESET, Phase::kRelay, 95, "client_read_failed"},
      {EndCode::kReadFailed, kUpstream, ECONNRESET, Phase::kRelay, 96, "upstream_read_failed"},
      {EndCode::kReadFailed, kUs, EIO, Phase::kRelay, 90, "relay_failed"},
      {EndCode::kWriteFailed, kClient, EPIPE, Phase::kRelay, 95, "client_write_failed"},
      {EndCode::kWriteFailed, kUpstream, EPIPE, Phase::kRelay, 96, "upstream_write_failed"},
      {EndCode::kWriteFailed, kUs, EIO, Phase::kRelay, 90, "relay_failed"},
      {EndCode::kUnsentData, kClient, 0, Phase::kRelay, 94, "unsent_data"},
      {EndCode::kLimitReached, kUs, 0, Phase::kRelay, 93, "limit_reached"},
      {EndCode::kShutDown, kUs, 0, Phase::kRelay, 90, "shutdown"},
      {EndCode::kRevoked, kUs, 0, Phase::kRelay, 1, "revoked"},
      {EndCode::kNoResources, kUs, ENFILE, Phase::kConnect, 11, "no_descriptors"},
      {EndCode::kNoResources, kUs, ENOMEM, Phase::kConnect, 21, "out_of_memory"},
  };
  for (const Row& row : rows) {
    const ResultCode code = ResultOf({row.code, row.side, row.error}, row.phase);
    EXPECT_EQ(code.number, row.number) << row.name;
    EXPECT_STREQ(code.name, row.name);
  }
}

TEST(ResultCode, OneNumberForAFailedConnectButANameForEachErrno) {
  const std::pair<int, const char*> rows[] = {
      {ECONNREFUSED, "connect_refused"},
      {ETIMEDOUT, "connect_timeout"},
      {ENETUNREACH, "network_unreachable"},
      {EHOSTUNREACH, "host_unreachable"},
      {EADDRNOTAVAIL, "no_local_port"},
      {EACCES, "connect_not_permitted"},
      {EPERM, "connect_not_permitted"},
      {ENOENT, "no_such_socket"},
      {ECONNRESET, "connect_reset"},
      {EHOSTDOWN, "host_unreachable"},
      {ENETDOWN, "network_unreachable"},
      {EINVAL, "connect_failed"},
      {0, "connect_failed"},
  };
  for (const auto& [error, name] : rows) {
    EXPECT_STREQ(ConnectResult(error).name, name);
    EXPECT_EQ(ConnectResult(error).number, 13) << name;
  }
  EXPECT_EQ(ConnectResult(EADDRINUSE).number, 12);
  EXPECT_EQ(ConnectResult(EAFNOSUPPORT).number, 11);
  EXPECT_EQ(ConnectResult(ENOBUFS).number, 21);
}

TEST(ResultCode, NamesAreLowerCaseWithUnderscores) {
  for (int code = 0; code <= static_cast<int>(EndCode::kNoResources); ++code) {
    const std::string name = ResultOf({static_cast<EndCode>(code), EndSide::kClient, 0}, Phase::kRelay).name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"), std::string::npos) << name;
  }
}

TEST(ResultCode, PhasesHaveNames) {
  EXPECT_STREQ(PhaseName(Phase::kAccept), "accept");
  EXPECT_STREQ(PhaseName(Phase::kHandshake), "handshake");
  EXPECT_STREQ(PhaseName(Phase::kResolve), "resolve");
  EXPECT_STREQ(PhaseName(Phase::kConnect), "connect");
  EXPECT_STREQ(PhaseName(Phase::kRelay), "relay");
}

}  // namespace
}  // namespace sluice::accounting
