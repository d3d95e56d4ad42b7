#include "relay/datagram/send_batch.h"

#include <arpa/inet.h>
#include <netinet/udp.h>

#include <cerrno>
#include <cstring>

namespace sluice::relay {

SendBatch::SendBatch(DatagramStats* stats)
    : stats_(stats), messages_(kMessages), out_(kMessages), parts_(2 * kPieces), headers_(kPieces) {}

void SendBatch::Add(int fd, const sys::SocketAddress& to, absl::string_view header, absl::string_view payload,
                    const sys::SocketAddress& from) {
  if (fd != fd_ || headers_used_ == kPieces) Flush();
  fd_ = fd;
  sockaddr_storage storage{};
  const socklen_t length = to.family() == sys::AddressFamily::kNone ? 0 : to.ToSockaddr(storage);
  const size_t bytes = header.size() + payload.size();
  if (messages_used_ == 0 || !Joins(messages_[messages_used_ - 1], storage, length, from, bytes)) {
    if (messages_used_ == kMessages) Flush();
    Message& fresh = messages_[messages_used_++];
    if (length > 0) std::memcpy(&fresh.to, &storage, length);
    fresh.to_length = length;
    fresh.from = from;
    fresh.segment_bytes = bytes;
    fresh.total_bytes = 0;
    fresh.segments = 0;
    fresh.first_part = parts_used_;
    fresh.parts = 0;
    fresh.closed = bytes == 0;  // the kernel cannot cut off nothing
  }
  Message& message = messages_[messages_used_ - 1];
  message.total_bytes += bytes;
  ++message.segments;
  if (bytes < message.segment_bytes) message.closed = true;
  char* kept = headers_[headers_used_++].data();
  std::memcpy(kept, header.data(), header.size());
  // Two parts for each datagram, so that they can be told apart again.
  parts_[parts_used_++] = {kept, header.size()};
  parts_[parts_used_++] = {const_cast<char*>(payload.data()), payload.size()};
  message.parts += 2;
}

bool SendBatch::Joins(const Message& message, const sockaddr_storage& to, socklen_t length,
                      const sys::SocketAddress& from, size_t bytes) {
  return !message.closed && bytes > 0 && bytes <= message.segment_bytes && message.segments < kMostSegments &&
         message.total_bytes + bytes <= kMostBytes && message.to_length == length &&
         std::memcmp(&message.to, &to, length) == 0 && message.from == from;
}

void SendBatch::Fill(int index) {
  Message& message = messages_[index];
  msghdr& header = out_[index].msg_hdr;
  header = {};
  header.msg_name = message.to_length > 0 ? &message.to : nullptr;
  header.msg_namelen = message.to_length;
  header.msg_iov = &parts_[message.first_part];
  header.msg_iovlen = static_cast<size_t>(message.parts);
  FillControl(message, message.segments > 1, header);
}

void SendBatch::FillControl(Message& message, bool segmented, msghdr& header) {
  size_t used = 0;
  const auto append = [&](int level, int type, const void* data, size_t size) {
    auto* control = reinterpret_cast<cmsghdr*>(message.control + used);
    control->cmsg_level = level;
    control->cmsg_type = type;
    control->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(control), data, size);
    used += CMSG_SPACE(size);
  };
  if (segmented) {
    const auto segment = static_cast<uint16_t>(message.segment_bytes);
    append(IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment);
  }
  if (message.from.family() == sys::AddressFamily::kIpv4) {
    in_pktinfo info{};
    info.ipi_spec_dst.s_addr = htonl(message.from.ipv4());
    append(IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
  } else if (message.from.family() == sys::AddressFamily::kIpv6) {
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, message.from.ipv6().data(), sizeof info.ipi6_addr);
    info.ipi6_ifindex = message.from.scope_id();
    append(IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
  }
  if (used == 0) return;
  header.msg_control = message.control;
  header.msg_controllen = used;
}

void SendBatch::Flush() {
  for (int i = 0; i < messages_used_; ++i) Fill(i);
  for (int i = 0; i < messages_used_;) {
    stats_->send_calls.Increment();
    const int sent = sendmmsg(fd_, &out_[i], static_cast<unsigned>(messages_used_ - i), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      for (int end = i + sent; i < end; ++i) {
        stats_->sent.Add(messages_[i].segments);
        if (messages_[i].segments > 1) stats_->segmented.Add(messages_[i].segments);
      }
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    Message& message = messages_[i++];
    // Segments longer than the path's MTU, a device or a kernel that cannot: the datagrams may still go alone. What
    // ICMP has brought (ECONNREFUSED of a connected socket) was of an earlier one, and is told once.
    if (message.segments > 1 && error != EAGAIN) {
      SendOneByOne(message);
    } else if (error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH) {
      SendOneByOne(message);
    } else {
      CountError(error, message.segments);
    }
  }
  messages_used_ = parts_used_ = headers_used_ = 0;
}

void SendBatch::SendOneByOne(Message& message) {
  for (int i = 0; i < message.segments; ++i) {
    msghdr header{};
    header.msg_name = message.to_length > 0 ? &message.to : nullptr;
    header.msg_namelen = message.to_length;
    header.msg_iov = &parts_[message.first_part + 2 * i];
    header.msg_iovlen = 2;
    FillControl(message, /*segmented=*/false, header);
    stats_->send_calls.Increment();
    if (sendmsg(fd_, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
      stats_->sent.Increment();
    } else {
      CountError(errno, 1);
    }
  }
}

void SendBatch::CountError(int error, int datagrams) {
  const bool full = error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS;
  (full ? stats_->dropped_full : stats_->dropped_unsendable).Add(datagrams);
}

}  // namespace sluice::relay
