#include "protocols/http/credentials.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sluice::http {
namespace {

// "USER|PASSWORD", "" when refused.
std::string Read(absl::string_view value) {
  BasicCredentials credentials;
  if (!ParseBasicCredentials(value, credentials)) return "";
  return absl::StrCat(credentials.user, "|", credentials.password);
}

std::string Encoded(absl::string_view text) {
  std::string result;
  absl::Base64Escape(text, &result);
  return result;
}

TEST(BasicCredentialsTest, TheUserEndsAtTheFirstColon) {
  EXPECT_EQ(Read(absl::StrCat("Basic ", Encoded("u:p:w d"))), "u|p:w d");
  EXPECT_EQ(Read(absl::StrCat("Basic ", Encoded("alice:"))), "alice|");
  EXPECT_EQ(Read(absl::StrCat("Basic ", Encoded("a\xc3\xa4:\xc3\xb6"))), "a\xc3\xa4|\xc3\xb6");
}

TEST(BasicCredentialsTest, TheSchemeHasAnyCaseAndBlanksBehindIt) {
  for (const char* scheme : {"basic ", "BASIC ", "BaSiC ", "Basic   "}) {
    EXPECT_EQ(Read(absl::StrCat(scheme, Encoded("u:p"))), "u|p") << scheme;
  }
}

TEST(BasicCredentialsTest, WhatIsNotToTheLetterIsRefused) {
  const std::string right = Encoded("u:pw");  // dTpwdw==
  for (const std::string& value :
       {std::string(), std::string("Basic"), std::string("Basic "), absl::StrCat("Basic", right),
        absl::StrCat("Basic\t", right), absl::StrCat("Basic ", right, "junk!"), absl::StrCat("Basic ", right, " "),
        absl::StrCat("Basic ", right.substr(0, right.size() - 1)), std::string("Basic dTpwdw"),
        std::string("Basic dTpwdw="), std::string("Basic dTpwdw==="), std::string("Basic dTp wdw=="),
        std::string("Basic dTp_dw=="), absl::StrCat("Digest ", right), absl::StrCat("Bearer ", right),
        absl::StrCat("Basic ", Encoded("no colon")), absl::StrCat("Basic ", Encoded(":password")),
        absl::StrCat("Basic ", Encoded(absl::StrCat("u:", std::string(8192, 'a'))))}) {
    EXPECT_EQ(Read(value), "") << value.substr(0, 40);
  }
}

TEST(BasicCredentialsTest, SeveralFieldsSayNothing) {
  Fields fields;
  EXPECT_EQ(AuthorizationOf(fields), "");
  fields.push_back({"Proxy-authorization", "Basic dTpw"});
  fields.push_back({"Authorization", "Basic xxxx"});
  EXPECT_EQ(AuthorizationOf(fields), "Basic dTpw");
  fields.push_back({"PROXY-AUTHORIZATION", "Basic dTpw"});
  EXPECT_EQ(AuthorizationOf(fields), "");
}

}  // namespace
}  // namespace sluice::http
