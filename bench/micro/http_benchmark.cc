// What an HTTP exchange costs beside its system calls: finding and reading heads, writing them anew, and all of it
// together as a worker does it for a kept-alive connection.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "benchmark/benchmark.h"
#include "protocols/http/forwarding.h"
#include "protocols/http/head.h"
#include "protocols/http/keepalive_framer.h"
#include "protocols/http/request_head.h"
#include "protocols/http/response_head.h"
#include "relay/framer.h"
#include "relay/relay_options.h"
#include "sys/net/socket_address.h"

namespace sluice::http {
namespace {

constexpr int kUp = 0, kDown = 1;

// As a benchmark's client sends it, and as a browser does (some 700 bytes).
std::string RequestOf(bool browser) {
  std::string head = "GET http://origin.example:8080/a/page?x=1 HTTP/1.1\r\nHost: origin.example:8080\r\n";
  if (!browser) return head + "\r\n";
  absl::StrAppend(&head,
                  "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
                  "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"
                  "Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate\r\n"
                  "Referer: http://origin.example:8080/another/page/that/had/a/link\r\n"
                  "Cookie: session=",
                  std::string(64, 'a'), "; consent=", std::string(128, 'b'),
                  "\r\nUpgrade-Insecure-Requests: 1\r\nProxy-Connection: keep-alive\r\nPriority: u=0, i\r\n\r\n");
  return head;
}

std::string ResponseHeadOf(int64_t body_bytes) {
  return absl::StrCat(
      "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Tue, 01 Dec 2026 12:00:00 GMT\r\n"
      "Content-Type: text/html; charset=utf-8\r\nContent-Length: ",
      body_bytes,
      "\r\nLast-Modified: Mon, 30 Nov 2026 12:00:00 GMT\r\nConnection: keep-alive\r\nETag: \"674af1c0-400\"\r\n"
      "Cache-Control: max-age=600\r\nVary: Accept-Encoding\r\nAccept-Ranges: bytes\r\n\r\n");
}

void BM_ScanHead(benchmark::State& state) {
  const std::string head = RequestOf(state.range(0) != 0);
  for (auto _ : state) {
    HeadScanner scanner;
    benchmark::DoNotOptimize(scanner.Scan(head));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(head.size()));
}
BENCHMARK(BM_ScanHead)->ArgName("browser")->Arg(0)->Arg(1);

void BM_ParseRequestHead(benchmark::State& state) {
  const std::string head = RequestOf(state.range(0) != 0);
  for (auto _ : state) {
    RequestHead request;
    const HeadError error = ParseRequestHead(head, request);
    if (!error.ok()) state.SkipWithError(error.what);
    benchmark::DoNotOptimize(request);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(head.size()));
}
BENCHMARK(BM_ParseRequestHead)->ArgName("browser")->Arg(0)->Arg(1);

void BM_ParseResponseHead(benchmark::State& state) {
  const std::string head = ResponseHeadOf(1024);
  for (auto _ : state) {
    ResponseHead response;
    const HeadError error = ParseResponseHead(head, Method::kGet, response);
    if (!error.ok()) state.SkipWithError(error.what);
    benchmark::DoNotOptimize(response);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(head.size()));
}
BENCHMARK(BM_ParseResponseHead);

void BM_AppendRequestHead(benchmark::State& state) {
  const std::string head = RequestOf(state.range(0) != 0);
  RequestHead request;
  const HeadError error = ParseRequestHead(head, request);
  if (!error.ok()) state.SkipWithError(error.what);
  const ForwardingPolicy policy{Disclosure::kForwarded, "proxy.example:3128"};
  const sys::SocketAddress client = sys::SocketAddress::Ipv4(0xc0000201, 40'001);
  std::string out;
  for (auto _ : state) {
    out.clear();
    AppendRequestHead(request, policy, client, 0, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(out.size()));
}
BENCHMARK(BM_AppendRequestHead)->ArgName("browser")->Arg(0)->Arg(1);

// Serves everything for one origin and forgets what it is told.
class Framer final : public KeepaliveFramer {
 public:
  using KeepaliveFramer::KeepaliveFramer;

  int64_t QuietNanos() const override { return 1; }
  const relay::RelayOptions* TunnelOptions() const override { return nullptr; }
  void OnUpstreamFree(relay::Worker*, sys::UniqueFd) override {}
  void OnReturned(relay::Worker*, relay::Returned) override {}

 private:
  bool Serves(const RequestHead& request) const override { return request.authority.host == "origin.example"; }
  const sys::SocketAddress& ClientAddress() const override { return client_; }
  uint32_t Random() override { return 7; }
  void OnRequest(const RequestHead&) override {}
  std::string OnOver(Outcome, const char*, int) override { return std::string(); }

  const sys::SocketAddress client_ = sys::SocketAddress::Ipv4(0xc0000201, 40'001);
};

// A kept-alive exchange: the request in one read, the answer's head with the first 1 KB of its body in another, and
// what is left of the body (the argument is its size) raw.
void BM_KeepaliveExchange(benchmark::State& state) {
  const std::string request = RequestOf(state.range(1) != 0);
  const std::string answer = ResponseHeadOf(state.range(0)) + std::string(1024, 'x');
  const ForwardingPolicy policy{Disclosure::kForwarded, "proxy.example:3128"};
  Framer framer(&policy);
  RequestHead first;
  const HeadError error = ParseRequestHead(request, first);
  if (!error.ok()) state.SkipWithError(error.what);
  std::string out = framer.Begin(first, request, std::string(), /*reused=*/false);
  for (auto _ : state) {
    out.clear();
    const relay::Framer::Step answered = framer.OnBytes(kDown, answer, out);
    if (const int64_t rest = framer.RawBytes(kDown); rest > 0) framer.OnRaw(kDown, rest);
    const relay::Framer::Step asked = framer.OnBytes(kUp, request, out);
    if (answered.taken != answer.size() || asked.taken != request.size() || framer.Quiet()) {
      state.SkipWithError("an exchange did not end");
    }
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_KeepaliveExchange)->ArgNames({"body", "browser"})->Args({1024, 0})->Args({1024, 1})->Args({1 << 20, 0});

}  // namespace
}  // namespace sluice::http
