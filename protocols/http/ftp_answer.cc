#include "protocols/http/ftp_answer.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protocols/http/result.h"

namespace sluice::http {
namespace {

using upstream::FtpAnswer;

const char* NameOf(FtpStep step) {
  switch (step) {
    case FtpStep::kGreeting:
      return "its greeting";
    case FtpStep::kLogin:
      return "the login";
    case FtpStep::kFolder:
      return "the folder";
    case FtpStep::kFile:
      return "the file";
    case FtpStep::kPassive:
      return "a passive data connection";
    case FtpStep::kData:
      return "the data";
    case FtpStep::kStore:
      return "the upload";
  }
  return "";
}

FtpRefusal Make(int status, const char* error, std::string text, accounting::ResultCode result) {
  FtpRefusal refusal;
  refusal.answer.status = status;
  refusal.answer.error = error;
  refusal.answer.text = std::move(text);
  refusal.result = result;
  return refusal;
}

int StatusOf(int code, FtpStep step) {
  switch (code) {
    case 421:
    case 425:
    case 426:
    case 434:
    case 450:
    case 452:
      return 503;
    case 332:
    case 430:
    case 530:
    case 532:
      return step == FtpStep::kLogin ? 401 : 403;
    case 550:
      if (step == FtpStep::kStore) return 403;
      return step == FtpStep::kFile || step == FtpStep::kFolder ? 404 : 502;
    case 552:
      return 413;
    case 553:
      return 403;
    default:
      return 502;
  }
}

}  // namespace

FtpRefusal RefusalOf(const FtpAnswer& answer, FtpStep step, absl::string_view host) {
  const std::string whom = absl::StrCat("The FTP server ", host);
  switch (answer.fault) {
    case FtpAnswer::Fault::kTimeout:
      return Make(504, "connection_read_timeout", absl::StrCat(whom, " did not answer in time (", NameOf(step), ")."),
                  result::kAnswerTimeout);
    case FtpAnswer::Fault::kClosed:
      return Make(502, "connection_terminated", absl::StrCat(whom, " closed the connection (", NameOf(step), ")."),
                  result::kNoAnswer);
    case FtpAnswer::Fault::kFailed:
      return Make(502, "connection_terminated",
                  absl::StrCat(whom, " (", NameOf(step), "): ", std::strerror(answer.error), "."), result::kNoAnswer);
    case FtpAnswer::Fault::kBadReply:
      return Make(502, "destination_unavailable", absl::StrCat(whom, " makes no sense (", NameOf(step), ")."),
                  result::kBadAnswer);
    case FtpAnswer::Fault::kNone:
      break;
  }
  const int status = StatusOf(answer.reply.code, step);
  FtpRefusal refusal =
      Make(status, status >= 500 ? "destination_unavailable" : "",
           absl::StrCat(whom, " said (", NameOf(step), "): ", answer.reply.code, " ", answer.reply.text),
           result::kFtpRefused);
  if (status == 401) {
    refusal.answer.more_fields =
        absl::StrCat("WWW-Authenticate: Basic realm=\"ftp ", host, "\", charset=\"UTF-8\"\r\n");
  }
  return refusal;
}

}  // namespace sluice::http
