#include "protocols/http/http_service.h"

#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sluice::http {
namespace {

// A name for `by` and Via: only what is a host goes in, since both are read by others.
std::string HostName() {
  char name[256] = {};
  Authority authority;
  if (gethostname(name, sizeof(name) - 1) != 0 || !ParseAuthority(name, 80, authority) || authority.ipv6) {
    return "localhost";
  }
  return std::string(authority.host);
}

bool HasBasicCredentials(const RequestHead& request) {
  for (const Field& field : request.fields) {
    if (field.name.size() != 19 || !IsNamed(field, "proxy-authorization")) continue;
    if (!absl::StartsWithIgnoreCase(field.value, "basic ")) return false;
    std::string decoded;
    const absl::string_view encoded = absl::StripLeadingAsciiWhitespace(field.value.substr(6));
    return absl::Base64Unescape(encoded, &decoded) && decoded.find(':') != std::string::npos;
  }
  return false;
}

HttpService::Verdict Refusal(int status, const char* error, std::string text, accounting::ResultCode result) {
  HttpService::Verdict verdict;
  verdict.answer.status = status;
  verdict.answer.error = error;
  verdict.answer.text = std::move(text);
  verdict.result = result;
  return verdict;
}

// RFC 9110 section 9.3.8: whoever a TRACE ends at gives it back. Without the fields that it came with, which may be
// somebody's secrets.
HttpService::Verdict EndsHere(const RequestHead& request) {
  HttpService::Verdict verdict;
  verdict.answer.status = 200;
  verdict.answer.text = request.method == Method::kTrace
                            ? "TRACE ended at this proxy, as Max-Forwards asked."
                            : "This is a proxy; OPTIONS ended here, as Max-Forwards asked.";
  verdict.result = result::kAnsweredByProxy;
  return verdict;
}

}  // namespace

HttpService::HttpService(std::shared_ptr<const service::ServiceContext> context) : context_(std::move(context)) {
  policy_.disclosure = options().http.disclosure;
  policy_.own_name = absl::StrCat(HostName(), ":", context_->port);
  exchange_options_ = options().relay;
  exchange_options_.idle_nanos = options().timeouts.connection_short;
}

IdleUpstreams* HttpService::IdleOf(const relay::Worker& worker) const {
  if (!options().http.keep_upstreams || worker.index() >= kMostWorkers) return nullptr;
  std::unique_ptr<IdleUpstreams>& idle = idle_[static_cast<size_t>(worker.index())];
  if (idle == nullptr) idle = std::make_unique<IdleUpstreams>();
  return idle.get();
}

HttpService::Verdict HttpService::Examine(const RequestHead& request) const {
  if (options().credentials == service::ClientCredentials::kRequired && !HasBasicCredentials(request)) {
    Verdict verdict = Refusal(407, "http_request_denied", "This proxy asks for a name and a password.",
                              accounting::result::kUserRequired);
    verdict.answer.more_fields = "Proxy-Authenticate: Basic realm=\"proxy\", charset=\"UTF-8\"\r\n";
    return verdict;
  }
  if (HasPassedHere(request, policy_.own_name)) {
    return Refusal(508, "proxy_loop_detected", "The request has passed this proxy before.", accounting::result::kLoop);
  }
  if (request.max_forwards == 0) return EndsHere(request);
  if (request.form == TargetForm::kAbsolute && request.scheme == Scheme::kFtp) {
    return Refusal(501, "http_request_error", "ftp URLs are not served by this proxy.",
                   accounting::result::kNotImplemented);
  }
  return {};
}

std::string RouteOf(const Authority& authority) {
  return absl::AsciiStrToLower(absl::StrCat(authority.host, ":", authority.port));
}

}  // namespace sluice::http
