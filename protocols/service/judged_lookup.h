#ifndef SLUICE_PROTOCOLS_SERVICE_JUDGED_LOOKUP_H_
#define SLUICE_PROTOCOLS_SERVICE_JUDGED_LOOKUP_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "protocols/access/operation.h"
#include "protocols/access/request_facts.h"
#include "protocols/accounting/traffic_record.h"
#include "protocols/auth/hearing.h"
#include "protocols/auth/identity.h"
#include "protocols/auth/judgement.h"
#include "protocols/dns/result.h"
#include "protocols/service/service_context.h"

namespace sluice::service {

// A request that has been judged, and the addresses that it may be connected to.
struct JudgedLookup {
  auth::Judgement judgement;  // never kNeedsAddress
  // Where it is allowed: the addresses of the target, with its port, that the rules allow; or why there are none.
  dns::Result result;
};

// The way of every request: who is it and may it, as far as can be told; then the addresses of its target; then the
// rules again for each of these (design: rules twice). Only what is allowed comes out, and the addresses are used as
// they are: asking for them again would let the answer change behind the rules.
//
// `facts` has the target as the client said it: its address, or a host (a name, or an address as text) and a port. A
// name without addresses is judged as such: denied, or allowed with why there are none.
//
//   worker:  if (auto judged = TryJudgeAndLookUp(context, hearing, facts)) ... else hand `hearing` to a thread:
//   thread:  JudgedLookup judged = JudgeAndLookUp(context, hearing, facts);
//
// `hearing` may be null: the service is open.

// Never blocks. Nothing: a password has to be checked, or a name server asked.
std::optional<JudgedLookup> TryJudgeAndLookUp(const ServiceContext& context, auth::Hearing* hearing,
                                              const access::RequestFacts& facts);

// Handshake thread only.
JudgedLookup JudgeAndLookUp(const ServiceContext& context, auth::Hearing* hearing, const access::RequestFacts& facts);

// A hearing before the gate that counts now: that of `context`, or what a reload has put in its place. Null where that
// is open.
std::unique_ptr<auth::Hearing> HearingFor(const ServiceContext& context, auth::Claim claim, int64_t began_wall_nanos);

// What a record says of its request. The views are the record's.
access::RequestFacts FactsOf(const accounting::TrafficRecord& record, access::Operation operation, uint16_t port);

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_JUDGED_LOOKUP_H_
