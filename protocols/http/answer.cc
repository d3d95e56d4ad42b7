#include "protocols/http/answer.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sluice::http {
namespace {

const char* ConnectErrorType(const relay::EndReason& reason) {
  if (reason.code == relay::EndCode::kConnectTimeout || reason.error == ETIMEDOUT) return "connection_timeout";
  if (reason.code != relay::EndCode::kConnectFailed) return "proxy_internal_error";
  switch (reason.error) {
    case ECONNREFUSED:
      return "connection_refused";
    case ECONNRESET:
    case ECONNABORTED:
      return "connection_terminated";
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
      return "destination_ip_unroutable";
    case EADDRNOTAVAIL:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return "proxy_internal_error";
    default:
      return "destination_unavailable";
  }
}

int ConnectStatus(const relay::EndReason& reason) {
  if (reason.code == relay::EndCode::kConnectTimeout || reason.error == ETIMEDOUT) return 504;
  if (reason.code != relay::EndCode::kConnectFailed) return 503;
  switch (reason.error) {
    case EADDRNOTAVAIL:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return 503;
    default:
      return 502;
  }
}

}  // namespace

const char* ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 301:
      return "Moved Permanently";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 407:
      return "Proxy Authentication Required";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 508:
      return "Loop Detected";
    default:
      return "Error";
  }
}

void AppendAsHtml(absl::string_view text, std::string& out) {
  for (const char c : text) {
    switch (c) {
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '&':
        out.append("&amp;");
        break;
      case '"':
        out.append("&quot;");
        break;
      default:
        out.push_back(absl::ascii_iscntrl(static_cast<unsigned char>(c)) ? '?' : c);
    }
  }
}

std::string ToBytes(const Answer& answer) {
  const std::string title = absl::StrCat(answer.status, " ", ReasonPhrase(answer.status));
  std::string page = absl::StrCat("<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>", title,
                                  "</title></head><body><h1>", title, "</h1><p>");
  AppendAsHtml(answer.text, page);
  page.append("</p></body></html>\n");
  std::string bytes =
      absl::StrCat("HTTP/1.1 ", title, "\r\nContent-Type: text/html\r\nContent-Length: ", page.size(), "\r\n");
  if (!answer.keep_alive) {
    bytes.append("Connection: close\r\n");
  } else if (answer.client_minor_version == 0) {
    bytes.append("Connection: keep-alive\r\n");
  }
  if (answer.error[0] != '\0') absl::StrAppend(&bytes, "Proxy-Status: sluice; error=", answer.error, "\r\n");
  absl::StrAppend(&bytes, answer.more_fields, "\r\n");
  if (!answer.head_only) bytes.append(page);
  return bytes;
}

Answer AnswerToConnectFailure(const relay::EndReason& reason, absl::string_view where) {
  Answer answer;
  answer.status = ConnectStatus(reason);
  answer.error = ConnectErrorType(reason);
  if (reason.code == relay::EndCode::kConnectTimeout) {
    answer.text = absl::StrCat("Connecting to ", where, " took too long.");
  } else if (reason.error != 0) {
    answer.text = absl::StrCat("Cannot connect to ", where, ": ", std::strerror(reason.error), ".");
  } else {
    answer.text = absl::StrCat("Cannot connect to ", where, ".");
  }
  return answer;
}

Answer AnswerToNoAddress(dns::Outcome outcome, absl::string_view host) {
  Answer answer;
  const bool late = outcome == dns::Outcome::kTimeout;
  answer.status = late ? 504 : 502;
  answer.error = late ? "dns_timeout" : "dns_error";
  answer.text = late ? absl::StrCat("The name servers did not answer in time for ", host, ".")
                     : absl::StrCat("The name ", host, " has no address: ", dns::OutcomeName(outcome), ".");
  return answer;
}

}  // namespace sluice::http
