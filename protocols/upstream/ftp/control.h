#ifndef SLUICE_PROTOCOLS_UPSTREAM_FTP_CONTROL_H_
#define SLUICE_PROTOCOLS_UPSTREAM_FTP_CONTROL_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "protocols/upstream/ftp/reply.h"
#include "sys/base/unique_fd.h"
#include "sys/blocking/deadline_stream.h"
#include "sys/blocking/wait.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::upstream {

// What came of a question to an FTP server: a reply, or why there is none.
struct FtpAnswer {
  enum class Fault : uint8_t {
    kNone,
    kTimeout,
    kClosed,    // the connection ended
    kFailed,    // `error` says how
    kBadReply,  // what came is none, or too long
  };
  Fault fault = Fault::kNone;
  int error = 0;
  FtpReply reply;

  bool ok() const { return fault == Fault::kNone; }
  bool completed() const { return ok() && reply.completed(); }
  bool preliminary() const { return ok() && reply.preliminary(); }
};

// The control connection of an FTP session: one question and its reply after the other. Passive transfers only: the
// server waits for the data connection, at the address of this one and the port that it names.
//
//   FtpControl control(std::move(fd), server, &cancellation);
//   if (!control.Read(deadline).completed()) ...           // the greeting
//   if (!control.Login(user, password, deadline).completed()) ...
//   FtpControl::Passive passive = control.EnterPassive(deadline);
//   ... connect to passive.address ...
//   if (control.Ask("RETR", path, deadline).preliminary()) ... the data flows; then Read() for how it ended
//
// Between two calls it may be handed from thread to thread. Closes the connection when it is destroyed.
//
// Handshake thread only (may block), but where a method says otherwise.
class FtpControl {
 public:
  // `fd`: connected and O_NONBLOCK. `cancellation` may be null.
  FtpControl(sys::UniqueFd fd, const sys::SocketAddress& server, const sys::Cancellation* cancellation)
      : fd_(std::move(fd)), server_(server), stream_(fd_.get(), 0, cancellation) {}

  // The next reply.
  FtpAnswer Read(sys::MonotonicNanos deadline);
  // Sends "VERB ARGUMENT" (without the blank where there is no argument) and reads the reply. REQUIRES:
  // IsArgument(argument).
  FtpAnswer Ask(absl::string_view verb, absl::string_view argument, sys::MonotonicNanos deadline);
  // USER, and PASS if it is asked for. Completed, or the reply that was not.
  FtpAnswer Login(absl::string_view user, absl::string_view password, sys::MonotonicNanos deadline);

  struct Passive {
    FtpAnswer answer;
    sys::SocketAddress address;  // kNone: there is none
  };
  // EPSV, and PASV where the server does not know that and speaks IPv4.
  Passive EnterPassive(sys::MonotonicNanos deadline);

  // Says good-bye without waiting for the reply. Any thread; does not block.
  void Quit();

  const sys::SocketAddress& server() const { return server_; }

  // Whether it can be part of a command: no line end and no NUL, which would end it early. Pure.
  static bool IsArgument(absl::string_view text);

 private:
  FtpAnswer Failure(const absl::Status& status) const;

  const sys::UniqueFd fd_;
  const sys::SocketAddress server_;
  sys::DeadlineStream stream_;
};

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_FTP_CONTROL_H_
