#ifndef SLUICE_RELAY_TRANSFORM_H_
#define SLUICE_RELAY_TRANSFORM_H_

#include <cstddef>
#include <cstdint>

namespace sluice::relay {

// What stands between a leg's socket and the bytes that a session relays: TLS in the process. The engine asks it where
// it would call recv(2), send(2) and shutdown(2); what it says has the meaning that those have, so flows, framers,
// limits and closes know nothing of it. Such a leg is copied, never spliced.
//
// What was read (and decrypted) ahead stays inside: a leg with a transform is readable until Read() says that there is
// nothing, whatever the socket says. What was taken and does not fit into the socket stays inside, too: Write() counts
// it as given, holds_output() says that there is some, and a flow that gives to such a leg holds a rest until Flush()
// has sent it. So an end comes behind the last byte here as well.
//
// One object a leg, owned by it. Worker only (before the hand-off, whoever has it); no call blocks.
class Transform {
 public:
  virtual ~Transform() = default;

  struct ReadResult {
    int64_t bytes = 0;     // > 0; 0: the orderly end; -errno, where -EAGAIN is: nothing now
    bool drained = false;  // with bytes > 0: nothing more now
  };
  // `short_means_empty`: when the socket gives less than it is asked for there is no more until it is reported.
  virtual ReadResult Read(int fd, char* bytes, size_t size, bool short_means_empty) = 0;

  // Takes as much as it can: > 0, or -EAGAIN, or another -errno. Having taken less than all, or holding output, it is
  // blocked until the socket is writable.
  virtual int64_t Write(int fd, const char* bytes, size_t size) = 0;
  virtual bool holds_output() const = 0;
  // 0: it holds nothing any more; -EAGAIN; another -errno.
  virtual int Flush(int fd) = 0;

  // Tells the other side that nothing more comes. 0: said, the socket may be shut; -EAGAIN: it is held like output;
  // another -errno. Reading goes on.
  virtual int End(int fd) = 0;

  // Read() had something to send before it can go on: it is asked again when the socket is writable.
  virtual bool waits_for_room() const = 0;
};

// For those who read or write a little before there is a session: recv(2) and send(2) that do not wait, through
// `transform` where there is one. The number of bytes, 0 at the end (of reading), or -errno.
int64_t ReceiveSome(int fd, Transform* transform, char* bytes, size_t size);
int64_t SendSome(int fd, Transform* transform, const char* bytes, size_t size);

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_TRANSFORM_H_
