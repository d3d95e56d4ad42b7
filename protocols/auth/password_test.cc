#include "protocols/auth/password.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "protocols/auth/blake2b.h"
#include "protocols/auth/md4.h"
#include "protocols/auth/user_table.h"

namespace sluice::auth {
namespace {

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

// RFC 7693 appendix A, and the keyed test vectors of the reference implementation (key 00 01 ... 3f).
TEST(Blake2bTest, KnownDigests) {
  Blake2b abc(64);
  abc.Add("a");
  abc.Add("bc");
  EXPECT_EQ(Hex(abc.Finish()),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
  Blake2b empty(64);
  EXPECT_EQ(Hex(empty.Finish()),
            "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
            "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce");
  std::string key;
  for (int i = 0; i < 64; ++i) key.push_back(static_cast<char>(i));
  Blake2b keyed(64, key);
  EXPECT_EQ(Hex(keyed.Finish()),
            "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786"
            "b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568");
}

TEST(Blake2bTest, PiecesMakeNoDifference) {
  const std::string text(1000, 'x');
  for (size_t piece : {1u, 7u, 127u, 128u, 129u, 256u, 999u}) {
    Blake2b whole(16), parts(16);
    whole.Add(text);
    for (size_t at = 0; at < text.size(); at += piece) parts.Add(absl::string_view(text).substr(at, piece));
    EXPECT_EQ(whole.Finish(), parts.Finish()) << piece;
  }
}

// RFC 1320 appendix A.5.
TEST(Md4Test, KnownDigests) {
  EXPECT_EQ(Hex(Md4("")), "31d6cfe0d16ae931b73c59d7e0c089c0");
  EXPECT_EQ(Hex(Md4("a")), "bde52cb31de33e46245e05fbdbd6fb24");
  EXPECT_EQ(Hex(Md4("message digest")), "d9130a8164549fe818874806e1c7014b");
  EXPECT_EQ(Hex(Md4("12345678901234567890123456789012345678901234567890123456789012345678901234567890")),
            "e33b4ddc9c38f2199c3e7b164fcc0536");
  EXPECT_EQ(Hex(Md4(std::string(56, 'a'))).size(), 32u);
}

TEST(Md4Test, NtHashes) {
  EXPECT_EQ(Hex(NtHash("password")), "8846f7eaee8fb117ad06bdd830b7586c");
  EXPECT_NE(NtHash("pässword"), NtHash("passwörd"));
  EXPECT_EQ(NtHash("p\xc3\xa4"), NtHash("p\xe4"));  // UTF-8, and what is none: Latin-1
}

Password Made(const absl::StatusOr<Password>& password) {
  EXPECT_TRUE(password.ok()) << password.status();
  return *password;
}

void ExpectOnly(const Password& password, const std::string& right) {
  EXPECT_TRUE(password.Matches(right));
  for (const std::string& wrong : {std::string(), right + "x", right.substr(0, right.size() - 1), right + right,
                                   right + std::string(1, '\0'), "X" + right.substr(1), std::string(600, 'a')}) {
    EXPECT_FALSE(password.Matches(wrong)) << wrong.size();
  }
}

TEST(PasswordTest, ClearText) {
  const Password password = Made(Password::FromClearText("p:w d"));
  ExpectOnly(password, "p:w d");
  EXPECT_FALSE(password.dear());
  EXPECT_EQ(password.wrong().number, 6);
}

// Made by other programs (openssl passwd; perl's crypt).
TEST(PasswordTest, Crypt) {
  for (const char* hash :
       {"$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/", "$5$saltsalt$gOjOtoMpVhru2uyjeJSEc/JaLQWOXMNmlOnj6T4AtC.",
        "$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/"}) {
    const Password password = Made(Password::FromCrypt(hash));
    ExpectOnly(password, "password");
    EXPECT_TRUE(password.dear());
    EXPECT_EQ(password.wrong().number, 7);
  }
}

TEST(PasswordTest, Nt) {
  ExpectOnly(Made(Password::FromNt("8846F7eaee8fb117ad06bdd830b7586c")), "password");
  EXPECT_EQ(Made(Password::FromNt(std::string(32, '0'))).wrong().number, 8);
}

TEST(PasswordTest, WhatIsHashedHereIsTakenHere) {
  for (const HashType type : {HashType::kYescrypt, HashType::kBcrypt, HashType::kSha512, HashType::kSha256,
                              HashType::kMd5, HashType::kBlake2, HashType::kNt}) {
    const std::string text = HashPassword("correct horse", type).value();
    const absl::string_view hash = absl::string_view(text).substr(3);
    const Password password = Made(type == HashType::kNt ? Password::FromNt(hash) : Password::FromCrypt(hash));
    EXPECT_TRUE(password.Matches("correct horse")) << text;
    EXPECT_FALSE(password.Matches("correct horsf")) << text;
    if (type != HashType::kNt) {
      EXPECT_NE(HashPassword("correct horse", type).value(), text) << "no salt";
    }
  }
}

// Both forms in which 3proxy's programs have made them: 16 bytes, and the first 16 of 64.
TEST(PasswordTest, Blake2OfThreeProxy) {
  for (size_t bytes : {size_t{16}, size_t{64}}) {
    Blake2b hash(bytes);
    hash.Add(absl::string_view("secret\0salt", 11));
    std::string digest = hash.Finish();
    // The letters, written down independently: six bits at a time from the lowest, of bytes in MD5-crypt's order.
    std::string letters;
    const char* alphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const auto at = [&](int i) { return static_cast<uint8_t>(digest[static_cast<size_t>(i)]); };
    for (int i = 0; i < 5; ++i) {
      const int low = i == 4 ? 5 : 12 + i;
      uint32_t bits = static_cast<uint32_t>(at(i) << 16 | at(i + 6) << 8 | at(low));
      for (int j = 0; j < 4; ++j, bits >>= 6) letters.push_back(alphabet[bits & 63]);
    }
    letters.push_back(alphabet[at(11) & 63]);
    letters.push_back(alphabet[at(11) >> 6]);
    ExpectOnly(Made(Password::FromCrypt(absl::StrCat("$3$salt$", letters))), "secret");
  }
}

TEST(PasswordTest, WhatFitsNothingOrAnythingIsRefused) {
  for (const char* text : {"", "x", "secret", "$", "$1$", "$1$salt", "$1$salt$", "$1$$qjXMvbEw8oaL.CzflDtaK/",
                           "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK", "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/x",
                           "$1$saltsaltsalt$qjXMvbEw8oaL.CzflDtaK/", "$1$saltsalt$qjXMvbEw8oaL.CzflDta!/",
                           "$9$saltsalt$qjXMvbEw8oaL.CzflDtaK/", "$2b$10$short", "*", "!", "$y$j9T$salt$short",
                           "$5$rounds=5000$saltsalt"}) {
    EXPECT_FALSE(Password::FromCrypt(text).ok()) << text;
  }
  for (const char* text : {"", "8846f7eaee8fb117ad06bdd830b7586", "8846f7eaee8fb117ad06bdd830b7586cc",
                           "8846f7eaee8fb117ad06bdd830b7586g"}) {
    EXPECT_FALSE(Password::FromNt(text).ok()) << text;
  }
  EXPECT_FALSE(Password::FromClearText("").ok());
  EXPECT_FALSE(Password::FromClearText(std::string(512, 'a')).ok());
}

TEST(PasswordTest, MessagesHaveNothingOfIt) {
  for (const std::string secret : {"hunter2hunter2", "$1$hunter2hunter2$xx", "$2b$hunter2"}) {
    const std::string said(Password::FromCrypt(secret).status().message());
    EXPECT_FALSE(absl::StrContains(said, "hunter2")) << said;
  }
}

TEST(UserTableTest, NamesAreWholeAndCaseSensitive) {
  UserTable users;
  EXPECT_TRUE(users.Add("alice", Made(Password::FromClearText("one"))));
  EXPECT_TRUE(users.Add("alice", Made(Password::FromClearText("one"))));
  EXPECT_FALSE(users.Add("alice", Made(Password::FromClearText("two"))));
  EXPECT_NE(users.Find("alice"), nullptr);
  EXPECT_TRUE(users.Find("alice")->Matches("one"));
  for (const char* name : {"", "Alice", "alic", "alicee", "alice "}) EXPECT_EQ(users.Find(name), nullptr) << name;
}

// None is lost when the table grows.
TEST(UserTableTest, FiveThousandUsers) {
  UserTable users;
  for (int i = 0; i < 5000; ++i) {
    EXPECT_TRUE(users.Add(absl::StrCat("user", i), Made(Password::FromClearText(absl::StrCat("password", i)))));
  }
  for (int i = 0; i < 5000; ++i) {
    const Password* password = users.Find(absl::StrCat("user", i));
    ASSERT_NE(password, nullptr) << i;
    EXPECT_TRUE(password->Matches(absl::StrCat("password", i)));
    EXPECT_FALSE(password->Matches(absl::StrCat("password", i + 1)));
  }
}

}  // namespace
}  // namespace sluice::auth
