// Input: a byte that chooses the cuts, then a chunked body. What it decodes to does not depend on the cuts, and what is
// written anew decodes to the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/http/chunked.h"

namespace sluice::http {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

struct Decoded {
  ChunkReader::Kind kind = ChunkReader::Kind::kMore;
  size_t taken = 0;
  std::string data, trailer, rewritten;
};

Decoded Decode(absl::string_view bytes, size_t piece) {
  Decoded result;
  ChunkReader reader;
  while (result.taken < bytes.size()) {
    const absl::string_view now = bytes.substr(result.taken, piece);
    const ChunkReader::Piece got = reader.Next(now);
    Check(got.taken <= now.size());
    result.taken += got.taken;
    result.kind = got.kind;
    if (got.kind == ChunkReader::Kind::kChunk) AppendChunkLine(got.size, result.rewritten);
    if (got.kind == ChunkReader::Kind::kData) {
      result.data.append(got.data.data(), got.data.size());
      result.rewritten.append(got.data.data(), got.data.size());
      if (got.last) result.rewritten.append("\r\n");
    }
    if (got.kind == ChunkReader::Kind::kEnd) {
      result.trailer = std::string(reader.trailer());
      result.rewritten += "0\r\n" + result.trailer + "\r\n";
    }
    if (got.kind == ChunkReader::Kind::kEnd || got.kind == ChunkReader::Kind::kBad) break;
    Check(got.taken > 0);
  }
  return result;
}

}  // namespace
}  // namespace sluice::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sluice::http::ChunkReader;
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = sluice::http::Decode(bytes, bytes.size());
  const auto cut = sluice::http::Decode(bytes, 1 + data[0] % 16);
  sluice::http::Check(whole.data == cut.data && whole.trailer == cut.trailer);
  if (whole.kind != ChunkReader::Kind::kEnd) {
    sluice::http::Check(cut.kind != ChunkReader::Kind::kEnd);
    return 0;
  }
  sluice::http::Check(whole.taken == cut.taken);
  const auto again = sluice::http::Decode(whole.rewritten, whole.rewritten.size());
  sluice::http::Check(again.kind == ChunkReader::Kind::kEnd && again.data == whole.data);
  sluice::http::Check(again.taken == whole.rewritten.size() && again.rewritten == whole.rewritten);
  return 0;
}
