// What a record of the access log costs: on the log thread (one line, by format) and on whoever submits it.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "benchmark/benchmark.h"
#include "protocols/accounting/log_format.h"
#include "protocols/accounting/log_target.h"
#include "protocols/accounting/log_thread.h"
#include "protocols/accounting/traffic_record.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"

namespace sluice::accounting {
namespace {

TrafficRecord Sample() {
  TrafficRecord record;
  record.started_wall_nanos = 1'709'708'889'000'000'000;
  record.duration_nanos = 2'500'000;
  record.client = sys::SocketAddress::Ipv4(0xc0000201, 40001);
  record.upstream = sys::SocketAddress::Ipv4(0xc6336401, 8080);
  record.user = "alice";
  record.host = "example.org";
  record.text = "GET http://example.org/some/path?with=a&query=string HTTP/1.1";
  record.service = "PROXY";
  record.service_port = 3128;
  record.bytes_from_upstream = 10'000;
  record.bytes_from_client = 500;
  record.path_from_upstream = relay::DataPath::kSplice;
  return record;
}

void FormatRecords(benchmark::State& state, const char* text) {
  const LogFormat format = *LogFormat::Compile(text);
  TrafficRecord record = Sample();
  TimeCache cache;
  std::string out;
  int64_t bytes = 0;
  for (auto _ : state) {
    record.started_wall_nanos += 50'000;  // 20,000 records a second
    out.clear();
    format.Format(record, cache, out);
    benchmark::DoNotOptimize(out.data());
    bytes += static_cast<int64_t>(out.size());
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(bytes);
}

void BM_FormatDefault(benchmark::State& state) { FormatRecords(state, LogFormat::kDefault); }
BENCHMARK(BM_FormatDefault);

void BM_FormatLocalReplacing(benchmark::State& state) {
  FormatRecords(state, "- +_L%t.%. %N.%p %E %U %C:%c %R:%r %O %I %h %T");
}
BENCHMARK(BM_FormatLocalReplacing);

void BM_FormatJson(benchmark::State& state) { FormatRecords(state, "json"); }
BENCHMARK(BM_FormatJson);

// The worker's share, with the log thread writing to a file at the same time. The time of making the record is in it.
void BM_MakeAndSubmit(benchmark::State& state) {
  LogThread log(LogThread::Options{});
  const std::unique_ptr<LogChannel> channel =
      *log.Open(*LogTarget::Parse("/tmp/log_format_benchmark.log", "", 0), LogFormat());
  for (auto _ : state) channel->Submit(Sample());
  log.Stop();
  state.SetItemsProcessed(state.iterations());
  state.counters["dropped"] = static_cast<double>(log.stats().dropped);
}
BENCHMARK(BM_MakeAndSubmit)->Iterations(8000);

}  // namespace
}  // namespace sluice::accounting
