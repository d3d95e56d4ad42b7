#ifndef SLUICE_RELAY_DATAGRAM_RECEIVE_BATCH_H_
#define SLUICE_RELAY_DATAGRAM_RECEIVE_BATCH_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::relay {

// Datagrams off a socket, many a call: recvmmsg(2), and UDP_GRO (udp(7)) where the kernel has joined equal ones of one
// sender to one large buffer, which is taken apart again here.
//
// One object a worker, made when its first datagram relay begins: it is a megabyte of buffers.
//
// Worker only.
class ReceiveBatch {
 public:
  static constexpr int kMessages = 16;
  static constexpr size_t kMostDatagramBytes = 65535;

  ReceiveBatch();

  // Asks the kernel to join datagrams; without it (or before Linux 5.0) each comes alone.
  static void EnableGro(int fd);

  // Asks the kernel to say to which of our addresses each datagram was sent, which a socket bound to all of them must
  // know to answer from there.
  static void EnableTarget(int fd, sys::AddressFamily family);

  // Receives what is there, at most kMessages buffers. The number of buffers, 0 when nothing is there (EAGAIN), -errno
  // for an error that the socket had to tell (one that ICMP brought, say): the socket is good for more.
  int Receive(int fd);

  // Each datagram of the last Receive(), in order: use(bytes, from), or use(bytes, from, to) where `to` is kNone unless
  // EnableTarget() was called. Views are valid until the next Receive().
  template <typename Use>
  void ForEach(Use use) const {
    for (int i = 0; i < count_; ++i) {
      const sys::SocketAddress from = From(i);
      const sys::SocketAddress to = To(i);
      absl::string_view rest = Bytes(i);
      const size_t segment = SegmentBytes(i);
      // An empty datagram is one.
      do {
        const absl::string_view datagram = segment == 0 ? rest : rest.substr(0, segment);
        rest.remove_prefix(datagram.size());
        if constexpr (std::is_invocable_v<Use, absl::string_view, const sys::SocketAddress&,
                                          const sys::SocketAddress&>) {
          use(datagram, from, to);
        } else {
          use(datagram, from);
        }
      } while (!rest.empty());
    }
  }

 private:
  struct Control {
    alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(in6_pktinfo))];
  };

  sys::SocketAddress From(int i) const;
  sys::SocketAddress To(int i) const;
  const cmsghdr* FindControl(int i, int level, int type) const;
  absl::string_view Bytes(int i) const { return {&buffers_[i * kMostDatagramBytes], messages_[i].msg_len}; }
  // 0: the buffer is one datagram.
  size_t SegmentBytes(int i) const;

  std::vector<char> buffers_;
  std::vector<mmsghdr> messages_;
  std::vector<iovec> parts_;
  std::vector<sockaddr_storage> senders_;
  std::vector<Control> controls_;
  int count_ = 0;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_DATAGRAM_RECEIVE_BATCH_H_
