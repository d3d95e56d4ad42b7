#ifndef SLUICE_PROTOCOLS_HTTP_BODY_H_
#define SLUICE_PROTOCOLS_HTTP_BODY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/http/chunked.h"
#include "protocols/http/message_length.h"
#include "relay/framer.h"

namespace sluice::http {

// A body on its way through: says where it ends, and writes what goes on. Large stretches of data are passed as they
// are, small ones put together; chunk lines and trailers are written anew.
//
// Pure. Thread-compatible.
class Body {
 public:
  enum class State : uint8_t { kGoesOn, kOver, kBad };

  Body() = default;
  // `write_chunks`: a chunked body goes on chunked; else only its data does (for HTTP/1.0, which ends it by closing).
  Body(BodyKind kind, int64_t bytes, bool write_chunks)
      : kind_(kind), write_chunks_(write_chunks), left_(kind == BodyKind::kLength ? bytes : 0) {}

  // Takes from `bytes` behind step.taken, and moves that on: until the body or the bytes are over, or a stretch is to
  // be passed. `may_pass`: false where `bytes` are not those of the engine; then everything is appended to `out`.
  State Take(absl::string_view bytes, bool may_pass, relay::Framer::Step& step, std::string& out);

  // The next bytes that nobody has to look at (relay::Framer::RawBytes), and that so many of them have gone.
  int64_t RawBytes() const;
  State OnRaw(int64_t bytes);

  BodyKind kind() const { return kind_; }
  // Nothing has to come any more.
  bool over() const { return kind_ == BodyKind::kNone || (kind_ == BodyKind::kLength && left_ == 0); }

  // A stretch of at least this much is passed rather than put together with others: 4 KB are copied in 100 ns, a fifth
  // of what a system call costs.
  static constexpr size_t kPassBytes = 4096;

 private:
  State TakeChunks(absl::string_view bytes, bool may_pass, relay::Framer::Step& step, std::string& out);
  void PayOwed(const ChunkReader::Piece& piece, std::string& out);
  bool End(std::string& out);

  BodyKind kind_ = BodyKind::kNone;
  bool write_chunks_ = false;
  bool owes_line_end_ = false;  // data was passed; the CRLF behind it has not come yet
  int64_t left_ = 0;            // of kLength
  ChunkReader chunks_;
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_BODY_H_
