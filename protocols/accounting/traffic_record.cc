#include "protocols/accounting/traffic_record.h"

namespace sluice::accounting {

TrafficRecord::TrafficRecord(const TrafficRecord& other)
    : client(other.client),
      upstream(other.upstream),
      started_wall_nanos(other.started_wall_nanos),
      duration_nanos(other.duration_nanos),
      bytes_from_upstream(other.bytes_from_upstream),
      bytes_from_client(other.bytes_from_client),
      service(other.service),
      result(other.result),
      user(other.user),
      host(other.host),
      text(other.text),
      addresses(other.addresses == nullptr ? nullptr : std::make_unique<RecordAddresses>(*other.addresses)),
      error(other.error),
      service_port(other.service_port),
      hops(other.hops),
      phase(other.phase),
      side(other.side),
      path_from_client(other.path_from_client),
      path_from_upstream(other.path_from_upstream),
      interim(other.interim) {}

void TrafficRecord::TakeReport(const relay::SessionReport& report) {
  switch (report.reason.code) {
    case relay::EndCode::kConnectFailed:
    case relay::EndCode::kConnectTimeout:
      phase = Phase::kConnect;
      break;
    case relay::EndCode::kNoResources:
      break;  // the session never began
    default:
      phase = Phase::kRelay;
  }
  result = ResultOf(report.reason, phase);
  side = report.reason.side;
  error = report.reason.error;
  duration_nanos += report.ended - report.started;
  bytes_from_client += report.from_client.bytes;
  bytes_from_upstream += report.from_upstream.bytes;
  path_from_client = report.from_client.path;
  path_from_upstream = report.from_upstream.path;
}

}  // namespace sluice::accounting
