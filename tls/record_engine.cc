#include "tls/record_engine.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sluice::tls {
namespace {

static_assert(RecordEngine::kTruncated == ECONNABORTED && RecordEngine::kBroken == EBADMSG);

// Memory for the ciphertext of one call, lent to sessions one after the other: it stays with one only when the socket
// did not take everything.
std::string& SpareOut() {
  thread_local std::string spare;
  return spare;
}

}  // namespace

RecordEngine::RecordEngine(Handle<SSL> ssl) : ssl_(std::move(ssl)) {
  BIO* const bio = BIO_new(Method());
  if (bio == nullptr) return;  // every call fails then
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
}

RecordEngine::~RecordEngine() {
  // OpenSSL takes a session that was not ended in order for one that must not be resumed. Whoever cut it, the keys are
  // as good as before (RFC 8446 section 6.1).
  SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

BIO_METHOD* RecordEngine::Method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sluice socket");
    BIO_meth_set_read(made, OnRead);
    BIO_meth_set_write(made, OnWrite);
    BIO_meth_set_ctrl(made, OnControl);
    return made;
  }();
  return method;
}

int RecordEngine::OnRead(BIO* bio, char* bytes, int size) {
  auto* const self = static_cast<RecordEngine*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (self->input_is_empty_) {
    BIO_set_retry_read(bio);
    return -1;
  }
  ssize_t got;
  do {
    got = recv(self->fd_, bytes, static_cast<size_t>(size), 0);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    if (got < size && self->short_means_empty_) self->input_is_empty_ = true;
    return static_cast<int>(got);
  }
  if (got == 0) {
    self->saw_end_ = true;
    return 0;
  }
  if (errno == EAGAIN) {
    self->input_is_empty_ = true;
    BIO_set_retry_read(bio);
    return -1;
  }
  self->socket_error_ = errno;
  return -1;
}

// Into memory; SendOut() follows.
int RecordEngine::OnWrite(BIO* bio, const char* bytes, int size) {
  auto* const self = static_cast<RecordEngine*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (self->holds_output() && self->out_.size() - self->held_from_ + static_cast<size_t>(size) > kMostHeldBytes) {
    BIO_set_retry_write(bio);
    return -1;
  }
  self->out_.append(bytes, static_cast<size_t>(size));
  return size;
}

long RecordEngine::OnControl(BIO* bio, int command, long, void*) {  // NOLINT: OpenSSL's types
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return static_cast<RecordEngine*>(BIO_get_data(bio))->saw_end_ ? 1 : 0;
  return 0;
}

void RecordEngine::BorrowOut() {
  if (!out_.empty()) return;
  out_.swap(SpareOut());
  if (out_.capacity() < kMostHeldBytes) out_.reserve(kMostHeldBytes);
}

void RecordEngine::ReturnOut() {
  if (holds_output()) return;
  out_.clear();
  held_from_ = 0;
  out_.swap(SpareOut());
  if (out_.capacity() > 0) std::string().swap(out_);  // two had been lent
}

// Until everything is sent (0), the socket is full (-EAGAIN), or it fails (-errno).
int RecordEngine::SendOut() {
  while (holds_output()) {
    const ssize_t sent = send(fd_, out_.data() + held_from_, out_.size() - held_from_, MSG_NOSIGNAL);
    if (sent >= 0) {
      held_from_ += static_cast<size_t>(sent);
    } else if (errno == EAGAIN) {
      return -EAGAIN;
    } else if (errno != EINTR) {
      return -errno;
    }
  }
  out_.clear();
  held_from_ = 0;
  return 0;
}

RecordEngine::Progress RecordEngine::Handshake(int fd) {
  if (failure_ != 0) return Progress::kFailed;
  fd_ = fd;
  input_is_empty_ = false;
  short_means_empty_ = false;
  for (;;) {
    BorrowOut();
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    const int reason = result == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), result);
    if (reason != SSL_ERROR_NONE && reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) Failed();
    const int sent = SendOut();
    ReturnOut();
    if (failure_ != 0) return Progress::kFailed;
    if (sent == -EAGAIN) return Progress::kWantsRoom;
    if (sent != 0) {
      socket_error_ = -sent;
      fault_ = "the connection failed";
      return Progress::kFailed;
    }
    if (reason == SSL_ERROR_NONE) return Progress::kDone;
    if (reason == SSL_ERROR_WANT_READ) return Progress::kWantsInput;
  }
}

// Why the last call failed; the session is of no use from here on.
int RecordEngine::Failed() {
  if (socket_error_ != 0) {
    failure_ = socket_error_;
    fault_ = "the connection failed";
    ERR_clear_error();
  } else if (saw_end_) {
    failure_ = kTruncated;
    fault_ = "the connection ended without close_notify";
    ERR_clear_error();
  } else {
    failure_ = kBroken;
    fault_ = TakeErrorText();
  }
  return failure_;
}

RecordEngine::ReadResult RecordEngine::Read(int fd, char* bytes, size_t size, bool short_means_empty) {
  if (ended_) return {0};
  if (failure_ != 0) return {-failure_};
  fd_ = fd;
  input_is_empty_ = false;
  short_means_empty_ = short_means_empty;
  waits_for_room_ = false;
  size_t got = 0;
  bool drained = false;
  while (got < size && !ended_ && failure_ == 0) {
    ERR_clear_error();
    size_t count = 0;
    if (SSL_read_ex(ssl_.get(), bytes + got, size - got, &count) == 1) {
      got += count;
      continue;
    }
    const int reason = SSL_get_error(ssl_.get(), 0);
    if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) {
      waits_for_room_ = reason == SSL_ERROR_WANT_WRITE;
      drained = true;
      break;
    }
    if (reason == SSL_ERROR_ZERO_RETURN) {
      ended_ = true;
    } else {
      Failed();
    }
  }
  // An alert, or the answer to a KeyUpdate. What is wrong with the socket, the next write will say.
  if (holds_output()) Flush(fd);
  if (got > 0) return {static_cast<int64_t>(got), drained};
  if (ended_) return {0};
  return {failure_ != 0 ? -failure_ : -EAGAIN};
}

// TLS 1.3: where data goes to the client there is somebody to read its ticket.
void RecordEngine::GiveTicket() {
  if (ticket_given_) return;
  ticket_given_ = true;
  if (SSL_is_server(ssl_.get()) == 1 && SSL_version(ssl_.get()) == TLS1_3_VERSION) {
    SSL_new_session_ticket(ssl_.get());
  }
}

int64_t RecordEngine::Write(int fd, const char* bytes, size_t size) {
  if (const int held = Flush(fd); held != 0) return held;
  if (end_said_) return -EPIPE;
  GiveTicket();
  size_t taken = 0;
  int sent = 0;
  BorrowOut();
  while (taken < size && sent == 0) {
    ERR_clear_error();
    size_t count = 0;
    if (SSL_write_ex(ssl_.get(), bytes + taken, std::min(size - taken, kWriteBytes), &count) == 1) {
      taken += count;
      sent = SendOut();
      continue;
    }
    const int reason = SSL_get_error(ssl_.get(), 0);
    if (reason != SSL_ERROR_WANT_WRITE && reason != SSL_ERROR_WANT_READ) {
      Failed();
      sent = -failure_;
    } else {
      sent = -EAGAIN;
    }
    const int flushed = SendOut();
    if (flushed != 0 && sent == -EAGAIN) sent = flushed;
  }
  ReturnOut();
  if (sent != 0 && sent != -EAGAIN) return sent;
  return taken > 0 ? static_cast<int64_t>(taken) : -EAGAIN;
}

int RecordEngine::Flush(int fd) {
  if (!holds_output()) return 0;
  fd_ = fd;
  const int sent = SendOut();
  if (sent == 0) ReturnOut();
  return sent;
}

int RecordEngine::End(int fd) {
  if (!end_said_ && failure_ == 0) {
    end_said_ = true;
    BorrowOut();
    ERR_clear_error();
    SSL_shutdown(ssl_.get());  // 0: said, and the other side's has not come; -1 cannot be helped
    ERR_clear_error();
  }
  fd_ = fd;
  const int sent = SendOut();
  ReturnOut();
  return sent;
}

}  // namespace sluice::tls
