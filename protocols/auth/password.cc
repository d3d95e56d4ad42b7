#include "protocols/auth/password.h"

#include <crypt.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocols/auth/blake2b.h"
#include "protocols/auth/md4.h"

namespace sluice::auth {
namespace {

constexpr size_t kDigestBytes = 32;
constexpr size_t kBlake2SaltBytes = 16;
constexpr absl::string_view kAlphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

absl::StatusOr<std::string> RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  size_t filled = 0;
  while (filled < count) {
    const ssize_t got = getrandom(&bytes[filled], count - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return absl::InternalError("the system has no random numbers");
    filled += static_cast<size_t>(got);
  }
  return bytes;
}

// Of this process, so that equal passwords are equal over a reload and their digests of no use elsewhere.
const std::string& ProcessKey() {
  static const std::string key = RandomBytes(kDigestBytes).value_or(std::string(kDigestBytes, 'k'));
  return key;
}

std::string DigestOf(absl::string_view text) {
  Blake2b hash(kDigestBytes, ProcessKey());
  hash.Add(text);
  return hash.Finish();
}

// Looks at every byte whatever the first ones are.
bool EqualInConstantTime(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  volatile uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference = difference | static_cast<uint8_t>(a[i] ^ b[i]);
  return difference == 0;
}

// 16 bytes as MD5-crypt writes them, and with it 3proxy's BLAKE2b: 24 bits at a time, in an order of its own, six bits
// a letter beginning with the lowest.
std::string CryptLetters(absl::string_view digest) {
  constexpr uint8_t kOrder[5][3] = {{0, 6, 12}, {1, 7, 13}, {2, 8, 14}, {3, 9, 15}, {4, 10, 5}};
  const auto byte = [&](size_t i) { return uint32_t{static_cast<uint8_t>(digest[i])}; };
  std::string text;
  for (const auto& [high, middle, low] : kOrder) {
    uint32_t bits = byte(high) << 16 | byte(middle) << 8 | byte(low);
    for (int i = 0; i < 4; ++i, bits >>= 6) text.push_back(kAlphabet[bits & 63]);
  }
  text.push_back(kAlphabet[byte(11) & 63]);
  text.push_back(kAlphabet[byte(11) >> 6]);
  return text;
}

// What 3proxy's programs have made of a password and a salt: some a digest of 16 bytes, some the first 16 of a longer
// one.
std::string Blake2Letters(absl::string_view password, absl::string_view salt, size_t digest_bytes) {
  Blake2b hash(digest_bytes);
  hash.Add(password);
  hash.Add(absl::string_view("\0", 1));
  hash.Add(salt);
  return CryptLetters(hash.Finish());
}

bool IsOf(absl::string_view text, absl::string_view letters) {
  return text.find_first_not_of(letters) == absl::string_view::npos;
}

struct CryptForm {
  absl::string_view prefix;
  size_t hash_letters;
  size_t most_salt;
};
constexpr CryptForm kForms[] = {{"$1$", 22, 8}, {"$5$", 43, 16}, {"$6$", 86, 16}, {"$y$", 43, 86}, {"$3$", 22, 64}};

// What is wrong with "$ID$[PARAMETERS$]SALT$HASH"; empty: nothing.
std::string WrongWith(absl::string_view text, const CryptForm& form) {
  absl::string_view rest = text.substr(form.prefix.size());
  const size_t parameters = rest.find('$');
  const bool has_parameters = form.prefix == "$y$" || absl::StartsWith(rest, "rounds=");
  if (has_parameters && parameters != absl::string_view::npos) rest.remove_prefix(parameters + 1);
  const size_t end = rest.find('$');
  if (end == absl::string_view::npos) return "has no hash behind its salt";
  const absl::string_view salt = rest.substr(0, end);
  const absl::string_view hash = rest.substr(end + 1);
  if (salt.empty()) return "has no salt";
  if (salt.size() > form.most_salt) {
    return absl::StrCat("has a salt of ", salt.size(), " bytes, more than ", form.most_salt,
                        " are not looked at, hash the password anew (sluice hash)");
  }
  if (hash.size() != form.hash_letters || !IsOf(hash, kAlphabet)) {
    return absl::StrCat("is cut or broken, behind the salt stand ", form.hash_letters, " letters of ./0-9A-Za-z");
  }
  return "";
}

std::string WrongWithBcrypt(absl::string_view text) {
  const bool whole =
      text.size() == 60 && IsOf(text.substr(4, 2), "0123456789") && text[6] == '$' && IsOf(text.substr(7), kAlphabet);
  return whole ? "" : "is cut or broken, a bcrypt hash has 60 letters";
}

std::string WrongWithCrypt(absl::string_view text) {
  if (text.empty()) return "is empty, which would let in everybody";
  for (absl::string_view bcrypt : {"$2a$", "$2b$", "$2y$"}) {
    if (absl::StartsWith(text, bcrypt)) return WrongWithBcrypt(text);
  }
  for (const CryptForm& form : kForms) {
    if (absl::StartsWith(text, form.prefix)) return WrongWith(text, form);
  }
  return "is no hash of a known kind, they begin with $1$, $3$, $5$, $6$, $y$, $2b$ (quote them, $ is a file name "
         "else)";
}

const char* GensaltPrefix(HashType type) {
  switch (type) {
    case HashType::kYescrypt:
      return "$y$";
    case HashType::kBcrypt:
      return "$2b$";
    case HashType::kSha512:
      return "$6$";
    case HashType::kSha256:
      return "$5$";
    case HashType::kMd5:
      return "$1$";
    case HashType::kBlake2:
    case HashType::kNt:
      break;
  }
  return nullptr;
}

// Empty when libcrypt refuses.
std::string Crypt(absl::string_view password, const std::string& setting) {
  const auto data = std::make_unique<crypt_data>();  // 32 KB
  const std::string phrase(password);
  const char* const result = crypt_rn(phrase.c_str(), setting.c_str(), data.get(), sizeof(*data));
  std::string text = result == nullptr ? "" : result;
  explicit_bzero(data.get(), sizeof(*data));
  return text;
}

}  // namespace

absl::StatusOr<Password> Password::FromClearText(absl::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError("is empty, which everybody knows");
  if (text.size() > kMostPasswordBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("has more than ", kMostPasswordBytes, " bytes, no client can give it"));
  }
  return Password(Kind::kClearText, DigestOf(text));
}

absl::StatusOr<Password> Password::FromCrypt(absl::string_view text) {
  const std::string wrong = WrongWithCrypt(text);
  if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
  if (absl::StartsWith(text, "$3$")) return Password(Kind::kBlake2, std::string(text));
  const int said = crypt_checksalt(std::string(text).c_str());
  if (said != CRYPT_SALT_OK && said != CRYPT_SALT_METHOD_LEGACY) {
    return absl::InvalidArgumentError("has parameters that the system's crypt does not take, hash the password anew");
  }
  return Password(Kind::kCrypt, std::string(text));
}

absl::StatusOr<Password> Password::FromNt(absl::string_view text) {
  const bool hex = std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isxdigit(c); });
  if (text.size() != 32 || !hex) return absl::InvalidArgumentError("is no NT hash, which has 32 hex digits");
  return Password(Kind::kNt, absl::HexStringToBytes(text));
}

bool Password::Matches(absl::string_view candidate) const {
  if (candidate.size() > kMostPasswordBytes || candidate.find('\0') != absl::string_view::npos) return false;
  switch (kind_) {
    case Kind::kClearText:
      return EqualInConstantTime(DigestOf(candidate), stored_);
    case Kind::kNt:
      return EqualInConstantTime(NtHash(candidate), stored_);
    case Kind::kBlake2: {
      const size_t end = stored_.rfind('$');
      const absl::string_view salt = absl::string_view(stored_).substr(3, end - 3);
      const absl::string_view hash = absl::string_view(stored_).substr(end + 1);
      const bool fits = EqualInConstantTime(Blake2Letters(candidate, salt, 16), hash);
      return EqualInConstantTime(Blake2Letters(candidate, salt, 64), hash) || fits;
    }
    case Kind::kCrypt:
      return EqualInConstantTime(Crypt(candidate, stored_), stored_);
  }
  return false;
}

accounting::ResultCode Password::wrong() const {
  switch (kind_) {
    case Kind::kClearText:
      return accounting::result::kBadPassword;
    case Kind::kCrypt:
    case Kind::kBlake2:
      return accounting::result::kBadPasswordHash;
    case Kind::kNt:
      return accounting::result::kBadPasswordNt;
  }
  return accounting::result::kBadPassword;
}

absl::StatusOr<std::string> HashPassword(absl::string_view password, HashType type) {
  if (password.empty()) return absl::InvalidArgumentError("the password is empty");
  if (password.size() > kMostPasswordBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the password has more than ", kMostPasswordBytes, " bytes"));
  }
  if (password.find('\0') != absl::string_view::npos)
    return absl::InvalidArgumentError("the password holds a NUL byte");
  if (type == HashType::kNt) return absl::StrCat("NT:", absl::BytesToHexString(NtHash(password)));
  if (type == HashType::kBlake2) {
    absl::StatusOr<std::string> random = RandomBytes(kBlake2SaltBytes);
    if (!random.ok()) return random.status();
    std::string salt;
    for (const char c : *random) salt.push_back(kAlphabet[static_cast<uint8_t>(c) & 63]);
    return absl::StrCat("CR:$3$", salt, "$", Blake2Letters(password, salt, 16));
  }
  if (type == HashType::kBcrypt && password.size() > 72) {
    return absl::InvalidArgumentError(
        "bcrypt looks at 72 bytes of a password and this one has more, take another type");
  }
  char setting[CRYPT_GENSALT_OUTPUT_SIZE];
  if (crypt_gensalt_rn(GensaltPrefix(type), 0, nullptr, 0, setting, sizeof(setting)) == nullptr) {
    return absl::InternalError("the system's crypt makes no salt");
  }
  std::string hash = Crypt(password, setting);
  if (!absl::StartsWith(hash, "$")) return absl::InternalError("the system's crypt refuses");
  return absl::StrCat("CR:", hash);
}

}  // namespace sluice::auth
