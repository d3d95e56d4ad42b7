#include "protocols/http/gate.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocols/http/forwarding.h"
#include "protocols/http/result.h"
#include "protocols/service/self_loops.h"

namespace sluice::http {
namespace {

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

Gate::Verdict Refusal(int status, const char* error, std::string text, accounting::ResultCode result) {
  Gate::Verdict verdict;
  verdict.answer.status = status;
  verdict.answer.error = error;
  verdict.answer.text = std::move(text);
  verdict.result = result;
  return verdict;
}

// RFC 9110 section 9.3.8: whoever a TRACE ends at gives it back. Without the fields that it came with, which may be
// somebody's secrets.
Gate::Verdict EndsHere(const RequestHead& request) {
  Gate::Verdict verdict;
  verdict.answer.status = 200;
  verdict.answer.text = request.method == Method::kTrace
                            ? "TRACE ended at this proxy, as Max-Forwards asked."
                            : "This is a proxy; OPTIONS ended here, as Max-Forwards asked.";
  verdict.result = result::kAnsweredByProxy;
  return verdict;
}

}  // namespace

Gate::Verdict Gate::OfRequest(const RequestHead& request) const {
  if (context_->options->credentials == service::ClientCredentials::kRequired && !HasBasicCredentials(request)) {
    Verdict verdict = Refusal(407, "http_request_denied", "This proxy asks for a name and a password.",
                              accounting::result::kUserRequired);
    verdict.answer.more_fields = "Proxy-Authenticate: Basic realm=\"proxy\", charset=\"UTF-8\"\r\n";
    return verdict;
  }
  if (HasPassedHere(request, own_name_)) {
    return Refusal(508, "proxy_loop_detected", "The request has passed this proxy before.", accounting::result::kLoop);
  }
  if (request.max_forwards == 0) return EndsHere(request);
  if (request.scheme == Scheme::kFtp && request.method != Method::kGet && request.method != Method::kHead &&
      request.method != Method::kPut) {
    return Refusal(501, "http_request_error", "Of an ftp URL there are GET, HEAD and PUT.",
                   accounting::result::kNotImplemented);
  }
  if (request.scheme == Scheme::kFtp && context_->options->tls.client != nullptr) {
    return Refusal(501, "http_request_error",
                   "This proxy speaks TLS to all upstreams, which ftp URLs have no place for.",
                   accounting::result::kNotImplemented);
  }
  return {};
}

bool Gate::LeadsToUs(const sys::SocketAddress& address, int client) const {
  if (context_->own_proxies != nullptr && service::ReachesAny(address, *context_->own_proxies)) return true;
  return service::IsWhereItCameIn(address, context_->port, client);
}

Gate::Verdict Gate::OfAddresses(absl::string_view host, const std::vector<sys::SocketAddress>& addresses, int client,
                                sys::SocketAddress& target) const {
  for (const sys::SocketAddress& address : addresses) {
    if (!LeadsToUs(address, client)) continue;
    target = address;
    return Refusal(508, "proxy_loop_detected", absl::StrCat(host, " port ", address.port(), " is this proxy itself."),
                   accounting::result::kLoop);
  }
  return {};
}

}  // namespace sluice::http
