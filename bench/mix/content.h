#ifndef SLUICE_BENCH_MIX_CONTENT_H_
#define SLUICE_BENCH_MIX_CONTENT_H_

#include <sys/uio.h>

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice::bench::mix {

// What answers are made of: byte i of the answer of exchange `id` is (id + i) mod 251. 251 is prime, so a piece that is
// lost, doubled, moved, or another exchange's, shows wherever the buffers of a proxy end.
constexpr uint64_t kContentPeriod = 251;

// Fills `pieces` with the answer's bytes from `offset` on, `bytes` of them at most; how many pieces were used. They
// lie in memory that lives as long as the process.
constexpr int kMostPieces = 4;
constexpr int64_t kPieceBytes = 260 * kContentPeriod;
int ContentPieces(uint64_t id, int64_t offset, int64_t bytes, iovec* pieces);

// Whether `bytes` can be the answer's content at `offset`. Cheap: looks at the first and last 8 bytes of what is given,
// and at 8 more in each 256, so every place where two pieces meet is seen, but not every byte.
bool ContentFits(uint64_t id, int64_t offset, absl::string_view bytes);

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_CONTENT_H_
