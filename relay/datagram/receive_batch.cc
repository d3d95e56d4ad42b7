#include "relay/datagram/receive_batch.h"

#include <netinet/udp.h>

#include <cerrno>
#include <cstring>

namespace sluice::relay {

ReceiveBatch::ReceiveBatch()
    : buffers_(kMessages * kMostDatagramBytes),
      messages_(kMessages),
      parts_(kMessages),
      senders_(kMessages),
      controls_(kMessages) {
  for (int i = 0; i < kMessages; ++i) parts_[i] = {&buffers_[i * kMostDatagramBytes], kMostDatagramBytes};
}

void ReceiveBatch::EnableGro(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
}

int ReceiveBatch::Receive(int fd) {
  count_ = 0;
  for (int i = 0; i < kMessages; ++i) {
    msghdr& header = messages_[i].msg_hdr;
    header = {};
    header.msg_name = &senders_[i];
    header.msg_namelen = sizeof(senders_[i]);
    header.msg_iov = &parts_[i];
    header.msg_iovlen = 1;
    header.msg_control = &controls_[i];
    header.msg_controllen = sizeof(controls_[i]);
    messages_[i].msg_len = 0;
  }
  int count;
  do {
    count = recvmmsg(fd, messages_.data(), kMessages, MSG_DONTWAIT, nullptr);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
  count_ = count;
  return count;
}

sys::SocketAddress ReceiveBatch::From(int i) const {
  return sys::SocketAddress::FromSockaddr(reinterpret_cast<const sockaddr*>(&senders_[i]),
                                          messages_[i].msg_hdr.msg_namelen);
}

size_t ReceiveBatch::SegmentBytes(int i) const {
  // The macros take a pointer to what they do not change.
  auto* header = const_cast<msghdr*>(&messages_[i].msg_hdr);
  for (cmsghdr* c = CMSG_FIRSTHDR(header); c != nullptr; c = CMSG_NXTHDR(header, c)) {
    if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO) continue;
    int bytes;
    std::memcpy(&bytes, CMSG_DATA(c), sizeof bytes);
    return bytes > 0 ? static_cast<size_t>(bytes) : 0;
  }
  return 0;
}

}  // namespace sluice::relay
