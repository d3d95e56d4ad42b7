#include "protocols/upstream/hop_result.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "sys/base/errno_status.h"

namespace sluice::upstream {
namespace {

using accounting::ResultCode;
namespace result = accounting::result;

// The codes of one kind of parent.
struct Codes {
  ResultCode failed, bad_reply, refused, auth_failed;
};

Codes CodesOf(const Parent& parent) {
  switch (parent.type) {
    case ParentType::kSocks4:
      return {result::kSocks4ParentFailed, result::kSocks4ParentBadReply, result::kSocks4ParentRefused,
              result::kSocks4ParentAuthFailed};
    case ParentType::kSocks5:
      return {result::kSocks5ParentFailed, result::kSocks5ParentBadReply, result::kSocks5ParentRefused,
              result::kSocks5ParentAuthFailed};
    default:
      return {result::kConnectParentFailed, result::kConnectParentBadReply, result::kConnectParentRefused,
              result::kConnectParentAuthFailed};
  }
}

// RFC 1928 section 6.
int ErrorOfSocks5(int code) {
  switch (code) {
    case 2:
      return EACCES;
    case 3:
      return ENETUNREACH;
    case 4:
      return EHOSTUNREACH;
    case 5:
      return ECONNREFUSED;
    case 6:
      return ETIMEDOUT;
    default:
      return 0;
  }
}

int ErrorOfHttp(int status) {
  switch (status) {
    case 403:
      return EACCES;
    case 404:
    case 502:
      return EHOSTUNREACH;
    case 504:
      return ETIMEDOUT;
    default:
      return 0;
  }
}

HopVerdict JudgeRefusal(const Parent& parent, int code) {
  HopVerdict verdict;
  verdict.result = CodesOf(parent).refused;
  verdict.what = absl::StrCat("refuses (", code, ")");
  switch (parent.type) {
    case ParentType::kSocks4:
      // 91 is everything: the destination's fault or the parent's, who knows. It has spoken, so it lives.
      verdict.next_is_at_fault = true;
      break;
    case ParentType::kSocks5:
      verdict.error = ErrorOfSocks5(code);
      // 1 (general failure), 7 and 8 (it cannot do such a thing) are its own.
      verdict.parent_is_at_fault = code == 1 || code >= 7;
      verdict.next_is_at_fault = code >= 3 && code <= 6;
      break;
    default:
      verdict.error = ErrorOfHttp(code);
      verdict.parent_is_at_fault = code == 500 || code == 503;
      verdict.next_is_at_fault = code == 404 || code == 502 || code == 504;
      break;
  }
  return verdict;
}

}  // namespace

HopVerdict JudgeFault(const Parent& parent, const HopHandshake& handshake) {
  const Codes codes = CodesOf(parent);
  HopVerdict verdict;
  switch (handshake.fault()) {
    case HopFault::kCannotAsk:
      verdict.result = codes.refused;
      verdict.error = EAFNOSUPPORT;
      verdict.what = "cannot be asked for such an address";
      return verdict;
    case HopFault::kBadReply:
      verdict.result = codes.bad_reply;
      verdict.what = "does not speak its protocol";
      verdict.parent_is_at_fault = true;
      return verdict;
    case HopFault::kAuthFailed:
      verdict.result = codes.auth_failed;
      verdict.what = absl::StrCat("does not take the credentials (", handshake.code(), ")");
      // The client's own credentials are no fault of the parent's.
      verdict.parent_is_at_fault = !parent.clients_credentials;
      return verdict;
    case HopFault::kRefused:
      return JudgeRefusal(parent, handshake.code());
    case HopFault::kNone:
      break;
  }
  verdict.result = result::kInternal;
  return verdict;
}

HopVerdict JudgeSilence(const Parent& parent, const HopHandshake& handshake, int error) {
  HopVerdict verdict;
  if (error == ETIMEDOUT) {
    verdict.result = result::kChainTimeout;
    verdict.error = error;
    verdict.what = "does not answer";
    verdict.parent_is_at_fault = !handshake.asked();
    return verdict;
  }
  verdict.result = CodesOf(parent).failed;
  verdict.error = error;
  verdict.what = error == 0 ? "ended the connection" : absl::StrCat("is gone: ", sys::ErrnoText(error));
  verdict.parent_is_at_fault = error != ECANCELED;
  return verdict;
}

bool PassesName(const Parent& parent) {
  return parent.by_name || parent.type == ParentType::kHttp || parent.type == ParentType::kRedirect;
}

}  // namespace sluice::upstream
