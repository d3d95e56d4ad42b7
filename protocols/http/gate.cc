#include "protocols/http/gate.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocols/access/operation.h"
#include "protocols/http/credentials.h"
#include "protocols/http/forwarding.h"
#include "protocols/http/result.h"
#include "protocols/service/self_loops.h"

namespace sluice::http {
namespace {

access::Operation OperationOf(const RequestHead& request) {
  if (request.form == TargetForm::kAbsolute && request.scheme == Scheme::kFtp) {
    if (request.method == Method::kPut) return access::Operation::kFtpPut;
    const bool folder =
        request.path.empty() || absl::EndsWith(request.path, "/") || absl::EndsWithIgnoreCase(request.path, ";type=d");
    return folder ? access::Operation::kFtpList : access::Operation::kFtpGet;
  }
  switch (request.method) {
    case Method::kGet:
      return access::Operation::kHttpGet;
    case Method::kHead:
      return access::Operation::kHttpHead;
    case Method::kPost:
      return access::Operation::kHttpPost;
    case Method::kPut:
      return access::Operation::kHttpPut;
    case Method::kConnect:
      return access::Operation::kHttpConnect;
    case Method::kDelete:
    case Method::kOptions:
    case Method::kTrace:
    case Method::kPatch:
    case Method::kOther:
      break;
  }
  return access::Operation::kHttpOther;
}

bool InsistsOnCredentials(const service::ServiceOptions& options) {
  return options.credentials == service::ClientCredentials::kRequired ||
         options.credentials == service::ClientCredentials::kVerified;
}

Gate::Verdict Refusal(int status, const char* error, std::string text, accounting::ResultCode result) {
  Gate::Verdict verdict;
  verdict.answer.status = status;
  verdict.answer.error = error;
  verdict.answer.text = std::move(text);
  verdict.result = result;
  return verdict;
}

Gate::Verdict AskForCredentials(accounting::ResultCode code) {
  Gate::Verdict verdict = Refusal(407, "http_request_denied", "This proxy asks for a name and a password.", code);
  verdict.answer.more_fields = "Proxy-Authenticate: Basic realm=\"proxy\", charset=\"UTF-8\"\r\n";
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
  BasicCredentials credentials;
  if (InsistsOnCredentials(*context_->options) &&
      !ParseBasicCredentials(AuthorizationOf(request.fields), credentials)) {
    return AskForCredentials(accounting::result::kUserRequired);
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

Gate::Verdict Gate::OfDenial(accounting::ResultCode code) const {
  if (code.number >= accounting::result::kTrafficLimit.number) {
    return Refusal(503, "connection_limit_reached", "A limit of this proxy is reached.", code);
  }
  const bool asks = context_->options->credentials != service::ClientCredentials::kNever;
  if (code.number != accounting::result::kDenied.number && asks) return AskForCredentials(code);
  return Refusal(403, "http_request_denied", "The rules of this proxy do not allow the request.", code);
}

access::RequestFacts FactsOf(const RequestHead& request, const sys::SocketAddress& client) {
  access::RequestFacts facts;
  facts.client = client;
  facts.host = request.authority.host;
  facts.port = request.authority.port;
  facts.operation = OperationOf(request);
  return facts;
}

auth::Claim ClaimOf(const RequestHead& request) {
  BasicCredentials credentials;
  if (!ParseBasicCredentials(AuthorizationOf(request.fields), credentials)) return {};
  return {std::move(credentials.user), std::move(credentials.password)};
}

}  // namespace sluice::http
