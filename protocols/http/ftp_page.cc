#include "protocols/http/ftp_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "protocols/http/answer.h"
#include "protocols/upstream/ftp/listing.h"

namespace sluice::http {
namespace {

using upstream::FtpEntry;

// Everything but RFC 3986's unreserved characters: neither "/" nor ":" may lead elsewhere.
void AppendLink(absl::string_view name, std::string& out) {
  for (const char c : name) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~') {
      out.push_back(c);
    } else {
      constexpr char kDigits[] = "0123456789ABCDEF";
      out.push_back('%');
      out.push_back(kDigits[byte >> 4]);
      out.push_back(kDigits[byte & 15]);
    }
  }
}

void AppendEntry(const FtpEntry& entry, std::string& page) {
  const bool folder = entry.kind == FtpEntry::Kind::kFolder;
  page.append("<a href=\"");
  AppendLink(entry.name, page);
  if (folder) page.push_back('/');
  page.append("\">");
  AppendAsHtml(entry.name, page);
  if (folder) page.push_back('/');
  page.append("</a>");
  if (!entry.leads_to.empty()) {
    page.append(" &rarr; ");
    AppendAsHtml(entry.leads_to, page);
  }
  if (entry.bytes >= 0) absl::StrAppend(&page, "  ", entry.bytes);
  if (!entry.time.empty()) {
    page.append("  ");
    AppendAsHtml(entry.time, page);
  }
  page.push_back('\n');
}

// Folders that only say how many blocks they have, and the two that every folder has.
bool IsNoise(absl::string_view line) {
  return line.empty() || line.substr(0, 6) == "total " || (line.size() > 2 && line.substr(line.size() - 2) == " .") ||
         (line.size() > 3 && line.substr(line.size() - 3) == " ..");
}

void AppendLine(absl::string_view line, FtpListForm form, std::string& page) {
  FtpEntry entry;
  const bool known =
      form == FtpListForm::kMachine ? upstream::ParseMachineLine(line, entry) : upstream::ParseListLine(line, entry);
  if (known) return AppendEntry(entry, page);
  if (IsNoise(line)) return;
  AppendAsHtml(line, page);
  page.push_back('\n');
}

}  // namespace

std::string FtpPage(absl::string_view title, bool has_parent, absl::string_view listing, FtpListForm form, bool whole) {
  std::string page = "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>";
  AppendAsHtml(title, page);
  page.append("</title></head><body><h1>");
  AppendAsHtml(title, page);
  page.append("</h1><pre>\n");
  if (has_parent) page.append("<a href=\"../\">../</a>\n");
  while (!listing.empty()) {
    const size_t end = listing.find('\n');
    absl::string_view line = listing.substr(0, end);
    listing = end == absl::string_view::npos ? absl::string_view() : listing.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    AppendLine(line, form, page);
  }
  page.append("</pre>");
  if (!whole) page.append("<p>The listing is longer than what is shown here.</p>");
  page.append("</body></html>\n");
  return page;
}

}  // namespace sluice::http
