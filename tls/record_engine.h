#ifndef SLUICE_TLS_RECORD_ENGINE_H_
#define SLUICE_TLS_RECORD_ENGINE_H_

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tls/handle.h"

namespace sluice::tls {

// One TLS session over a non-blocking socket that somebody else owns and watches: first its handshake, then plaintext
// in and out by calls that are like recv(2) and send(2), with readiness between them.
//
// Ciphertext goes to the socket in full records, two of them a system call, from memory of the thread; what the socket
// does not take (at most kMostHeldBytes) the session holds until Flush(), and takes nothing more meanwhile. Reading
// takes up to two records from the socket at once. An idle session holds no buffer, neither its own nor OpenSSL's.
//
//   want writable:  Write() said -EAGAIN, or holds_output(), or waits_for_room()
//   want readable:  Read() said -EAGAIN
//
// KeyUpdate and tickets are handled where they come; a client's ticket is sent with the first data (TLS 1.3).
//
// Thread-compatible; no call blocks.
class RecordEngine {
 public:
  static constexpr size_t kRecordBytes = 16 * 1024;
  static constexpr size_t kWriteBytes = 2 * kRecordBytes;  // encrypted before each send
  static constexpr size_t kMostHeldBytes = 40 * 1024;      // those, with what a handshake or an alert adds

  // Errors of Read() that no socket has.
  static constexpr int kTruncated = 103;  // ECONNABORTED: the connection ended without close_notify
  static constexpr int kBroken = 74;      // EBADMSG: what came is no TLS of this session, or is a fatal alert

  // `ssl`: in its connect or accept state, without a BIO.
  explicit RecordEngine(Handle<SSL> ssl);
  ~RecordEngine();
  RecordEngine(const RecordEngine&) = delete;
  RecordEngine& operator=(const RecordEngine&) = delete;

  enum class Progress : uint8_t { kDone, kWantsInput, kWantsRoom, kFailed };
  // A step of the handshake, as far as the socket goes. kFailed: socket_error() and fault() say why, and an alert was
  // sent if there was room.
  Progress Handshake(int fd);

  struct ReadResult {
    int64_t bytes = 0;     // as of recv(2): 0 is the orderly end (close_notify); -errno, or -kTruncated and -kBroken
    bool drained = false;  // with bytes > 0: there is nothing more now
  };
  // `short_means_empty`: when the socket gives less than asked there is no more, until it is reported readable again
  // (plain TCP, edge-triggered, no end announced); it saves a system call.
  ReadResult Read(int fd, char* bytes, size_t size, bool short_means_empty);

  // As of send(2): the number of bytes taken, -EAGAIN, -errno. Taken ones count as sent.
  int64_t Write(int fd, const char* bytes, size_t size);
  // Sends what is held: 0 (nothing is, any more), -EAGAIN, -errno.
  int Flush(int fd);
  // Says close_notify, once: 0, or -EAGAIN (Flush() when there is room), -errno. Reading goes on.
  int End(int fd);

  bool holds_output() const { return held_from_ < out_.size(); }
  bool waits_for_room() const { return waits_for_room_; }

  // Literal or OpenSSL's own words; empty: nothing has failed.
  const std::string& fault() const { return fault_; }
  int socket_error() const { return socket_error_; }
  // The connection ended under us.
  bool saw_end() const { return saw_end_; }
  SSL* ssl() { return ssl_.get(); }
  const SSL* ssl() const { return ssl_.get(); }

 private:
  static BIO_METHOD* Method();
  static int OnRead(BIO* bio, char* bytes, int size);
  static int OnWrite(BIO* bio, const char* bytes, int size);
  static long OnControl(BIO* bio, int command, long, void*);  // NOLINT: OpenSSL's types

  int SendOut();
  void BorrowOut();
  void ReturnOut();
  void GiveTicket();
  int Failed();

  Handle<SSL> ssl_;
  std::string out_;  // ciphertext; sent up to held_from_. Has memory only while it holds something
  size_t held_from_ = 0;
  std::string fault_;
  int fd_ = -1;  // of the call that runs
  int socket_error_ = 0;
  int failure_ = 0;  // of reading, told again and again
  bool saw_end_ = false;
  bool ended_ = false;  // close_notify has come
  bool end_said_ = false;
  bool ticket_given_ = false;
  bool waits_for_room_ = false;
  bool short_means_empty_ = false;
  bool input_is_empty_ = false;
};

}  // namespace sluice::tls

#endif  // SLUICE_TLS_RECORD_ENGINE_H_
