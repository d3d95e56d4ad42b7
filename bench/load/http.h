#ifndef SLUICE_BENCH_LOAD_HTTP_H_
#define SLUICE_BENCH_LOAD_HTTP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::bench {

// As much of HTTP/1.1 as a load needs. Heads only: bodies are counted by whoever reads them.

// The length of the head that `text` begins with, the empty line included; 0 while it is not all there.
size_t HeadBytes(std::string_view text);

struct AnswerHead {
  int status = 0;
  std::optional<uint64_t> body_bytes;  // none: the body ends with the connection
  bool close = false;                  // the connection ends after this answer
};

// Of a whole head. nullopt for what is no answer, and for a transfer coding: the origin sends none, and a proxy that
// makes one is not measured without being noticed.
std::optional<AnswerHead> ParseAnswerHead(std::string_view head);

struct RequestHead {
  uint64_t answer_bytes = 0;  // the path is a number: /50000, alone or in an absolute URL
  uint64_t body_bytes = 0;
  bool close = false;
};

// Of a whole head; nullopt for what the origin does not serve.
std::optional<RequestHead> ParseRequestHead(std::string_view head);

// A request for `url` (http://HOST/PATH for a proxy) or, without a scheme, for that path at `host`. A `body` of more
// than 0 bytes makes it a POST; they follow the head, bytes of the pattern.
std::string MakeRequest(const std::string& url, const std::string& host, size_t body, bool close);

// The origin's answer head.
std::string MakeAnswerHead(uint64_t body_bytes, bool close);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_LOAD_HTTP_H_
