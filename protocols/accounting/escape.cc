#include "protocols/accounting/escape.h"

#include <cstdint>

namespace sluice::accounting {
namespace {

struct Character {
  size_t bytes = 1;
  uint32_t code = 0;
  bool valid = true;  // else one broken byte
};

// Reads the character at the start of `text`, which is not empty.
Character Decode(absl::string_view text) {
  const auto byte = [text](size_t i) -> uint32_t { return static_cast<uint8_t>(text[i]); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {1, first, true};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {1, first, false};
  uint32_t code = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {1, first, false};
    code = (code << 6) | (byte(i) & 0x3f);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (overlong || surrogate || code > 0x10ffff) return {1, first, false};
  return {bytes, code, true};
}

bool IsPrintable(const Character& c) {
  if (!c.valid || c.code < 0x20) return false;
  if (c.code < 0x7f) return true;
  if (c.code < 0xa0) return false;                         // DEL and C1
  if (c.code >= 0x200b && c.code <= 0x200f) return false;  // zero width, left and right marks
  if (c.code >= 0x2028 && c.code <= 0x202e) return false;  // separators, embeddings
  if (c.code >= 0x2066 && c.code <= 0x2069) return false;  // isolates
  return c.code != 0x061c && c.code != 0xfeff;
}

void AppendHexByte(uint8_t byte, std::string& out) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

void AppendUnicodeEscape(uint32_t code, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(code >> shift) & 15];
}

// How many bytes at the start of `text` are ASCII that no form of escaping touches: nearly always all of them.
size_t PlainPrefix(absl::string_view text) {
  size_t i = 0;
  while (i < text.size() && text[i] > 0x20 && text[i] < 0x7f && text[i] != '"' && text[i] != '\\') ++i;
  return i;
}

bool AppendPiece(absl::string_view piece, size_t limit, std::string& out) {
  if (piece.size() > limit - out.size()) return false;
  out.append(piece.data(), piece.size());
  return true;
}

const char* ShortJsonEscape(uint32_t code) {
  switch (code) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return nullptr;
  }
}

}  // namespace

bool AppendEscaped(absl::string_view text, bool escape_blanks, size_t budget, std::string& out) {
  const size_t limit = out.size() + budget;
  std::string escape;
  while (!text.empty()) {
    size_t taken = PlainPrefix(text);
    if (taken > 0) {
      if (taken > limit - out.size()) {
        out.append(text.data(), limit - out.size());
        return false;
      }
      out.append(text.data(), taken);
      text.remove_prefix(taken);
      continue;
    }
    const Character c = Decode(text);
    absl::string_view piece = text.substr(0, c.bytes);
    if (!IsPrintable(c) || c.code == '"' || c.code == '\\' || (c.code == ' ' && escape_blanks)) {
      escape.clear();
      for (const char byte : piece) AppendHexByte(static_cast<uint8_t>(byte), escape);
      piece = escape;
    }
    if (!AppendPiece(piece, limit, out)) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

bool AppendReplaced(absl::string_view text, absl::string_view replaced, char replacement, size_t budget,
                    std::string& out) {
  const size_t limit = out.size() + budget;
  while (!text.empty()) {
    const Character c = Decode(text);
    absl::string_view piece = text.substr(0, c.bytes);
    const bool print = IsPrintable(c) && piece.find_first_of(replaced) == absl::string_view::npos;
    if (print ? !AppendPiece(piece, limit, out) : limit - out.size() < c.bytes) return false;
    if (!print) out.append(c.bytes, replacement);
    text.remove_prefix(c.bytes);
  }
  return true;
}

bool AppendJsonEscaped(absl::string_view text, size_t budget, std::string& out) {
  const size_t limit = out.size() + budget;
  std::string escape;
  while (!text.empty()) {
    const Character c = Decode(text);
    absl::string_view piece = text.substr(0, c.bytes);
    if (const char* known = ShortJsonEscape(c.code); c.valid && known != nullptr) {
      piece = known;
    } else if (!IsPrintable(c)) {
      escape.clear();
      AppendUnicodeEscape(c.valid ? c.code : 0xfffd, escape);  // none of them lies above U+FFFF
      piece = escape;
    }
    if (!AppendPiece(piece, limit, out)) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

}  // namespace sluice::accounting
