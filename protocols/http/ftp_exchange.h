#ifndef SLUICE_PROTOCOLS_HTTP_FTP_EXCHANGE_H_
#define SLUICE_PROTOCOLS_HTTP_FTP_EXCHANGE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protocols/access/operation.h"
#include "protocols/accounting/result_code.h"
#include "protocols/auth/hearing.h"
#include "protocols/http/answer.h"
#include "protocols/http/ftp_answer.h"
#include "protocols/http/ftp_page.h"
#include "protocols/http/ftp_target.h"
#include "protocols/http/ftp_transfer.h"
#include "protocols/http/http_service.h"
#include "protocols/http/request_head.h"
#include "protocols/http/serve.h"
#include "protocols/service/exchange_observer.h"
#include "protocols/upstream/ftp/control.h"
#include "relay/transform.h"
#include "relay/worker.h"
#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::http {

// A request for an ftp URL: GET of a file or folder, HEAD, PUT. One thread talks to the FTP server as far as the data
// connection; a file goes to a worker then (FtpTransfer), a folder is read here and becomes a page. Whatever fails is
// an answer of HTTP, after which the client's connection ends.
//
//   connect  greeting  USER PASS  TYPE   folder: CWD  passive  MLSD or LIST
//                                        file:   SIZE passive  RETR    (a folder after all: 301 with a "/")
//                                        PUT:         passive  STOR
//
// Each reply has STRING_SHORT, all together have CHAIN. Ownership: by the task that runs it.
class FtpExchange {
 public:
  // A folder's listing; what is longer is cut. 10,000 entries of 100 bytes.
  static constexpr size_t kMostListingBytes = 1024 * 1024;

  // `end`: where the head ends in the arrival's bytes. `hearing`: null where everybody may. Worker only.
  FtpExchange(relay::Worker& worker, std::shared_ptr<const HttpService> service, RequestArrival arrival,
              const RequestHead& request, FtpTarget target, size_t end, std::unique_ptr<auth::Hearing> hearing);

  // Handshake thread only (may block).
  void Run();
  // There is no thread for it. Brief; any thread.
  void Shed();

 private:
  bool Resolve(std::vector<sys::SocketAddress>& addresses);
  bool Connect();
  sys::ErrnoOr<sys::UniqueFd> Dial(const sys::SocketAddress& address, sys::MonotonicNanos deadline);
  bool Login();
  bool OpenData();
  void Folder();
  bool List(absl::string_view verb, upstream::FtpAnswer& answer);
  bool ReadListing(std::string& listing, bool& whole);
  void File();
  void HeadOfFile(const upstream::FtpAnswer& size);
  void NotAFile(const upstream::FtpAnswer& answer);
  void Store();
  void Transfer(bool upload, int64_t bytes);

  upstream::FtpAnswer Ask(absl::string_view verb, absl::string_view argument);
  void Refuse(const upstream::FtpAnswer& answer, FtpStep step);
  void Say(Answer answer, accounting::ResultCode result, accounting::Phase phase, int error);
  void SayBytes(std::string bytes);
  // The deadline of what comes next.
  sys::MonotonicNanos Soon() const;

  relay::Worker& worker_;
  const std::shared_ptr<const HttpService> service_;
  sys::UniqueFd client_fd_;
  std::unique_ptr<relay::Transform> transform_;
  relay::Admission admission_;
  std::unique_ptr<service::ExchangeObserver> record_;
  FtpClient client_;
  const Method method_;
  const bool expects_continue_;
  const std::string host_, url_path_, title_;
  const uint16_t port_;
  const FtpTarget target_;
  const access::Operation operation_;
  const std::unique_ptr<auth::Hearing> hearing_;
  sys::MonotonicNanos deadline_ = 0;
  std::unique_ptr<upstream::FtpControl> control_;
  sys::UniqueFd data_;
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_FTP_EXCHANGE_H_
