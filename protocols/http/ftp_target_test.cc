#include "protocols/http/ftp_target.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sluice::http {
namespace {

// "user|password|path|flags", or "refused".
std::string Parse(const std::string& url, const std::string& fields = "") {
  const std::string head = absl::StrCat("GET ", url, " HTTP/1.1\r\nHost: h\r\n", fields, "\r\n");
  RequestHead request;
  const HeadError error = ParseRequestHead(head, request);
  if (!error.ok()) return absl::StrCat("head: ", error.what);
  FtpTarget target;
  if (!ParseFtpTarget(request, target).ok()) return "refused";
  return absl::StrCat(target.user, "|", target.password, "|", target.path, "|", target.anonymous ? "anonymous " : "",
                      target.folder ? "folder " : "", target.as_text ? "text" : "");
}

TEST(FtpTargetTest, Paths) {
  EXPECT_EQ(Parse("ftp://h/a/b"), "anonymous|anonymous@|a/b|anonymous ");
  EXPECT_EQ(Parse("ftp://h/a/b/"), "anonymous|anonymous@|a/b|anonymous folder ");
  EXPECT_EQ(Parse("ftp://h"), "anonymous|anonymous@||anonymous folder ");
  EXPECT_EQ(Parse("ftp://h/"), "anonymous|anonymous@||anonymous folder ");
  EXPECT_EQ(Parse("ftp://h/%2Fetc/a%20b"), "anonymous|anonymous@|/etc/a b|anonymous ");
  EXPECT_EQ(Parse("ftp://h/a;type=a"), "anonymous|anonymous@|a|anonymous text");
  EXPECT_EQ(Parse("ftp://h/a;type=D"), "anonymous|anonymous@|a|anonymous folder ");
  EXPECT_EQ(Parse("ftp://h/a;b?c"), "anonymous|anonymous@|a;b?c|anonymous ");
  EXPECT_EQ(Parse("ftp://h/%C3%A4%ff"), "anonymous|anonymous@|\xc3\xa4\xff|anonymous ");
}

TEST(FtpTargetTest, Logins) {
  EXPECT_EQ(Parse("ftp://me:s%40cret@h/a"), "me|s@cret|a|");
  EXPECT_EQ(Parse("ftp://me@h/a"), "me||a|");
  EXPECT_EQ(Parse("ftp://a@b:c@h/a"), "a@b|c|a|");
  EXPECT_EQ(Parse("ftp://:x@h/a"), "anonymous|anonymous@|a|anonymous ");
  EXPECT_EQ(Parse("ftp://h/a", "Authorization: Basic bWU6eDp5\r\n"), "me|x:y|a|");
  EXPECT_EQ(Parse("ftp://u:p@h/a", "Authorization: Basic bWU6eDp5\r\n"), "u|p|a|");
  EXPECT_EQ(Parse("ftp://h/a", "Authorization: Bearer x\r\n"), "anonymous|anonymous@|a|anonymous ");
  EXPECT_EQ(Parse("ftp://h/a", "Proxy-Authorization: Basic bWU6eDp5\r\n"), "anonymous|anonymous@|a|anonymous ");
}

TEST(FtpTargetTest, WhatNoServerIsAskedFor) {
  for (const char* url :
       {"ftp://h/a%0d%0aDELE%20b", "ftp://h/a%00", "ftp://h/%", "ftp://h/%4", "ftp://h/%zz", "ftp://h/a;type=x",
        "ftp://h/a;type=", "ftp://h/a;type=ii", "ftp://u%0a:p@h/", "ftp://u:p%0d@h/"}) {
    EXPECT_EQ(Parse(url), "refused") << url;
  }
  EXPECT_EQ(Parse("ftp://h/a", "Authorization: Basic ****\r\n"), "refused");
  EXPECT_EQ(Parse("ftp://h/a", "Authorization: Basic bWU\r\n"), "refused");           // no colon
  EXPECT_EQ(Parse("ftp://h/a", "Authorization: Basic bWU6YQpERUxF\r\n"), "refused");  // a line end
}

}  // namespace
}  // namespace sluice::http
