#ifndef SLUICE_PROTOCOLS_HTTP_FTP_TARGET_H_
#define SLUICE_PROTOCOLS_HTTP_FTP_TARGET_H_

#include <string>

#include "protocols/http/head.h"
#include "protocols/http/request_head.h"

namespace sluice::http {

// What a request for an ftp URL asks an FTP server for (RFC 1738 section 3.2).
struct FtpTarget {
  // Of the URL, else of an Authorization field (Basic), else those that servers let everybody in with.
  std::string user = "anonymous";
  std::string password = "anonymous@";
  bool anonymous = true;

  std::string path;      // decoded, without the "/" that ends the host and the one that ends a folder; empty: the
                         // folder that the user begins in
  bool folder = false;   // it ends in "/", is empty, or ";type=d" says so
  bool as_text = false;  // ";type=a": the server converts line ends, and a size means nothing
};

// Refused: what would end a command early when it is decoded (line ends, NUL), a "%" that begins no byte, and a type
// that is none.
//
// Pure. Thread-safe.
HeadError ParseFtpTarget(const RequestHead& request, FtpTarget& target);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_FTP_TARGET_H_
