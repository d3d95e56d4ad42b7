#include <algorithm>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "protocols/access/request_facts.h"
#include "sys/thread/clock.h"

namespace sluice::access {
namespace {

// Loaded once; looking it up takes no lock afterwards, unlike localtime_r.
const absl::TimeZone& Zone() {
  static const absl::TimeZone zone = absl::LocalTimeZone();
  return zone;
}

}  // namespace

void LocalTime::Prepare() { Zone(); }

LocalTime LocalTime::At(int64_t wall_nanos) {
  const absl::CivilSecond civil = absl::ToCivilSecond(absl::FromUnixNanos(wall_nanos), Zone());
  LocalTime result;
  // absl counts from Monday.
  result.weekday = static_cast<uint8_t>((static_cast<int>(absl::GetWeekday(civil)) + 1) % 7);
  result.second = civil.hour() * 3600 + civil.minute() * 60 + civil.second();
  return result;
}

}  // namespace sluice::access
