#include "relay/transform.h"

#include <sys/socket.h>

#include <cerrno>

namespace sluice::relay {

int64_t ReceiveSome(int fd, Transform* transform, char* bytes, size_t size) {
  if (transform != nullptr) return transform->Read(fd, bytes, size, /*short_means_empty=*/false).bytes;
  ssize_t got;
  do {
    got = recv(fd, bytes, size, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  return got < 0 ? -errno : got;
}

int64_t SendSome(int fd, Transform* transform, const char* bytes, size_t size) {
  if (transform != nullptr) return transform->Write(fd, bytes, size);
  ssize_t sent;
  do {
    sent = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : sent;
}

}  // namespace sluice::relay
