#include "protocols/http/body.h"

#include <algorithm>

#include "protocols/http/forwarding.h"

namespace sluice::http {
namespace {

// True: the stretch is to be passed, which ends the step.
bool Emit(absl::string_view data, size_t begin, bool may_pass, relay::Framer::Step& step, std::string& out) {
  if (may_pass && data.size() >= Body::kPassBytes) {
    step.pass_begin = begin;
    step.pass_bytes = data.size();
    return true;
  }
  out.append(data.data(), data.size());
  return false;
}

}  // namespace

int64_t Body::RawBytes() const {
  switch (kind_) {
    case BodyKind::kNone:
      return 0;
    case BodyKind::kLength:
      return left_;
    case BodyKind::kChunked:
      return chunks_.data_left();
    case BodyKind::kUntilClose:
      return relay::Framer::kUntilEnd;
  }
  return 0;
}

Body::State Body::OnRaw(int64_t bytes) {
  if (kind_ == BodyKind::kLength) {
    left_ -= bytes;
    return left_ == 0 ? State::kOver : State::kGoesOn;
  }
  if (kind_ == BodyKind::kChunked) {
    chunks_.Skip(bytes);
    if (chunks_.data_left() == 0) owes_line_end_ = write_chunks_;
  }
  return State::kGoesOn;
}

Body::State Body::Take(absl::string_view bytes, bool may_pass, relay::Framer::Step& step, std::string& out) {
  const absl::string_view rest = bytes.substr(step.taken);
  switch (kind_) {
    case BodyKind::kNone:
      return State::kOver;
    case BodyKind::kLength: {
      const absl::string_view data = rest.substr(0, static_cast<size_t>(std::min<int64_t>(left_, rest.size())));
      Emit(data, step.taken, may_pass, step, out);
      step.taken += data.size();
      left_ -= static_cast<int64_t>(data.size());
      return left_ == 0 ? State::kOver : State::kGoesOn;
    }
    case BodyKind::kUntilClose:
      Emit(rest, step.taken, may_pass, step, out);
      step.taken = bytes.size();
      return State::kGoesOn;
    case BodyKind::kChunked:
      return TakeChunks(bytes, may_pass, step, out);
  }
  return State::kBad;
}

// The line end behind a chunk goes on once it has come (clients wait for it before they use the chunk), and always
// before what follows it.
void Body::PayOwed(const ChunkReader::Piece& piece, std::string& out) {
  if (!owes_line_end_ || (piece.kind != ChunkReader::Kind::kChunk && !chunks_.past_data())) return;
  out.append("\r\n");
  owes_line_end_ = false;
}

bool Body::End(std::string& out) {
  if (!write_chunks_) return true;
  out.append("0\r\n");
  if (!AppendTrailer(chunks_.trailer(), out)) return false;
  out.append("\r\n");
  return true;
}

Body::State Body::TakeChunks(absl::string_view bytes, bool may_pass, relay::Framer::Step& step, std::string& out) {
  while (step.taken < bytes.size()) {
    const size_t begin = step.taken;
    const ChunkReader::Piece piece = chunks_.Next(bytes.substr(begin));
    step.taken += piece.taken;
    PayOwed(piece, out);
    switch (piece.kind) {
      case ChunkReader::Kind::kMore:
        break;
      case ChunkReader::Kind::kChunk:
        if (write_chunks_) AppendChunkLine(piece.size, out);
        break;
      case ChunkReader::Kind::kData:
        if (piece.last) owes_line_end_ = write_chunks_;
        if (Emit(piece.data, begin, may_pass, step, out)) return State::kGoesOn;
        break;
      case ChunkReader::Kind::kEnd:
        return End(out) ? State::kOver : State::kBad;
      case ChunkReader::Kind::kBad:
        return State::kBad;
    }
  }
  return State::kGoesOn;
}

}  // namespace sluice::http
