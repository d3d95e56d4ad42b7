#include "protocols/http/ftp_page.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(FtpPageTest, LinksLeadIntoTheFolder) {
  const std::string page = FtpPage("ftp://h/a/", true,
                                   "total 3\r\n-rw-r--r-- 1 u g 213 Aug 26 16:31 a b:c/d?e#f\r\n"
                                   "drwxr-xr-x 2 u g 4096 Jan 1 12:00 .\r\ndrwxr-xr-x 2 u g 4096 Jan 1 12:00 sub\r\n"
                                   "lrwxrwxrwx 1 u g 7 Jan 25 00:17 bin -> usr/bin\r\n",
                                   FtpListForm::kPeople, true);
  EXPECT_THAT(page, HasSubstr("<h1>ftp://h/a/</h1>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"../\">../</a>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"a%20b%3Ac%2Fd%3Fe%23f\">a b:c/d?e#f</a>  213  Aug 26 16:31\n"));
  EXPECT_THAT(page, HasSubstr("<a href=\"sub/\">sub/</a>  Jan 1 12:00\n"));
  EXPECT_THAT(page, HasSubstr("<a href=\"bin\">bin</a> &rarr; usr/bin"));
  EXPECT_THAT(page, Not(HasSubstr("total")));
  EXPECT_THAT(page, Not(HasSubstr("4096")));
}

TEST(FtpPageTest, WhatTheServerSaysIsText) {
  const std::string page = FtpPage(
      "ftp://h/<b>\"", false, "<script>alert(1)</script>\n-rw-r--r-- 1 u g 1 Aug 26 16:31 \"><script>\x01\xc3\xa4\n",
      FtpListForm::kPeople, true);
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("../")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;\n"));
  EXPECT_THAT(page, HasSubstr("href=\"%22%3E%3Cscript%3E%01%C3%A4\""));
  EXPECT_THAT(page, HasSubstr(">&quot;&gt;&lt;script&gt;?\xc3\xa4</a>"));
}

TEST(FtpPageTest, MachineListings) {
  const std::string page =
      FtpPage("t", false, "type=cdir;modify=20260131171200; .\r\ntype=file;size=12;modify=20260131171200; x\r\n",
              FtpListForm::kMachine, false);
  EXPECT_THAT(page, HasSubstr("<a href=\"x\">x</a>  12  2026-01-31 17:12\n"));
  EXPECT_THAT(page, Not(HasSubstr("cdir")));
  EXPECT_THAT(page, HasSubstr("longer than what is shown"));
}

}  // namespace
}  // namespace sluice::http
