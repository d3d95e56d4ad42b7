#ifndef SLUICE_RELAY_DATAGRAM_SEND_BATCH_H_
#define SLUICE_RELAY_DATAGRAM_SEND_BATCH_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "relay/datagram/datagram_stats.h"
#include "sys/net/socket_address.h"

namespace sluice::relay {

// Datagrams onto a socket, many a call: sendmmsg(2), and UDP_SEGMENT (udp(7)) where several of one size go to one
// receiver in a row, which the kernel then takes through its stack as one. Order is kept.
//
// What is added is not copied, but for the header: it must stay where it is until Flush(). What the kernel does not
// take is dropped and counted, as a network would: a datagram is not worth holding the next one up.
//
// One object a worker. Worker only.
class SendBatch {
 public:
  static constexpr size_t kMostHeaderBytes = 22;  // the SOCKS header of an IPv6 address

  explicit SendBatch(DatagramStats* stats);

  // `fd` and receiver of what is added; kNone: a connected socket. Another socket than before flushes. `from`: which of
  // our addresses it comes from, where the socket is bound to all of them (IP_PKTINFO).
  void Add(int fd, const sys::SocketAddress& to, absl::string_view header, absl::string_view payload,
           const sys::SocketAddress& from = {});
  // Sends what was added, all that can be.
  void Flush();

  bool empty() const { return messages_used_ == 0; }

 private:
  static constexpr int kMessages = 64;
  static constexpr int kPieces = 256;
  // Of one UDP_SEGMENT: UDP_MAX_SEGMENTS of Linux 6.1, and what fits into one IPv4 datagram.
  static constexpr int kMostSegments = 64;
  static constexpr size_t kMostBytes = 65507;

  struct Message {
    sockaddr_storage to;
    socklen_t to_length = 0;
    sys::SocketAddress from;
    size_t segment_bytes = 0;  // of each datagram but the last
    size_t total_bytes = 0;
    int segments = 0;
    int first_part = 0;
    int parts = 0;
    bool closed = false;  // its last datagram was shorter: it takes no more
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(in6_pktinfo))];
  };

  static bool Joins(const Message& message, const sockaddr_storage& to, socklen_t length,
                    const sys::SocketAddress& from, size_t bytes);
  static void FillControl(Message& message, bool segmented, msghdr& header);
  void Fill(int index);
  void SendOneByOne(Message& message);
  void CountError(int error, int datagrams);

  DatagramStats* const stats_;
  int fd_ = -1;
  int messages_used_ = 0;
  int parts_used_ = 0;
  int headers_used_ = 0;
  std::vector<Message> messages_;
  std::vector<mmsghdr> out_;
  std::vector<iovec> parts_;
  std::vector<std::array<char, kMostHeaderBytes>> headers_;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_DATAGRAM_SEND_BATCH_H_
