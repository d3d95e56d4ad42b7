#include "protocols/http/testing/conversation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "protocols/http/testing/recording_framer.h"
#include "protocols/service/snapshot.h"

namespace sluice::http {
namespace {

using Next = relay::Framer::Next;
constexpr int kUp = 0, kDown = 1;

class Player {
 public:
  Player(absl::string_view client, size_t client_piece, std::vector<std::string> answers, size_t upstream_piece)
      : client_(client), answers_(std::move(answers)), client_piece_(client_piece), upstream_piece_(upstream_piece) {}

  Heard Play() {
    while (!ended_ && Move()) {
    }
    return std::move(heard_);
  }

 private:
  // One piece of either; false when nothing can move.
  bool Move() {
    if (framer_ == nullptr) return BeginSession();
    if (framer_->Wants(kUp) && (framer_->HoldsInput() || !client_.empty())) {
      if (framer_->HoldsInput()) return Show(kUp, absl::string_view(), 0);
      return Show(kUp, client_, client_piece_);
    }
    if (answering_ != heard_.over.size()) {
      answering_ = heard_.over.size();
      upstream_ = answering_ < answers_.size() ? absl::string_view(answers_[answering_]) : absl::string_view();
    }
    if (!framer_->Quiet() && !upstream_.empty()) return Show(kDown, upstream_, upstream_piece_);
    const int direction = framer_->Quiet() ? kUp : kDown;
    GoOn(direction, framer_->OnEnd(direction, 0, 0));
    return true;
  }

  // The part of RequestReader: bytes until a head is whole.
  bool BeginSession() {
    HeadScanner scanner;
    while (scanner.Scan(held_) == HeadScanner::State::kMore) {
      if (client_.empty()) return false;
      const absl::string_view piece = client_.substr(0, client_piece_);
      held_.append(piece.data(), piece.size());
      client_.remove_prefix(piece.size());
    }
    const std::string head = held_.substr(0, scanner.Scan(held_) == HeadScanner::State::kWhole ? scanner.end() : 0);
    RequestHead request;
    const absl::string_view text = absl::string_view(head).substr(std::min(scanner.leading_bytes(), head.size()));
    const bool good = !text.empty() && ParseRequestHead(text, request).ok() && request.method != Method::kConnect &&
                      request.authority.host == "o";
    if (!good) {
      heard_.refused = true;
      return false;
    }
    framer_ = std::make_unique<RecordingFramer>(&policy_, &heard_.over);
    heard_.upstream += framer_->Begin(request, text, held_.substr(head.size()), /*reused=*/false);
    held_.clear();
    return true;
  }

  bool Show(int direction, absl::string_view bytes, size_t most) {
    absl::string_view& source = direction == kUp ? client_ : upstream_;
    std::string& sink = direction == kUp ? heard_.upstream : heard_.client;
    absl::string_view piece = bytes.substr(0, most);
    const int64_t raw = framer_->RawBytes(direction);
    if (raw >= 64 && !piece.empty() && raw != relay::Framer::kUntilEnd) {  // as the engine splices
      piece = piece.substr(0, static_cast<size_t>(std::min<int64_t>(raw, static_cast<int64_t>(piece.size()))));
      sink.append(piece.data(), piece.size());
      source.remove_prefix(piece.size());
      GoOn(direction, framer_->OnRaw(direction, static_cast<int64_t>(piece.size())));
      return true;
    }
    if (!piece.empty()) source.remove_prefix(piece.size());
    size_t at = 0;
    for (bool more = true; more;) {
      const relay::Framer::Step step = framer_->OnBytes(direction, piece.substr(at), sink);
      const absl::string_view pass = piece.substr(at + step.pass_begin, step.pass_bytes);
      sink.append(pass.data(), pass.size());
      at += step.taken;
      more = step.next == Next::kGoOn && step.taken > 0 && at < piece.size();
      if (step.next == Next::kTunnel) {
        const absl::string_view rest = piece.substr(at);
        heard_.tunnel_to_client.append(rest.data(), rest.size());
      }
      if (!more) GoOn(direction, step.next);
    }
    return true;
  }

  void GoOn(int, Next next) {
    switch (next) {
      case Next::kGoOn:
      case Next::kEndUp:  // the keepalive framer never says it
        return;
      case Next::kTunnel:
        heard_.tunnel = ended_ = true;
        heard_.tunnel_to_upstream = framer_->TakeHeld() + std::string(client_);
        heard_.tunnel_to_client += std::string(upstream_);
        return;
      case Next::kClose:
        heard_.client += framer_->TakeAnswer();
        ended_ = true;
        return;
      case Next::kAbort:
        heard_.aborted = ended_ = true;
        return;
      case Next::kReturn:
        held_ = framer_->TakeHeld();
        framer_.reset();
        if (held_.empty() && client_.empty()) ended_ = true;
        return;
    }
  }

  const ForwardingPolicy policy_{service::ClientDisclosure::kNothing, "p:1"};
  absl::string_view client_;
  const std::vector<std::string> answers_;
  size_t answering_ = static_cast<size_t>(-1);  // the answer that upstream_ is the rest of
  absl::string_view upstream_;
  const size_t client_piece_, upstream_piece_;
  std::unique_ptr<RecordingFramer> framer_;
  std::string held_;
  Heard heard_;
  bool ended_ = false;
};

}  // namespace

Heard Play(absl::string_view from_client, size_t client_piece, std::vector<std::string> answers,
           size_t upstream_piece) {
  return Player(from_client, client_piece, std::move(answers), upstream_piece).Play();
}

}  // namespace sluice::http
