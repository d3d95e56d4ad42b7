#include "protocols/accounting/traffic_record.h"

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "protocols/accounting/compact_string.h"
#include "protocols/accounting/result_code.h"
#include "relay/end_reason.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"

namespace sluice::accounting {
namespace {

TEST(CompactString, HoldsAnyBytesAndNothingWhenEmpty) {
  CompactString s;
  EXPECT_TRUE(s.empty());
  EXPECT_EQ(s.HeapBytes(), 0u);
  const std::string bytes("a\0b\xff", 4);
  s = absl::string_view(bytes);
  EXPECT_EQ(std::string(s.view()), bytes);
  const CompactString copy = s;
  CompactString moved = std::move(s);
  EXPECT_EQ(copy.view(), moved.view());
  moved = "";
  EXPECT_TRUE(moved.empty());
  EXPECT_EQ(sizeof(CompactString), 8u);
}

TEST(CompactString, CutsWhatNoRecordHasRoomFor) {
  EXPECT_EQ(CompactString(std::string(100000, 'x')).view().size(), CompactString::kMaxBytes);
}

TEST(TrafficRecord, RequestedIsTheUpstreamUnlessSaidOtherwise) {
  TrafficRecord record;
  record.upstream = sys::SocketAddress::Ipv4(0x0a000001, 80);
  EXPECT_EQ(record.Requested(), record.upstream);
  record.Addresses().external = sys::SocketAddress::Ipv4(0x0a000009, 4000);
  EXPECT_EQ(record.Requested(), record.upstream);
  record.Addresses().requested = sys::SocketAddress::Ipv4(0x0a000002, 443);
  EXPECT_EQ(record.Requested().port(), 443);
}

TEST(TrafficRecord, CloneIsIndependent) {
  TrafficRecord record;
  record.user = "alice";
  record.hops = 3;
  record.Addresses().requested = sys::SocketAddress::Ipv4(0x0a000002, 443);
  TrafficRecord clone = record.Clone();
  record.user = "bob";
  record.Addresses().requested.set_port(1);
  EXPECT_EQ(clone.user.view(), "alice");
  EXPECT_EQ(clone.hops, 3);
  EXPECT_EQ(clone.Requested().port(), 443);
}

TEST(TrafficRecord, TakesTheEnginesReportOnTopOfTheHandshake) {
  TrafficRecord record;
  record.duration_nanos = 5'000;
  record.bytes_from_client = 10;
  relay::SessionReport report;
  report.started = 1'000;
  report.ended = 3'000;
  report.from_client.bytes = 7;
  report.from_client.path = relay::DataPath::kCopy;
  report.from_upstream.bytes = 9;
  report.from_upstream.path = relay::DataPath::kSplice;
  report.reason = {relay::EndCode::kReadFailed, relay::EndSide::kUpstream, ECONNRESET};
  record.TakeReport(report);
  EXPECT_EQ(record.duration_nanos, 7'000);
  EXPECT_EQ(record.bytes_from_client, 17);
  EXPECT_EQ(record.bytes_from_upstream, 9);
  EXPECT_EQ(record.result.number, 96);
  EXPECT_EQ(record.error, ECONNRESET);
  EXPECT_EQ(record.phase, Phase::kRelay);
  EXPECT_EQ(record.side, relay::EndSide::kUpstream);
  EXPECT_EQ(record.path_from_client, relay::DataPath::kCopy);
  EXPECT_EQ(record.path_from_upstream, relay::DataPath::kSplice);
}

TEST(TrafficRecord, AConnectThatFailedIsNotTheRelaysFault) {
  TrafficRecord record;
  relay::SessionReport report;
  report.reason = {relay::EndCode::kConnectFailed, relay::EndSide::kUpstream, ECONNREFUSED};
  record.TakeReport(report);
  EXPECT_EQ(record.phase, Phase::kConnect);
  EXPECT_STREQ(record.result.name, "connect_refused");
}

TEST(TrafficRecord, ChargesTheQueueForWhatItHolds) {
  TrafficRecord record;
  const size_t empty = record.HeldBytes();
  EXPECT_EQ(empty, sizeof(TrafficRecord));
  record.text = std::string(1000, 'x');
  EXPECT_GE(record.HeldBytes(), empty + 1000);
}

}  // namespace
}  // namespace sluice::accounting
