#include "protocols/http/chunked.h"

#include <algorithm>

namespace sluice::http {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsControl(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

}  // namespace

bool ChunkReader::TakeSizeByte(char c) {
  if (++line_bytes_ > kMostLineBytes) return false;
  const int digit = HexDigit(c);
  if (digit >= 0 && (state_ == State::kSizeFirst || state_ == State::kSize)) {
    if (++digits_ > 16 || (left_ >> 59) != 0) return false;  // the next four bits would reach the sign
    left_ = left_ << 4 | digit;
    state_ = State::kSize;
    return true;
  }
  if (state_ == State::kSizeFirst) return false;
  if (c == '\r') {
    state_ = State::kSizeLf;
    return true;
  }
  if (state_ == State::kExtension) return !IsControl(c);
  if (c == ';') {
    state_ = State::kExtension;
    return true;
  }
  state_ = State::kBlank;
  return c == ' ' || c == '\t';
}

bool ChunkReader::TakeTrailerByte(char c) {
  if (state_ == State::kTrailerLf) {
    if (c != '\n') return false;
    if (line_empty_) {
      state_ = State::kDone;
      return true;
    }
    trailer_->append("\r\n");
    state_ = State::kTrailer;
    line_empty_ = true;
    return true;
  }
  if (c == '\r') {
    state_ = State::kTrailerLf;
    return true;
  }
  if (IsControl(c)) return false;
  if (trailer_ == nullptr) trailer_ = std::make_unique<std::string>();
  if (trailer_->size() >= kMostTrailerBytes) return false;
  trailer_->push_back(c);
  line_empty_ = false;
  return true;
}

// Everything but data.
bool ChunkReader::TakeByte(char c) {
  switch (state_) {
    case State::kSizeFirst:
    case State::kSize:
    case State::kBlank:
    case State::kExtension:
      return TakeSizeByte(c);
    case State::kSizeLf:
      if (c != '\n') return false;
      state_ = left_ == 0 ? State::kTrailer : State::kData;
      return true;
    case State::kDataCr:
      state_ = State::kDataLf;
      return c == '\r';
    case State::kDataLf:
      left_ = 0;
      line_bytes_ = 0;
      digits_ = 0;
      state_ = State::kSizeFirst;
      return c == '\n';
    case State::kTrailer:
    case State::kTrailerLf:
      return TakeTrailerByte(c);
    case State::kData:
    case State::kDone:
    case State::kBad:
      break;
  }
  return false;
}

ChunkReader::Piece ChunkReader::Next(absl::string_view bytes) {
  Piece piece;
  if (state_ == State::kData) {
    const size_t size = static_cast<size_t>(std::min<int64_t>(left_, static_cast<int64_t>(bytes.size())));
    piece.kind = Kind::kData;
    piece.data = bytes.substr(0, size);
    piece.taken = size;
    Skip(static_cast<int64_t>(size));
    piece.last = state_ != State::kData;
    return piece;
  }
  while (piece.taken < bytes.size() && state_ != State::kDone && state_ != State::kBad) {
    if (!TakeByte(bytes[piece.taken++])) {
      state_ = State::kBad;
      break;
    }
    if (state_ == State::kData) {
      piece.kind = Kind::kChunk;
      piece.size = left_;
      return piece;
    }
  }
  if (state_ == State::kDone) piece.kind = Kind::kEnd;
  if (state_ == State::kBad) piece.kind = Kind::kBad;
  return piece;
}

void ChunkReader::Skip(int64_t bytes) {
  left_ -= bytes;
  if (left_ == 0) state_ = State::kDataCr;
}

void AppendChunkLine(int64_t size, std::string& out) {
  char digits[16];
  int count = 0;
  do {
    digits[count++] = "0123456789abcdef"[size & 15];
    size >>= 4;
  } while (size != 0);
  while (count > 0) out.push_back(digits[--count]);
  out.append("\r\n");
}

}  // namespace sluice::http
