#ifndef SLUICE_PROTOCOLS_HTTP_FTP_ANSWER_H_
#define SLUICE_PROTOCOLS_HTTP_FTP_ANSWER_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "protocols/accounting/result_code.h"
#include "protocols/http/answer.h"
#include "protocols/upstream/ftp/control.h"

namespace sluice::http {

// What an FTP server was asked for when it refused.
enum class FtpStep : uint8_t { kGreeting, kLogin, kFolder, kFile, kPassive, kData, kStore };

struct FtpRefusal {
  Answer answer;
  accounting::ResultCode result;
};

// The answer for a client whose FTP server refused, ended, was silent, or made no sense: its code says what it means in
// HTTP, its text is passed on.
//
//   420s, 450: 503          430, 530, 532: 401 where a login can help, else 403
//   550 of a file or folder: 404; of a STOR, 553: 403      552: 413      anything else: 502
//
// Pure. Thread-safe.
FtpRefusal RefusalOf(const upstream::FtpAnswer& answer, FtpStep step, absl::string_view host);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_FTP_ANSWER_H_
