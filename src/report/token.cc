#include "report/token.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <charconv>
#include <vector>

#include "base/mutant.h"
#include "target/options.h"
namespace sisyfs {
namespace {

constexpr std::string_view kVersion = "s1";
constexpr uint64_t kMostChoices = 1'000'000;

std::string checksum(std::string_view text) {
  return fmt::format("{:04x}", digest_of(text.data(), text.size()).lo & 0xFFFF);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool parse_number(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string choices_text(const Trace& trace) {
  std::string text;
  for (size_t i = 0; i < trace.size();) {
    size_t run = 1;
    while (i + run < trace.size() && trace[i + run] == trace[i]) ++run;
    if (!text.empty()) text += '.';
    text += fmt::format("{}", static_cast<uint32_t>(trace[i]));
    if (run > 1 && !mutant(Mutant::kRunsAreOne)) text += fmt::format("x{}", run);
    i += run;
  }
  return text;
}

// A target may be a path. What a token or a shell takes for something else is written as % and two digits.
std::string escaped(std::string_view target) {
  std::string text;
  for (const char c : target) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("/._-+@=").find(c) != std::string_view::npos;
    if (plain)
      text += c;
    else
      text += fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string target;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    const bool coded = text[i] == '%' && i + 2 < text.size() &&
                       std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
    target += coded ? static_cast<char>(value) : text[i];
    if (coded) i += 2;
  }
  return target;
}

Result<Trace> parse_choices(std::string_view text) {
  Trace trace;
  if (text.empty()) return trace;
  for (std::string_view item : split(text, '.')) {
    const auto parts = split(item, 'x');
    uint64_t choice = 0, times = 1;
    const bool good = parts.size() <= 2 && parse_number(parts[0], choice) && choice <= UINT32_MAX &&
                      (parts.size() == 1 || parse_number(parts[1], times)) && times >= 1 &&
                      times <= kMostChoices - trace.size();
    if (!good) return bad_input(fmt::format("'{}' is not a choice of a trace", item));
    trace.insert(trace.end(), times, Choice{static_cast<uint32_t>(choice)});
  }
  return trace;
}

}  // namespace

std::string make_token(const Replay& replay) {
  const std::string body =
      fmt::format("{}:{}:{}:{}:{}", kVersion, escaped(replay.setup.target),
                  fmt::join(replay.setup.settings, ","), info(replay.kind).code, choices_text(replay.trace));
  return body + ":" + checksum(body);
}

Result<Replay> parse_token(std::string_view token) {
  const auto parts = split(token, ':');
  if (parts[0].size() < 2 || parts[0][0] != 's' ||
      parts[0].find_first_not_of("0123456789", 1) != std::string_view::npos)
    return bad_input(
        fmt::format("'{}' is neither a file nor a replay token (a token starts with {}:)", token, kVersion));
  if (parts[0] != kVersion)
    return bad_input(
        fmt::format("the token is of version {}, this program replays {}: use the sisyfs that printed it",
                    parts[0], kVersion));
  if (parts.size() != 6)
    return bad_input(fmt::format(
        "the token has {} of 6 parts: it was cut off or changed; copy the whole word", parts.size()));
  const std::string_view body = token.substr(0, token.size() - parts[5].size() - 1);
  if (checksum(body) != parts[5] && !mutant(Mutant::kTrustToken))
    return bad_input("the token's checksum does not fit: it was cut off or changed; copy the whole word");
  const auto kind = find_kind(parts[3]);
  if (!kind)
    return bad_input(
        fmt::format("the token names the finding '{}', which this program does not know", parts[3]));
  Replay replay;
  replay.kind = kind->kind;
  replay.setup.target = unescaped(parts[1]);
  if (!parts[2].empty())
    for (std::string_view setting : split(parts[2], ',')) replay.setup.settings.emplace_back(setting);
  if (Status s = Options::each_once(replay.setup.settings); !s)
    return bad_input("the token was changed: " + s.error().message);
  Result<Trace> trace = parse_choices(parts[4]);
  if (!trace) return trace.error();
  replay.trace = *std::move(trace);
  return replay;
}

}  // namespace sisyfs
