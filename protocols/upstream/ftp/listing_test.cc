#include "protocols/upstream/ftp/listing.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sluice::upstream {
namespace {

std::string Text(bool good, const FtpEntry& entry) {
  if (!good) return "none";
  constexpr const char* kKinds[] = {"file", "folder", "link", "other"};
  return absl::StrCat(kKinds[static_cast<int>(entry.kind)], "|", entry.name, "|", entry.bytes, "|", entry.time, "|",
                      entry.leads_to);
}

std::string List(absl::string_view line) {
  FtpEntry entry;
  const bool good = ParseListLine(line, entry);
  return Text(good, entry);
}

std::string Machine(absl::string_view line) {
  FtpEntry entry;
  const bool good = ParseMachineLine(line, entry);
  return Text(good, entry);
}

TEST(FtpListTest, Unix) {
  EXPECT_EQ(List("-rw-r--r--   1 owner    group         213 Aug 26 16:31 README"), "file|README|213|Aug 26 16:31|");
  EXPECT_EQ(List("drwxr-xr-x  18 ftp ftp 4096 Jan  1  2026 pub"), "folder|pub|-1|Jan 1 2026|");
  EXPECT_EQ(List("lrwxrwxrwx   1 root root 7 Jan 25 00:17 bin -> usr/bin"), "link|bin|-1|Jan 25 00:17|usr/bin");
  EXPECT_EQ(List("-rw-r--r-- 1 ftp 12 Mar 3 12:00 no group"), "file|no group|12|Mar 3 12:00|");
  EXPECT_EQ(List("-rw-r--r-- 1 0 0 9223372036854775807 Mar 3 12:00 large"),
            "file|large|9223372036854775807|Mar 3 12:00|");
  EXPECT_EQ(List("-rw-r--r-- 1 0 0 99223372036854775807 Mar 3 12:00 larger"), "file|larger|-1|Mar 3 12:00|");
  EXPECT_EQ(List("crw-rw-rw- 1 root root 1, 3 Mar 3 12:00 null"), "other|null|-1|Mar 3 12:00|");
  EXPECT_EQ(List("-rw-r--r--@ 1 u g 5 2026-03-03 12:00 iso"), "file|iso|5|2026-03-03 12:00|");
  EXPECT_EQ(List("-rw-r--r--+ 1 u g 5 M\xc3\xa4r 3 12:00 m\xc3\xa4rz"), "file|m\xc3\xa4rz|5|M\xc3\xa4r 3 12:00|");
  EXPECT_EQ(List("-rw-r--r-- 1 May 1 5 May 3 12:00  two blanks  "), "file| two blanks  |5|May 3 12:00|");
  EXPECT_EQ(List("-rw-r--r-- 1 u g 5 May 3 12:00 a -> b"), "file|a -> b|5|May 3 12:00|");
}

TEST(FtpListTest, Windows) {
  EXPECT_EQ(List("01-31-26  05:12PM       <DIR>          My Files"), "folder|My Files|-1|01-31-26 05:12PM|");
  EXPECT_EQ(List("2026-01-31  17:12                  280 a b.txt"), "file|a b.txt|280|2026-01-31 17:12|");
  EXPECT_EQ(List("01-31-26  05:12PM       <JUNCTION>          x"), "other|x|-1|01-31-26 05:12PM|");
}

TEST(FtpListTest, Eplf) {
  EXPECT_EQ(List("+i8388621.48594,m825718503,r,s280,\tdjb.html"), "file|djb.html|280||");
  EXPECT_EQ(List("+i8388621.50690,m824255907,/,\t514"), "folder|514|-1||");
}

TEST(FtpListTest, WhatIsNoEntry) {
  for (const char* line :
       {"", "total 12", "hello", "drwxr-xr-x 2 a b 4096 Jan 1 12:00 .", "drwxr-xr-x 2 a b 4096 Jan 1 12:00 ..",
        "drwxr-xr-x 2 a b 4096 Jan 1 12:00", "drwxr-xr-x 2 a b 4096 Jan 1 12:00 ", "-rw-r--r--", "12", "+i1,r,s2",
        "+\t", "01-31-26  05:12PM 12x name", "01-31-26 name"}) {
    EXPECT_EQ(List(line), "none") << line;
  }
  EXPECT_EQ(List("-rw-r--r-- 1 u g 5 May 3 12:00 " + std::string(2000, 'n')), "none");
}

TEST(FtpMachineListTest, Lines) {
  EXPECT_EQ(Machine("type=file;size=12;modify=20260131171200; a name"), "file|a name|12|2026-01-31 17:12|");
  EXPECT_EQ(Machine("Type=DIR;Modify=20260131171200.123;UNIX.mode=0755; pub"), "folder|pub|-1|2026-01-31 17:12|");
  EXPECT_EQ(Machine("Type=OS.unix=slink:/x;Size=3; l"), "link|l|3||");
  EXPECT_EQ(Machine(" only a name"), "file|only a name|-1||");
  EXPECT_EQ(Machine("Type=file;;Size=1; x"), "none");
  for (const char* line : {"", "Type=cdir;Size=1; .", "Type=pdir; ..", "Type=file;Size=1;name", "Type=file name",
                           "Type=file; ", "type; x", "Type=file;Size=1 x"}) {
    EXPECT_EQ(Machine(line), "none") << line;
  }
  EXPECT_EQ(Machine("Type=file;Size=-1;Modify=x; y"), "file|y|-1||");
}

}  // namespace
}  // namespace sluice::upstream
