#include "relay/datagram/receive_batch.h"

#include <arpa/inet.h>
#include <netinet/udp.h>

#include <array>
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

void ReceiveBatch::EnableTarget(int fd, sys::AddressFamily family) {
  const int on = 1;
  if (family == sys::AddressFamily::kIpv6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
  } else {
    setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  }
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

const cmsghdr* ReceiveBatch::FindControl(int i, int level, int type) const {
  // The macros take a pointer to what they do not change.
  auto* header = const_cast<msghdr*>(&messages_[i].msg_hdr);
  for (cmsghdr* c = CMSG_FIRSTHDR(header); c != nullptr; c = CMSG_NXTHDR(header, c)) {
    if (c->cmsg_level == level && c->cmsg_type == type) return c;
  }
  return nullptr;
}

size_t ReceiveBatch::SegmentBytes(int i) const {
  const cmsghdr* control = FindControl(i, IPPROTO_UDP, UDP_GRO);
  if (control == nullptr) return 0;
  int bytes;
  std::memcpy(&bytes, CMSG_DATA(control), sizeof bytes);
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

sys::SocketAddress ReceiveBatch::To(int i) const {
  if (const cmsghdr* control = FindControl(i, IPPROTO_IP, IP_PKTINFO); control != nullptr) {
    in_pktinfo info;
    std::memcpy(&info, CMSG_DATA(control), sizeof info);
    return sys::SocketAddress::Ipv4(ntohl(info.ipi_spec_dst.s_addr), 0);
  }
  if (const cmsghdr* control = FindControl(i, IPPROTO_IPV6, IPV6_PKTINFO); control != nullptr) {
    in6_pktinfo info;
    std::memcpy(&info, CMSG_DATA(control), sizeof info);
    std::array<uint8_t, 16> bytes;
    std::memcpy(bytes.data(), &info.ipi6_addr, bytes.size());
    // Only link-local addresses mean nothing without their interface.
    const bool link_local = bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
    return sys::SocketAddress::Ipv6(bytes, 0, link_local ? info.ipi6_ifindex : 0);
  }
  return {};
}

}  // namespace sluice::relay
