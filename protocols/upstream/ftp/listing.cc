#include "protocols/upstream/ftp/listing.h"

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sluice::upstream {
namespace {

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

bool AllDigits(absl::string_view text) {
  for (const char c : text) {
    if (!IsDigit(c)) return false;
  }
  return !text.empty();
}

// -1: it is no number, or none that fits.
int64_t Number(absl::string_view text) {
  int64_t value = -1;
  return AllDigits(text) && absl::SimpleAtoi(text, &value) ? value : -1;
}

bool SetName(absl::string_view name, FtpEntry& entry) {
  if (name.empty() || name.size() > kMostFtpNameBytes || name == "." || name == "..") return false;
  entry.name = std::string(name);
  return true;
}

// The words of a line, as many as come before a name.
using Words = absl::InlinedVector<absl::string_view, 12>;

Words FirstWords(absl::string_view line, size_t most) {
  Words words;
  size_t at = 0;
  while (words.size() < most) {
    while (at < line.size() && line[at] == ' ') ++at;
    if (at == line.size()) break;
    size_t end = line.find(' ', at);
    if (end == absl::string_view::npos) end = line.size();
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// What stands behind a word of the line: everything behind one blank, since names may begin with blanks.
absl::string_view Behind(absl::string_view line, absl::string_view word) {
  const size_t end = static_cast<size_t>(word.data() - line.data()) + word.size();
  return end + 1 < line.size() ? line.substr(end + 1) : absl::string_view();
}

// "12:34", "12:34:56", "2026".
bool IsTimeOrYear(absl::string_view text) {
  if (text.size() == 4 && AllDigits(text)) return true;
  if (text.size() < 4 || text.size() > 8 || !absl::StrContains(text, ':')) return false;
  for (const char c : text) {
    if (!IsDigit(c) && c != ':') return false;
  }
  return true;
}

// "2026-01-31"
bool IsDate(absl::string_view text) {
  return text.size() == 10 && text[4] == '-' && text[7] == '-' && AllDigits(text.substr(0, 4)) &&
         AllDigits(text.substr(5, 2)) && AllDigits(text.substr(8, 2));
}

// "Jan", in whatever language: some letters, of which any may be beyond ASCII.
bool IsMonth(absl::string_view text) {
  if (text.size() < 3 || text.size() > 12) return false;
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && !absl::ascii_isalpha(byte) && c != '.') return false;
  }
  return true;
}

FtpEntry::Kind KindOf(char c) {
  switch (c) {
    case '-':
      return FtpEntry::Kind::kFile;
    case 'd':
      return FtpEntry::Kind::kFolder;
    case 'l':
      return FtpEntry::Kind::kLink;
    default:
      return FtpEntry::Kind::kOther;
  }
}

// The words between permissions and name differ; the date is what can be told.
bool ParseUnix(absl::string_view line, FtpEntry& entry) {
  if (line.size() < 10 || !absl::StrContains("-dlbcpsD", line[0])) return false;
  for (const char c : line.substr(1, 9)) {
    if (!absl::StrContains("rwxsStTl-", c)) return false;
  }
  const Words words = FirstWords(line, 11);
  for (size_t i = 2; i + 1 < words.size(); ++i) {
    const bool month = i + 2 < words.size() && IsMonth(words[i]) && words[i + 1].size() <= 2 &&
                       AllDigits(words[i + 1]) && IsTimeOrYear(words[i + 2]);
    const bool date = IsDate(words[i]) && IsTimeOrYear(words[i + 1]);
    if (!month && !date) continue;
    absl::string_view name = Behind(line, words[i + (month ? 2 : 1)]);
    entry.kind = KindOf(line[0]);
    entry.bytes = entry.kind == FtpEntry::Kind::kFile ? Number(words[i - 1]) : -1;
    entry.time = month ? absl::StrCat(words[i], " ", words[i + 1], " ", words[i + 2])
                       : absl::StrCat(words[i], " ", words[i + 1]);
    const size_t arrow = entry.kind == FtpEntry::Kind::kLink ? name.find(" -> ") : absl::string_view::npos;
    if (arrow != absl::string_view::npos) {
      entry.leads_to = std::string(name.substr(arrow + 4));
      name = name.substr(0, arrow);
    }
    return SetName(name, entry);
  }
  return false;
}

// "01-31-26  05:12PM       <DIR>          name"
bool ParseWindows(absl::string_view line, FtpEntry& entry) {
  const Words words = FirstWords(line, 4);
  if (words.size() < 4 || words[0].size() < 8 || words[0].size() > 10 || words[1].size() < 5) return false;
  for (const char c : words[0]) {
    if (!IsDigit(c) && c != '-' && c != '/') return false;
  }
  if (!IsDigit(words[1][0]) || !absl::StrContains(words[1], ':')) return false;
  entry.time = absl::StrCat(words[0], " ", words[1]);
  entry.bytes = -1;
  if (words[2].front() == '<') {
    entry.kind = words[2] == "<DIR>" ? FtpEntry::Kind::kFolder : FtpEntry::Kind::kOther;
  } else {
    entry.kind = FtpEntry::Kind::kFile;
    entry.bytes = Number(words[2]);
    if (entry.bytes < 0) return false;
  }
  return SetName(line.substr(static_cast<size_t>(words[3].data() - line.data())), entry);
}

// "+i8388621.48594,m825718503,r,s280,\tdjb.html" (cr.yp.to/ftp/list/eplf.html)
bool ParseEplf(absl::string_view line, FtpEntry& entry) {
  const size_t tab = line.find('\t');
  if (tab == absl::string_view::npos) return false;
  absl::string_view facts = line.substr(1, tab - 1);
  entry.kind = FtpEntry::Kind::kOther;
  entry.bytes = -1;
  while (!facts.empty()) {
    const size_t comma = facts.find(',');
    const absl::string_view fact = facts.substr(0, comma);
    facts = comma == absl::string_view::npos ? absl::string_view() : facts.substr(comma + 1);
    if (fact == "/") entry.kind = FtpEntry::Kind::kFolder;
    if (fact == "r" && entry.kind == FtpEntry::Kind::kOther) entry.kind = FtpEntry::Kind::kFile;
    if (fact.size() > 1 && fact[0] == 's') entry.bytes = Number(fact.substr(1));
  }
  return SetName(line.substr(tab + 1), entry);
}

// "20260131171200" or with a fraction: "2026-01-31 17:12".
std::string ReadableTime(absl::string_view text) {
  if (text.size() < 14 || !AllDigits(text.substr(0, 14))) return std::string();
  return absl::StrCat(text.substr(0, 4), "-", text.substr(4, 2), "-", text.substr(6, 2), " ", text.substr(8, 2), ":",
                      text.substr(10, 2));
}

}  // namespace

bool ParseListLine(absl::string_view line, FtpEntry& entry) {
  entry = FtpEntry();
  if (line.empty()) return false;
  if (line[0] == '+') return ParseEplf(line, entry);
  if (IsDigit(line[0])) return ParseWindows(line, entry);
  return ParseUnix(line, entry);
}

bool ParseMachineLine(absl::string_view line, FtpEntry& entry) {
  entry = FtpEntry();
  const size_t blank = line.find(' ');
  if (blank == absl::string_view::npos || (blank > 0 && line[blank - 1] != ';')) return false;
  absl::string_view facts = line.substr(0, blank);
  while (!facts.empty()) {
    const absl::string_view fact = facts.substr(0, facts.find(';'));
    facts.remove_prefix(fact.size() + 1);
    const size_t equals = fact.find('=');
    if (equals == absl::string_view::npos) return false;
    const absl::string_view name = fact.substr(0, equals), value = fact.substr(equals + 1);
    if (absl::EqualsIgnoreCase(name, "type")) {
      if (absl::EqualsIgnoreCase(value, "cdir") || absl::EqualsIgnoreCase(value, "pdir")) return false;
      entry.kind = absl::EqualsIgnoreCase(value, "dir")                      ? FtpEntry::Kind::kFolder
                   : absl::EqualsIgnoreCase(value, "file")                   ? FtpEntry::Kind::kFile
                   : absl::StrContains(absl::AsciiStrToLower(value), "link") ? FtpEntry::Kind::kLink
                                                                             : FtpEntry::Kind::kOther;
    } else if (absl::EqualsIgnoreCase(name, "size")) {
      entry.bytes = Number(value);
    } else if (absl::EqualsIgnoreCase(name, "modify")) {
      entry.time = ReadableTime(value);
    }
  }
  return SetName(line.substr(blank + 1), entry);
}

}  // namespace sluice::upstream
