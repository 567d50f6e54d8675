#include "explore/worker_messages.h"

#include "explore/checkpoint.h"

namespace sisyfs::message {
namespace {

struct Writer {
  Encoder& out;
  void operator()(const Begin& m) { out.put(m); }
  void operator()(const Ready& m) { out.put(m); }
  void operator()(const Refused& m) { text(m.why); }
  void operator()(const Expand& m) {
    out.put_all(m.paths);
    out.put_all(m.added);
  }
  void operator()(const Walk& m) {
    out.put(m.options);
    out.put(m.number);
    out.put(m.length);
  }
  void operator()(const Stop&) {}
  void operator()(const End&) {}
  void operator()(const Lost&) {}
  void operator()(const Part& m) {
    out.put(m.ends);
    out.put(m.transitions);
    out.put(m.marks);
    out.put_all(m.mark_counts);
    out.put_all(m.successors);
    out.put_all(m.shown);
    out.put(m.counts);
  }
  void operator()(const Walked& m) {
    out.put(m.ends);
    out.put(m.tally);
    out.put_all(m.prints);
    out.put_all(m.met);
    out.put_all(m.choices);
    out.put(m.counts);
  }
  void operator()(const Account& m) {
    out.put(m.edges.has_value());
    out.put(m.edges.value_or(EdgeCount{}));
    text(m.trouble);
  }
  void text(const std::string& said) { out.put_all(std::vector<char>(said.begin(), said.end())); }
};

struct Reader {
  Decoder& in;
  void operator()(Begin& m) { in.get(m); }
  void operator()(Ready& m) { in.get(m); }
  void operator()(Refused& m) { text(m.why); }
  void operator()(Expand& m) {
    in.get_all(m.paths);
    in.get_all(m.added);
  }
  void operator()(Walk& m) {
    in.get(m.options);
    in.get(m.number);
    in.get(m.length);
  }
  void operator()(Stop&) {}
  void operator()(End&) {}
  void operator()(Lost&) {}
  void operator()(Part& m) {
    in.get(m.ends);
    in.get(m.transitions);
    in.get(m.marks);
    in.get_all(m.mark_counts);
    in.get_all(m.successors);
    in.get_all(m.shown);
    in.get(m.counts);
  }
  void operator()(Walked& m) {
    in.get(m.ends);
    in.get(m.tally);
    in.get_all(m.prints);
    in.get_all(m.met);
    in.get_all(m.choices);
    in.get(m.counts);
  }
  void operator()(Account& m) {
    bool has_edges = false;
    EdgeCount edges;
    in.get(has_edges);
    in.get(edges);
    if (has_edges) m.edges = edges;
    text(m.trouble);
  }
  void text(std::string& said) {
    std::vector<char> letters;
    in.get_all(letters);
    said.assign(letters.begin(), letters.end());
  }
};

template <size_t kind = 0>
bool make(size_t wanted, Any& to) {
  if constexpr (kind == std::variant_size_v<Any>) {
    return false;
  } else {
    if (kind != wanted) return make<kind + 1>(wanted, to);
    to.emplace<kind>();
    return true;
  }
}

}  // namespace

std::vector<std::byte> encode(const Any& message) {
  Encoder out;
  out.put(static_cast<uint8_t>(message.index()));
  std::visit(Writer{out}, message);
  return out.bytes();
}

std::optional<Any> decode(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  uint8_t kind = 0;
  in.get(kind);
  Any message;
  if (!in.ok() || !make(kind, message)) return std::nullopt;
  std::visit(Reader{in}, message);
  if (!in.done()) return std::nullopt;
  return message;
}

}  // namespace sisyfs::message
