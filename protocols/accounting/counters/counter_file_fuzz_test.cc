// Input: the contents of a counter file. What is read without an error is written and read again as the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protocols/accounting/counters/counter_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::accounting;  // NOLINT: the entry point itself must lie outside
  const absl::string_view contents(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<std::vector<CounterRecord>> records = DecodeCounters(contents);
  if (!records.ok()) return 0;
  const absl::StatusOr<std::vector<CounterRecord>> again = DecodeCounters(EncodeCounters(*records));
  if (!again.ok() || *again != *records) std::abort();
  return 0;
}
