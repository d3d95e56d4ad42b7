#ifndef SLUICE_PROTOCOLS_HTTP_CHUNKED_H_
#define SLUICE_PROTOCOLS_HTTP_CHUNKED_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::http {

// Reads a chunked body (RFC 9112 section 7.1) that comes in pieces, and says where its data lies. Whoever passes the
// body on writes size lines of its own (AppendChunkLine): extensions, blanks and leading zeros of the sender end here,
// so that there is one reading downstream.
//
//   while (!bytes.empty()) {
//     const ChunkReader::Piece piece = reader.Next(bytes);
//     switch (piece.kind) ...
//     bytes.remove_prefix(piece.taken);
//   }
//
// A size has at most 16 hex digits and is below 2^63; its line ends with CRLF, has at most kMostLineBytes, and nothing
// but blanks between the digits and a ";". The data is followed by CRLF and nothing else. All else is kBad, for good.
//
// Pure, bounded; no allocation but for trailers. Thread-compatible.
class ChunkReader {
 public:
  static constexpr size_t kMostLineBytes = 4096;
  static constexpr size_t kMostTrailerBytes = 16 * 1024;

  enum class Kind : uint8_t {
    kMore,   // all bytes were taken; the next piece needs more of them
    kChunk,  // a chunk of `size` bytes of data begins
    kData,   // `data`; `last` when the chunk's last byte is in it
    kEnd,    // the body is over: trailer() has its fields, and bytes behind `taken` are no part of it
    kBad,
  };
  struct Piece {
    Kind kind = Kind::kMore;
    size_t taken = 0;
    int64_t size = 0;
    absl::string_view data;
    bool last = false;
  };

  // REQUIRES: !bytes.empty(). Takes at least one byte, unless it is kBad or kEnd already.
  Piece Next(absl::string_view bytes);

  // How many bytes of data are still to come of the chunk that runs: so many may be moved without being looked at, and
  // then counted here. REQUIRES for Skip: bytes <= data_left().
  int64_t data_left() const { return state_ == State::kData ? left_ : 0; }
  void Skip(int64_t bytes);

  // Not in a chunk: neither in its data nor in the line end behind it.
  bool past_data() const {
    return state_ != State::kData && state_ != State::kDataCr && state_ != State::kDataLf && state_ != State::kBad;
  }
  bool done() const { return state_ == State::kDone; }
  // The lines of the trailer, each with its CRLF; for ParseFields().
  absl::string_view trailer() const { return trailer_ == nullptr ? absl::string_view() : *trailer_; }
  // Before the next body.
  void Reset() { *this = ChunkReader(); }

 private:
  enum class State : uint8_t {
    kSizeFirst,  // the first digit
    kSize,
    kBlank,  // blanks behind the digits
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailer,  // in a line of the trailer, or at its start
    kTrailerLf,
    kDone,
    kBad,
  };

  bool TakeByte(char c);  // false: bad
  bool TakeSizeByte(char c);
  bool TakeTrailerByte(char c);

  int64_t left_ = 0;  // the size while it is read, then the data to come
  std::unique_ptr<std::string> trailer_;
  uint16_t line_bytes_ = 0;
  uint8_t digits_ = 0;
  State state_ = State::kSizeFirst;
  bool line_empty_ = true;  // the line of the trailer that is being read
};

// "SIZE\r\n", lower-case hex without leading zeros.
void AppendChunkLine(int64_t size, std::string& out);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_CHUNKED_H_
