#include "bench/load/route.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <string_view>

#include "bench/load/http.h"
#include "bench/load/tcp.h"

namespace sluice::bench {
namespace {

constexpr size_t kMostAnswerBytes = 4096;

// The length of the proxy's whole answer at the beginning of `seen`: 0 while it is not all there, nullopt if it is a
// refusal.
std::optional<size_t> HttpAnswer(std::string_view seen) {
  size_t size = HeadBytes(seen);
  if (size == 0) return seen.size() < kMostAnswerBytes ? std::optional<size_t>(0) : std::nullopt;
  std::optional<AnswerHead> head = ParseAnswerHead(seen.substr(0, size));
  return head && head->status / 100 == 2 ? std::optional(size) : std::nullopt;
}

// RFC 1928 section 3: version 5, "no authentication".
std::optional<size_t> SocksMethod(std::string_view seen) {
  if (seen.size() < 2) return 0;
  return seen[0] == 5 && seen[1] == 0 ? std::optional<size_t>(2) : std::nullopt;
}

// RFC 1928 section 6: version, reply (0: succeeded), reserved, address type and address, port.
std::optional<size_t> SocksAnswer(std::string_view seen) {
  if (seen.size() < 5) return 0;
  size_t address = seen[3] == 1 ? 4 : seen[3] == 4 ? 16 : 1 + static_cast<unsigned char>(seen[4]);
  if (seen[0] != 5 || seen[1] != 0) return std::nullopt;
  return seen.size() < 6 + address ? 0 : 6 + address;
}

}  // namespace

Route::Route(const Options& options) : address(options.Address("connect")) {
  std::string name = options.Text("tunnel");
  if (name.empty()) return;
  if (name != "connect" && name != "socks") FailUsage("--tunnel is connect or socks");
  tunnel = name == "connect" ? Tunnel::kConnect : Tunnel::kSocks;
  target = options.Address("target");
  target_text = options.Text("target");
}

int Opening::Start(const Route& route) {
  route_ = &route;
  step_ = Step::kConnecting;
  return StartConnect(route.address);
}

Opening::Progress Opening::Handle(int fd, uint32_t events) {
  if (step_ != Step::kConnecting) return Take(fd);
  if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0) return Progress::kNothing;
  errno = ConnectError(fd);
  if (errno != 0) return Progress::kBroken;
  switch (route_->tunnel) {
    case Route::Tunnel::kNone:
      return Progress::kOpen;
    case Route::Tunnel::kConnect:
      return Send(fd, "CONNECT " + route_->target_text + " HTTP/1.1\r\nHost: " + route_->target_text + "\r\n\r\n",
                  Step::kHttpAnswer);
    case Route::Tunnel::kSocks:
      return Send(fd, std::string("\5\1\0", 3), Step::kSocksMethod);
  }
  return Progress::kBroken;
}

// A fresh socket takes so few bytes at once.
Opening::Progress Opening::Send(int fd, const std::string& text, Step next) {
  step_ = next;
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()) ? Progress::kNothing
                                                                                               : Progress::kBroken;
}

Opening::Progress Opening::Take(int fd) {
  char seen[kMostAnswerBytes];
  while (true) {
    ssize_t size = recv(fd, seen, sizeof seen, MSG_PEEK);
    if (size < 0) return errno == EAGAIN ? Progress::kNothing : Progress::kBroken;
    errno = 0;
    if (size == 0) return Progress::kBroken;
    std::string_view text(seen, size);
    std::optional<size_t> answer = step_ == Step::kHttpAnswer    ? HttpAnswer(text)
                                   : step_ == Step::kSocksMethod ? SocksMethod(text)
                                                                 : SocksAnswer(text);
    if (!answer) return Progress::kBroken;
    if (*answer == 0) return Progress::kNothing;
    recv(fd, seen, *answer, 0);
    if (step_ != Step::kSocksMethod) return Progress::kOpen;
    if (Send(fd, SocksRequest(), Step::kSocksAnswer) == Progress::kBroken) return Progress::kBroken;
  }
}

// RFC 1928 section 4: version, CONNECT, reserved, IPv4; address and port are in network order already.
std::string Opening::SocksRequest() const {
  std::string request("\5\1\0\1", 4);
  request.append(reinterpret_cast<const char*>(&route_->target.sin_addr), 4);
  return request.append(reinterpret_cast<const char*>(&route_->target.sin_port), 2);
}

}  // namespace sluice::bench
