#include "protocols/http/forwarding.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sluice::http {
namespace {

using Names = absl::InlinedVector<absl::string_view, 8>;

// What Connection lists, but the options that are no fields.
Names NamedByConnection(const Fields& fields) {
  Names names;
  for (const Field& field : fields) {
    if (field.name.size() != 10 || !IsNamed(field, "connection")) continue;
    ForEachListElement(field.value, [&](absl::string_view name) {
      if (!absl::EqualsIgnoreCase(name, "close") && !absl::EqualsIgnoreCase(name, "keep-alive")) names.push_back(name);
    });
  }
  return names;
}

bool Lists(const Names& names, absl::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [&](absl::string_view listed) { return absl::EqualsIgnoreCase(listed, name); });
}

// Ends at each proxy or is written anew, in requests and in answers.
bool EndsHere(absl::string_view name) {
  switch (name.size()) {
    case 2:
      return absl::EqualsIgnoreCase(name, "te");
    case 7:
      return absl::EqualsIgnoreCase(name, "upgrade");
    case 10:
      return absl::EqualsIgnoreCase(name, "connection") || absl::EqualsIgnoreCase(name, "keep-alive");
    case 14:
      return absl::EqualsIgnoreCase(name, "content-length") || absl::EqualsIgnoreCase(name, "http2-settings");
    case 17:
      return absl::EqualsIgnoreCase(name, "transfer-encoding");
    default:
      return absl::StartsWithIgnoreCase(name, "proxy-");
  }
}

// Says who the client is, or whom it came through.
bool Discloses(absl::string_view name) {
  switch (name.size()) {
    case 3:
      return absl::EqualsIgnoreCase(name, "via");
    case 9:
      return absl::EqualsIgnoreCase(name, "forwarded") || absl::EqualsIgnoreCase(name, "x-real-ip") ||
             absl::EqualsIgnoreCase(name, "client-ip");
    case 11:
      return absl::EqualsIgnoreCase(name, "x-client-ip");
    case 14:
      return absl::EqualsIgnoreCase(name, "true-client-ip");
    case 16:
      return absl::EqualsIgnoreCase(name, "cf-connecting-ip");
    default:
      return absl::StartsWithIgnoreCase(name, "x-forwarded") || absl::EqualsIgnoreCase(name, "x-cluster-client-ip");
  }
}

void AppendField(const Field& field, std::string& out) { absl::StrAppend(&out, field.name, ": ", field.value, "\r\n"); }

// RFC 7239 section 6: a node with a port or with brackets is quoted.
void AppendForwarded(const sys::SocketAddress& client, absl::string_view own_name, std::string& out) {
  if (client.is_ip()) {
    absl::StrAppend(&out, "Forwarded: for=\"", client.ToString(), "\";by=\"", own_name, "\"\r\n");
  } else {
    absl::StrAppend(&out, "Forwarded: for=unknown;by=\"", own_name, "\"\r\n");
  }
}

void AppendVia(const RequestHead& request, absl::string_view own_name, std::string& out) {
  absl::StrAppend(&out, "Via: 1.", request.minor_version, " ", own_name, " (sluice)\r\n");
}

void AppendDisclosure(const RequestHead& request, const ForwardingPolicy& policy, const sys::SocketAddress& client,
                      uint32_t random, std::string& out) {
  switch (policy.disclosure) {
    case Disclosure::kNothing:
      return;
    case Disclosure::kForwarded:
      return AppendForwarded(client, policy.own_name, out);
    case Disclosure::kRandom:
      AppendVia(request, policy.own_name, out);
      absl::StrAppend(&out, "X-Forwarded-For: ", sys::SocketAddress::Ipv4(random, 0).IpText(), "\r\n");
      return;
    case Disclosure::kReal:
      AppendVia(request, policy.own_name, out);
      absl::StrAppend(&out, "X-Forwarded-For: ", client.is_ip() ? client.IpText() : "unknown", "\r\n");
      return;
  }
}

// Whether a field of the client that discloses goes on: Via always does unless nothing may, the others where they are
// the kind that we add to.
bool MayDisclose(absl::string_view name, Disclosure disclosure) {
  switch (disclosure) {
    case Disclosure::kForwarded:
      return true;
    case Disclosure::kNothing:
      return false;
    case Disclosure::kRandom:
      return name.size() == 3;
    case Disclosure::kReal:
      return true;
  }
  return false;
}

void AppendPath(const RequestHead& request, bool to_proxy, std::string& out) {
  if (!request.path.empty() && request.path.front() != '?') {
    out.append(request.path.data(), request.path.size());
  } else if (request.path.empty() && request.method == Method::kOptions && request.form == TargetForm::kAbsolute) {
    if (!to_proxy) out.append("*");  // RFC 9112 section 3.2.4
  } else {
    absl::StrAppend(&out, "/", request.path);
  }
}

}  // namespace

void AppendRequestHead(const RequestHead& request, const ForwardingPolicy& policy, const sys::SocketAddress& client,
                       uint32_t random, std::string& out) {
  absl::StrAppend(&out, request.method_text, " ");
  if (policy.to_proxy) absl::StrAppend(&out, "http://", request.authority.ToString(80));
  AppendPath(request, policy.to_proxy, out);
  absl::StrAppend(&out, " HTTP/1.1\r\nHost: ", request.authority.ToString(80), "\r\n");
  const Names named = NamedByConnection(request.fields);
  for (const Field& field : request.fields) {
    if (field.name.size() == 4 && IsNamed(field, "host")) continue;
    if (EndsHere(field.name) || (!named.empty() && Lists(named, field.name))) continue;
    if (Discloses(field.name) && !MayDisclose(field.name, policy.disclosure)) continue;
    // An HTTP/1.0 client cannot be sent a 100 (RFC 9110 section 10.1.1).
    if (request.minor_version == 0 && IsNamed(field, "expect")) continue;
    if (request.max_forwards > 0 && IsNamed(field, "max-forwards")) {
      absl::StrAppend(&out, "Max-Forwards: ", request.max_forwards - 1, "\r\n");
      continue;
    }
    AppendField(field, out);
  }
  if (request.body == BodyKind::kLength) absl::StrAppend(&out, "Content-Length: ", request.body_bytes, "\r\n");
  if (request.body == BodyKind::kChunked) out.append("Transfer-Encoding: chunked\r\n");
  if (!request.upgrade.empty()) absl::StrAppend(&out, "Connection: Upgrade\r\nUpgrade: ", request.upgrade, "\r\n");
  if (policy.to_proxy && !policy.proxy_authorization.empty()) {
    absl::StrAppend(&out, "Proxy-Authorization: ", policy.proxy_authorization, "\r\n");
  }
  AppendDisclosure(request, policy, client, random, out);
  out.append("\r\n");
}

void AppendResponseHead(const ResponseHead& response, const ResponseForm& form, std::string& out) {
  absl::StrAppend(&out, "HTTP/1.1 ", response.status, " ", response.reason, "\r\n");
  const Names named = NamedByConnection(response.fields);
  for (const Field& field : response.fields) {
    const bool challenges = form.challenge && IsNamed(field, "proxy-authenticate");
    if (!challenges && (EndsHere(field.name) || (!named.empty() && Lists(named, field.name)))) continue;
    AppendField(field, out);
  }
  if (response.status == 101) {
    absl::StrAppend(&out, "Connection: Upgrade\r\nUpgrade: ", response.upgrade, "\r\n\r\n");
    return;
  }
  if (response.informational()) {
    out.append("\r\n");
    return;
  }
  if (response.declared.has_length && response.status != 204) {
    absl::StrAppend(&out, "Content-Length: ", response.declared.bytes, "\r\n");
  }
  // RFC 9112 section 6.1: not in a 204, whatever the origin said; a client may wait for the chunks.
  if (form.chunked && response.status != 204) out.append("Transfer-Encoding: chunked\r\n");
  if (response.pins) out.append("Proxy-Support: Session-Based-Authentication\r\n");  // RFC 4559 section 6
  if (!form.keep_alive) {
    out.append("Connection: close\r\n");
  } else if (form.client_minor_version == 0) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

bool AppendTrailer(absl::string_view lines, std::string& out) {
  Fields fields;
  if (!ParseFields(lines, fields).ok()) return false;
  for (const Field& field : fields) {
    if (EndsHere(field.name) || Discloses(field.name)) continue;
    bool kept_out = false;
    for (const char* name :
         {"host", "authorization", "cookie", "set-cookie", "www-authenticate", "content-encoding", "content-type",
          "content-range", "trailer", "expect", "max-forwards", "cache-control", "location"}) {
      kept_out = kept_out || IsNamed(field, name);
    }
    if (!kept_out) AppendField(field, out);
  }
  return true;
}

bool HasPassedHere(const RequestHead& request, absl::string_view own_name) {
  // Forwarded is what we add by default. One entry may be a namesake's; a loop adds one each time round.
  bool found = false;
  int times = 0;
  for (const Field& field : request.fields) {
    if (field.name.size() == 9 && IsNamed(field, "forwarded")) {
      const std::string ours = absl::StrCat(";by=\"", own_name, "\"");
      for (size_t at = 0; (at = field.value.find(ours, at)) != absl::string_view::npos; at += ours.size()) ++times;
    }
    if (field.name.size() != 3 || !IsNamed(field, "via")) continue;
    // "1.1 NAME (comment)", comma-separated; a comma in a comment only makes an element that is no entry.
    ForEachListElement(field.value, [&](absl::string_view entry) {
      const size_t blank = entry.find_first_of(" \t");
      if (blank == absl::string_view::npos) return;
      absl::string_view name = entry.substr(entry.find_first_not_of(" \t", blank));
      name = name.substr(0, name.find_first_of(" \t"));
      found = found || absl::EqualsIgnoreCase(name, own_name);
    });
  }
  return found || times > 1;
}

}  // namespace sluice::http
