#include "protocols/dns/result.h"

#include "absl/strings/str_cat.h"

namespace sluice::dns {
namespace {

struct OutcomeText {
  const char* name;
  absl::StatusCode code;
  const char* reason;
};

OutcomeText TextOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return {"ok", absl::StatusCode::kOk, ""};
    case Outcome::kNotFound:
      return {"not_found", absl::StatusCode::kNotFound, "no such name (NXDOMAIN)"};
    case Outcome::kNoData:
      return {"no_data", absl::StatusCode::kNotFound, "the name has no address of the wanted family"};
    case Outcome::kServerFailure:
      return {"server_failure", absl::StatusCode::kUnavailable, "no name server could answer"};
    case Outcome::kRefused:
      return {"refused", absl::StatusCode::kUnavailable, "the name servers refuse to answer"};
    case Outcome::kMalformed:
      return {"malformed", absl::StatusCode::kUnavailable, "the name servers' answers are malformed"};
    case Outcome::kTimeout:
      return {"timeout", absl::StatusCode::kDeadlineExceeded, "no name server answered in time"};
    case Outcome::kInvalidName:
      return {"invalid_name", absl::StatusCode::kInvalidArgument, "not a host name"};
    case Outcome::kCancelled:
      return {"cancelled", absl::StatusCode::kCancelled, "the resolver is shutting down"};
  }
  return {"unknown", absl::StatusCode::kInternal, "unknown"};
}

}  // namespace

const char* OutcomeName(Outcome outcome) { return TextOf(outcome).name; }

absl::Status OutcomeStatus(Outcome outcome, absl::string_view name, absl::string_view detail) {
  const OutcomeText text = TextOf(outcome);
  return absl::Status(text.code, absl::StrCat("cannot resolve ", name, ": ", detail.empty() ? text.reason : detail));
}

Result FailedResult(Outcome outcome, absl::string_view name, absl::string_view detail) {
  Result result;
  result.outcome = outcome;
  result.status = OutcomeStatus(outcome, name, detail);
  return result;
}

}  // namespace sluice::dns
