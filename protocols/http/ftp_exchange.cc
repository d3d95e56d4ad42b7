#include "protocols/http/ftp_exchange.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "protocols/access/request_facts.h"
#include "protocols/dns/result.h"
#include "protocols/http/gate.h"
#include "protocols/http/result.h"
#include "protocols/http/tunnel.h"
#include "protocols/service/judged_lookup.h"
#include "relay/connecting.h"
#include "relay/handoff.h"
#include "sys/blocking/connect.h"
#include "sys/blocking/deadline_stream.h"

namespace sluice::http {
namespace {

using accounting::Phase;
using upstream::FtpAnswer;

bool IsUnknownCommand(const FtpAnswer& answer) {
  return answer.ok() && answer.reply.code >= 500 && answer.reply.code < 505;
}

// "213 1234"
int64_t SizeOf(const FtpAnswer& answer) {
  int64_t bytes = FtpTransfer::kUnknown;
  if (!answer.ok() || answer.reply.code != 213) return FtpTransfer::kUnknown;
  return absl::SimpleAtoi(answer.reply.text, &bytes) && bytes >= 0 ? bytes : FtpTransfer::kUnknown;
}

}  // namespace

FtpExchange::FtpExchange(relay::Worker& worker, std::shared_ptr<const HttpService> service, RequestArrival arrival,
                         const RequestHead& request, FtpTarget target, size_t end,
                         std::unique_ptr<auth::Hearing> hearing)
    : worker_(worker),
      service_(std::move(service)),
      client_fd_(std::move(arrival.client)),
      transform_(std::move(arrival.transform)),
      admission_(std::move(arrival.admission)),
      record_(std::make_unique<service::ExchangeObserver>(service_->shared_context(), arrival.address)),
      method_(request.method),
      expects_continue_(request.expects_continue && request.minor_version > 0 && arrival.bytes.size() == end),
      host_(request.authority.host),
      url_path_(request.path),
      title_(absl::StrCat("ftp://", request.authority.ToString(21), request.path)),
      port_(request.authority.port),
      target_(std::move(target)),
      operation_(FactsOf(request, arrival.address).operation),
      hearing_(std::move(hearing)) {
  NoteRequest(request, record_->record());
  if (hearing_ != nullptr) record_->record().user = hearing_->claim().user;
  record_->record().bytes_from_client = static_cast<int64_t>(end);
  client_.address = std::move(arrival.address);
  client_.minor_version = request.minor_version;
  client_.keep_alive = request.keep_alive;
  client_.body = request.body;
  client_.body_bytes = request.body_bytes;
  client_.behind = arrival.bytes.substr(end);
}

sys::MonotonicNanos FtpExchange::Soon() const {
  return std::min(deadline_, sys::Clock::System().Now() + service_->options().timeouts.string_short);
}

void FtpExchange::Run() {
  deadline_ = sys::Clock::System().Now() + service_->options().timeouts.chain;
  if (!Connect() || !Login()) return;
  if (method_ == Method::kPut) return Store();
  if (target_.folder) return Folder();
  File();
}

void FtpExchange::Shed() {
  Answer answer;
  answer.status = 503;
  answer.error = "connection_limit_reached";
  answer.text = "The proxy is overloaded.";
  Say(std::move(answer), accounting::result::kOverloaded, Phase::kResolve, 0);
}

// --- Up to the login.

bool FtpExchange::Resolve(std::vector<sys::SocketAddress>& addresses) {
  access::RequestFacts facts = service::FactsOf(record_->record(), operation_, port_);
  service::JudgedLookup judged = service::JudgeAndLookUp(service_->context(), hearing_.get(), facts);
  record_->Note(judged.judgement, hearing_.get(), operation_, port_);
  if (!judged.judgement.allowed()) {
    Gate::Verdict denial = service_->gate().OfDenial(judged.judgement.result);
    Say(std::move(denial.answer), denial.result, Phase::kHandshake, 0);
    return false;
  }
  dns::Result& result = judged.result;
  if (!result.ok()) {
    Say(AnswerToNoAddress(result.outcome, host_), accounting::result::kNameNotResolved, Phase::kResolve,
        result.outcome == dns::Outcome::kTimeout ? ETIMEDOUT : 0);
    return false;
  }
  sys::SocketAddress target;
  Gate::Verdict verdict = service_->gate().OfAddresses(host_, result.addresses, client_fd_.get(), target);
  if (!verdict.ok()) {
    record_->record().upstream = target;
    Say(std::move(verdict.answer), verdict.result, Phase::kConnect, 0);
    return false;
  }
  addresses = std::move(result.addresses);
  return true;
}

sys::ErrnoOr<sys::UniqueFd> FtpExchange::Dial(const sys::SocketAddress& address, sys::MonotonicNanos deadline) {
  sys::ErrnoOr<sys::UniqueFd> fd = relay::StartConnect(address, &service_->context().outgoing);
  if (!fd.ok()) return fd;
  const int error = sys::AwaitConnected(fd->get(), deadline, service_->context().handshakes->cancellation());
  if (error != 0) return sys::Errno{error};
  return fd;
}

bool FtpExchange::Connect() {
  std::vector<sys::SocketAddress> addresses;
  if (!Resolve(addresses)) return false;
  const sys::MonotonicNanos end = sys::Clock::System().Now() + service_->options().timeouts.connect;
  relay::EndReason reason{relay::EndCode::kConnectFailed, relay::EndSide::kUpstream, 0};
  for (size_t i = 0; i < addresses.size(); ++i) {
    record_->record().upstream = addresses[i];
    // Those that are left share the time that is.
    const sys::MonotonicNanos now = sys::Clock::System().Now();
    const int64_t share = std::max<int64_t>(0, end - now) / static_cast<int64_t>(addresses.size() - i);
    sys::ErrnoOr<sys::UniqueFd> fd = Dial(addresses[i], now + share);
    if (fd.ok()) {
      control_ = std::make_unique<upstream::FtpControl>(*std::move(fd), addresses[i],
                                                        service_->context().handshakes->cancellation());
      return true;
    }
    reason.error = fd.error().code;
  }
  if (reason.error == ETIMEDOUT) reason.code = relay::EndCode::kConnectTimeout;
  Say(AnswerToConnectFailure(reason, Whereabouts(record_->record())), accounting::ConnectResult(reason.error),
      Phase::kConnect, reason.error);
  return false;
}

bool FtpExchange::Login() {
  FtpAnswer answer = control_->Read(Soon());
  if (answer.preliminary()) answer = control_->Read(Soon());  // 120: ready in a moment
  if (!answer.completed()) {
    Refuse(answer, FtpStep::kGreeting);
    return false;
  }
  answer = control_->Login(target_.user, target_.password, Soon());
  if (answer.completed()) answer = Ask("TYPE", target_.as_text ? "A" : "I");
  if (!answer.completed()) Refuse(answer, FtpStep::kLogin);
  return answer.completed();
}

bool FtpExchange::OpenData() {
  const upstream::FtpControl::Passive passive = control_->EnterPassive(Soon());
  if (passive.address.family() == sys::AddressFamily::kNone) {
    Refuse(passive.answer, FtpStep::kPassive);
    return false;
  }
  sys::SocketAddress target;
  Gate::Verdict verdict = service_->gate().OfAddresses(host_, {passive.address}, client_fd_.get(), target);
  if (!verdict.ok()) {
    Say(std::move(verdict.answer), verdict.result, Phase::kConnect, 0);
    return false;
  }
  sys::ErrnoOr<sys::UniqueFd> fd =
      Dial(passive.address, std::min(deadline_, sys::Clock::System().Now() + service_->options().timeouts.connect));
  if (!fd.ok()) {
    const int error = fd.error().code;
    const auto code = error == ETIMEDOUT ? relay::EndCode::kConnectTimeout : relay::EndCode::kConnectFailed;
    Say(AnswerToConnectFailure({code, relay::EndSide::kUpstream, error},
                               absl::StrCat("the data port ", passive.address.ToString(), " of ", host_)),
        accounting::ConnectResult(error), Phase::kConnect, error);
    return false;
  }
  data_ = *std::move(fd);
  return true;
}

// --- What is asked for.

void FtpExchange::Folder() {
  if (!target_.path.empty()) {
    const FtpAnswer answer = Ask("CWD", target_.path);
    if (!answer.completed()) return Refuse(answer, FtpStep::kFolder);
  }
  constexpr absl::string_view kHead =
      "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n";
  if (method_ == Method::kHead) return SayBytes(absl::StrCat(kHead, "\r\n"));
  FtpListForm form = FtpListForm::kMachine;
  FtpAnswer answer;
  if (!List("MLSD", answer)) return;
  if (IsUnknownCommand(answer)) {
    form = FtpListForm::kPeople;
    if (!List("LIST", answer)) return;
  }
  if (!answer.preliminary()) return Refuse(answer, FtpStep::kFolder);
  std::string listing;
  bool whole = true;
  if (!ReadListing(listing, whole)) return;
  record_->record().bytes_from_upstream = static_cast<int64_t>(listing.size());
  const FtpAnswer last = whole ? control_->Read(Soon()) : FtpAnswer();
  if (whole && !last.completed()) return Refuse(last, FtpStep::kData);
  const bool slash = !title_.empty() && title_.back() == '/';
  const std::string page =
      FtpPage(slash ? title_ : absl::StrCat(title_, "/"), !target_.path.empty(), listing, form, whole);
  SayBytes(absl::StrCat(kHead, "Content-Length: ", page.size(), "\r\n\r\n", page));
}

// False: there is no data connection, and the client knows.
bool FtpExchange::List(absl::string_view verb, FtpAnswer& answer) {
  if (!OpenData()) return false;
  answer = Ask(verb, "");
  return true;
}

bool FtpExchange::ReadListing(std::string& listing, bool& whole) {
  sys::DeadlineStream stream(data_.get(), deadline_, service_->context().handshakes->cancellation());
  absl::Status status;
  while (status.ok()) status = stream.FillMore(kMostListingBytes);
  listing = stream.TakeBuffered();
  data_.reset();
  whole = absl::IsOutOfRange(status);  // its end has come
  if (whole || absl::IsResourceExhausted(status)) return true;
  FtpAnswer answer;
  answer.fault = absl::IsDeadlineExceeded(status) ? FtpAnswer::Fault::kTimeout : FtpAnswer::Fault::kFailed;
  answer.error = stream.last_errno();
  Refuse(answer, FtpStep::kData);
  return false;
}

void FtpExchange::File() {
  const FtpAnswer size = Ask("SIZE", target_.path);
  if (!size.ok()) return Refuse(size, FtpStep::kFile);
  if (method_ == Method::kHead) return HeadOfFile(size);
  if (!OpenData()) return;
  const FtpAnswer answer = Ask("RETR", target_.path);
  if (!answer.preliminary()) return NotAFile(answer);
  Transfer(/*upload=*/false, target_.as_text ? FtpTransfer::kUnknown : SizeOf(size));
}

void FtpExchange::HeadOfFile(const FtpAnswer& size) {
  const int64_t bytes = target_.as_text ? FtpTransfer::kUnknown : SizeOf(size);
  if (!size.completed() && !IsUnknownCommand(size)) return NotAFile(size);
  std::string head = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
  if (bytes != FtpTransfer::kUnknown) absl::StrAppend(&head, "Content-Length: ", bytes, "\r\n");
  SayBytes(head + "\r\n");
}

// It may be a folder, whose links would lead elsewhere without a "/" at the end of its URL.
void FtpExchange::NotAFile(const FtpAnswer& answer) {
  data_.reset();
  if (!answer.ok() || answer.reply.code != 550 || !Ask("CWD", target_.path).completed()) {
    return Refuse(answer, FtpStep::kFile);
  }
  Answer moved;
  moved.status = 301;
  moved.text = "This is a folder.";
  moved.more_fields = absl::StrCat("Location: ", url_path_, "/\r\n");
  Say(std::move(moved), {}, Phase::kRelay, 0);
}

void FtpExchange::Store() {
  if (target_.folder) {
    Answer answer;
    answer.status = 400;
    answer.text = "The URL of an upload names a file, not a folder.";
    return Say(std::move(answer), result::kBadRequest, Phase::kHandshake, 0);
  }
  if (!OpenData()) return;
  FtpAnswer answer = Ask("STOR", target_.path);
  if (!answer.preliminary()) return Refuse(answer, FtpStep::kStore);
  if (client_.body == BodyKind::kChunked || client_.body_bytes > 0) return Transfer(/*upload=*/true, 0);
  data_.reset();  // an empty file
  answer = control_->Read(Soon());
  if (!answer.completed()) return Refuse(answer, FtpStep::kStore);
  Answer made;
  made.status = 201;
  made.text = "The file is there.";
  Say(std::move(made), {}, Phase::kRelay, 0);
}

// --- Ways out.

void FtpExchange::Transfer(bool upload, int64_t bytes) {
  auto transfer = std::make_unique<FtpTransfer>(service_, std::move(record_), std::move(control_), std::move(client_),
                                                upload, bytes);
  relay::Handoff handoff;
  handoff.from_upstream = upload && expects_continue_ ? "HTTP/1.1 100 Continue\r\n\r\n" : transfer->Greeting();
  handoff.client = std::move(client_fd_);
  handoff.client_transform = std::move(transform_);
  handoff.client_is_tcp = service_->context().clients_are_tcp;
  handoff.upstream = std::move(data_);
  handoff.upstream_is_tcp = true;
  handoff.options = &service_->exchange_options();
  handoff.observer = std::move(transfer);
  handoff.admission = std::move(admission_);
  worker_.Post(std::move(handoff));
}

FtpAnswer FtpExchange::Ask(absl::string_view verb, absl::string_view argument) {
  return control_->Ask(verb, argument, Soon());
}

void FtpExchange::Refuse(const FtpAnswer& answer, FtpStep step) {
  FtpRefusal refusal = RefusalOf(answer, step, host_);
  Say(std::move(refusal.answer), refusal.result, Phase::kHandshake, answer.error);
}

void FtpExchange::Say(Answer answer, accounting::ResultCode result, Phase phase, int error) {
  answer.head_only = method_ == Method::kHead;
  accounting::TrafficRecord& record = record_->record();
  record.result = result;
  record.phase = phase;
  record.error = error;
  SayBytes(ToBytes(answer));
}

// What the record has is how it ended.
void FtpExchange::SayBytes(std::string bytes) {
  if (control_ != nullptr) control_->Quit();
  const accounting::TrafficRecord& record = record_->record();
  record_->Refuse(record.result, record.result.ok() ? Phase::kRelay : record.phase, record.error);
  relay::Handoff handoff;
  handoff.observer = std::make_unique<LastWord>(service_->shared_context(), std::move(bytes));
  handoff.client = std::move(client_fd_);
  handoff.client_transform = std::move(transform_);
  handoff.client_is_tcp = service_->context().clients_are_tcp;
  handoff.options = &service_->options().relay;
  handoff.admission = std::move(admission_);
  worker_.Post(std::move(handoff));
}

}  // namespace sluice::http
