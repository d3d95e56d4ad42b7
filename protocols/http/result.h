#ifndef SLUICE_PROTOCOLS_HTTP_RESULT_H_
#define SLUICE_PROTOCOLS_HTTP_RESULT_H_

#include "protocols/accounting/result_code.h"

namespace sluice::http::result {

// What access records say of HTTP exchanges that failed as such. (Connections that failed have the codes of
// accounting/result_code.h.)

using accounting::ResultCode;

inline constexpr ResultCode kBadRequest{501, "bad_request"};
inline constexpr ResultCode kHeadTooLong{516, "head_too_long"};
inline constexpr ResultCode kRequestTimeout{508, "request_timeout"};     // the client was too slow
inline constexpr ResultCode kRequestCut{509, "request_cut"};             // the client left in the middle of a request
inline constexpr ResultCode kNoAnswer{511, "no_answer"};                 // the upstream closed without one
inline constexpr ResultCode kAnswerTimeout{512, "answer_timeout"};       // the upstream was silent
inline constexpr ResultCode kBadAnswer{513, "bad_answer"};               // what it sent is no answer
inline constexpr ResultCode kAnswerCut{514, "answer_cut"};               // it ended in the middle of one
inline constexpr ResultCode kFtpRefused{515, "ftp_refused"};             // the FTP server said no
inline constexpr ResultCode kAnsweredByProxy{518, "answered_by_proxy"};  // OPTIONS and TRACE with Max-Forwards 0

}  // namespace sluice::http::result

#endif  // SLUICE_PROTOCOLS_HTTP_RESULT_H_
