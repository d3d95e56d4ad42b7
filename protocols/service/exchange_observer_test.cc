#include "protocols/service/exchange_observer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "protocols/accounting/log_format.h"
#include "protocols/accounting/log_target.h"
#include "sys/base/unique_fd.h"

namespace sluice::service {
namespace {

using ::testing::HasSubstr;

// A log thread whose standard output is a pipe that is read once it has stopped.
class ExchangeObserverTest : public ::testing::Test {
 protected:
  ExchangeObserverTest() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_end_ = sys::UniqueFd(ends[0]);
    write_end_ = sys::UniqueFd(ends[1]);
    accounting::LogThread::Options options;
    options.stdout_fd = write_end_.get();
    log_ = std::make_unique<accounting::LogThread>(std::move(options));
    auto context = std::make_shared<ServiceContext>();
    context->options = &options_;
    context->port = 8080;
    context->log =
        *log_->Open(*accounting::LogTarget::Parse("", "", 0),
                    *accounting::LogFormat::Compile("L%N %p %E %C:%c %R:%r %O %I %{result} %{errno} %{phase} %T"));
    context_ = context;
    client_ = *sys::SocketAddress::ParseIp("192.0.2.1", 1000);
    upstream_ = *sys::SocketAddress::ParseIp("192.0.2.2", 80);
  }

  std::string Written() {
    log_->Stop();
    char buffer[4096];
    const ssize_t n = read(read_end_.get(), buffer, sizeof buffer);
    return n > 0 ? std::string(buffer, n) : std::string();
  }

  relay::SessionReport Report(int64_t up, int64_t down, relay::EndReason reason = {}) {
    relay::SessionReport report;
    report.reason = reason;
    report.from_client.bytes = up;
    report.from_upstream.bytes = down;
    return report;
  }

  ServiceOptions options_;
  sys::UniqueFd read_end_, write_end_;
  std::unique_ptr<accounting::LogThread> log_;
  std::shared_ptr<const ServiceContext> context_;
  sys::SocketAddress client_, upstream_;
};

TEST_F(ExchangeObserverTest, TheRecordSaysWhoWhereAndHowMuch) {
  ExchangeObserver observer(context_, client_);
  observer.OnConnected(-1, upstream_);
  observer.OnEnd(Report(10, 2000));
  EXPECT_EQ(Written(), "TCPPM 8080 00000 192.0.2.1:1000 192.0.2.2:80 10 2000 ok - relay \n");
}

TEST_F(ExchangeObserverTest, ARefusedConnectNamesTheAddressTried) {
  ExchangeObserver observer(context_, client_);
  observer.OnConnectFailed(upstream_, ECONNREFUSED);
  observer.OnEnd(Report(0, 0, {relay::EndCode::kConnectFailed, relay::EndSide::kUpstream, ECONNREFUSED}));
  EXPECT_THAT(Written(), HasSubstr("00013 192.0.2.1:1000 192.0.2.2:80 0 0 connect_refused ECONNREFUSED connect"));
}

TEST_F(ExchangeObserverTest, InterimRecordsAndTheLastOneAddUpToWhatWasMoved) {
  ExchangeObserver observer(context_, client_);
  observer.OnConnected(-1, upstream_);
  observer.OnProgress(Report(100, 1000));
  observer.OnProgress(Report(150, 5000));
  observer.OnEnd(Report(160, 5500));
  const std::string written = Written();
  EXPECT_THAT(written, HasSubstr(" 100 1000 "));
  EXPECT_THAT(written, HasSubstr(" 50 4000 "));
  EXPECT_THAT(written, HasSubstr(" 10 500 "));
}

TEST_F(ExchangeObserverTest, AnExchangeRefusedBeforeItsSessionIsRecordedToo) {
  ExchangeObserver observer(context_, client_);
  observer.Refuse(accounting::result::kNameNotResolved, accounting::Phase::kResolve, 0);
  EXPECT_THAT(Written(), HasSubstr("TCPPM 8080 00100 192.0.2.1:1000 0.0.0.0:0 0 0 name_not_resolved - resolve"));
}

}  // namespace
}  // namespace sluice::service
