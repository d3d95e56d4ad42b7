#include "bench/load/exchange.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bench/load/tcp.h"

namespace sluice::bench {

bool Exchange::Connect(int epoll, const sockaddr_in& address) {
  fd_ = StartConnect(address);
  if (fd_ < 0) return false;
  connected_ = false;
  unsent_ = unread_ = 0;
  sent_ = 0;
  Watch(epoll, fd_, this);
  return true;
}

Exchange::Progress Exchange::Send(size_t bytes) {
  unsent_ = unread_ = bytes;
  return SendRest();
}

Exchange::Progress Exchange::SendRest() {
  while (unsent_ > 0) {
    ssize_t sent = send(fd_, PatternAt(sent_), std::min(unsent_, kPatternBytes), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN ? Progress::kNothing : Progress::kBroken;
    sent_ += sent;
    unsent_ -= sent;
  }
  return Progress::kNothing;
}

Exchange::Progress Exchange::Handle(uint32_t events) {
  if (!connected_) {
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0) return Progress::kNothing;
    errno = ConnectError(fd_);
    connected_ = errno == 0;
    return connected_ ? Progress::kConnected : Progress::kBroken;
  }
  if (unsent_ > 0 && (events & EPOLLOUT) && SendRest() == Progress::kBroken) return Progress::kBroken;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) return Progress::kNothing;
  static char scratch[64 * 1024];
  do {
    // Also while no answer is due: anything that comes then (an end, an error, stray bytes) breaks the connection.
    ssize_t received = recv(fd_, scratch, sizeof scratch, 0);
    if (received < 0) return errno == EAGAIN ? Progress::kNothing : Progress::kBroken;
    if (received == 0 || static_cast<size_t>(received) > unread_) {
      errno = 0;
      return Progress::kBroken;
    }
    unread_ -= received;
    if (unread_ == 0) return Progress::kAnswered;
  } while (true);
}

void Exchange::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  connected_ = false;
}

}  // namespace sluice::bench
