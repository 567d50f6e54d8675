#include "finding/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/digest.h"
#include "base/mutant.h"
#include "finding/pack.h"
#include "finding/token_bytes.h"
#include "finding/valid.h"

namespace sisyfs {
namespace {

constexpr std::string_view kVersion = "s2";
constexpr size_t kParts = 6;
constexpr size_t kMostQuoted = 40;  // characters of a wrong word that an error repeats

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

std::string quoted(std::string_view text) {
  return fmt::format("'{}{}'", text.substr(0, kMostQuoted), text.size() > kMostQuoted ? "..." : "");
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("/._-+@=").find(c) != std::string_view::npos;
}

// A target may be a path. Every character that a token or a shell gives a meaning is written as % and two
// hexadecimal digits.
std::string escaped(std::string_view word) {
  std::string text;
  for (const char c : word)
    if (is_plain(c))
      text += c;
    else
      text += fmt::format("%{:02x}", static_cast<unsigned char>(c));
  return text;
}

Result<std::string> unescaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string word;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_plain(text[i])) {
      word += text[i];
      continue;
    }
    const size_t high = i + 1 < text.size() ? kDigits.find(text[i + 1]) : std::string_view::npos;
    const size_t low = i + 2 < text.size() ? kDigits.find(text[i + 2]) : std::string_view::npos;
    if (text[i] != '%' || high == std::string_view::npos || low == std::string_view::npos)
      return bad_input(
          fmt::format("the token has {}, which is not escaped as it must be: copy it again", quoted(text)));
    word += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return word;
}

Error not_a_token(std::string_view text) {
  return bad_input(
      fmt::format("{} is neither a file nor a token (a token starts with {}:)", quoted(text), kVersion));
}

Error wrong_version(std::string_view version) {
  if (version == "s1")
    return bad_input(fmt::format(
        "the token is of version s1, which named choices of one build; this program replays {}: run the "
        "check again",
        kVersion));
  return bad_input(
      fmt::format("the token is of version {}, this program replays {}: use the sisyfs that printed it",
                  version.substr(0, kMostQuoted), kVersion));
}

}  // namespace

std::string make_token(const Finding& finding) {
  std::string settings;
  for (const std::string& setting : finding.setup.settings) {
    if (!settings.empty()) settings += ',';
    settings += escaped(setting);
  }
  const std::string body = fmt::format("{}:{}:{}:{}:{}", kVersion, escaped(finding.setup.target), settings,
                                       info(finding.kind).code, base64url(token_bytes(finding)));
  return body + ":" + checksum(body);
}

Result<Finding> parse_token(std::string_view token) {
  const std::string_view version = token.substr(0, token.find(':'));
  if (version.size() < 2 || version[0] != 's' ||
      version.find_first_not_of("0123456789", 1) != std::string_view::npos)
    return not_a_token(token);
  if (version != kVersion) return wrong_version(version);
  if (const auto colons = static_cast<size_t>(std::count(token.begin(), token.end(), ':'));
      colons + 1 != kParts)
    return bad_input(fmt::format(
        "the token has {} of {} parts: it was cut off or changed; copy the whole word", colons + 1, kParts));
  const std::vector<std::string_view> parts = split(token, ':');
  const std::string_view body = token.substr(0, token.size() - parts[5].size() - 1);
  if (checksum(body) != parts[5] && !mutant(Mutant::kTrustToken))
    return bad_input("the token's checksum does not fit: it was cut off or changed; copy the whole word");
  const auto kind = find_kind(parts[3]);
  if (!kind || kind->code != parts[3])
    return bad_input(
        fmt::format("the token names the finding {}, which this program does not know: use the "
                    "sisyfs that printed it",
                    quoted(parts[3])));
  Finding finding{.kind = kind->kind, .setup = {}, .others = {}, .surroundings = {}, .steps = {}};
  Result<std::string> target = unescaped(parts[1]);
  if (!target) return target.error();
  finding.setup.target = *std::move(target);
  if (!parts[2].empty())
    for (const std::string_view text : split(parts[2], ',')) {
      Result<std::string> setting = unescaped(text);
      if (!setting) return setting.error();
      finding.setup.settings.push_back(*std::move(setting));
    }
  const std::optional<std::string> bytes = from_base64url(parts[4]);
  if (!bytes) return bad_input("the steps of the token are not base64url: it was changed; copy it again");
  if (Status s = read_token_bytes(*bytes, finding); !s) return s.error();
  if (Status s = validate(finding); !s) return bad_input("the token breaks a rule: " + s.error().message);
  return finding;
}

}  // namespace sisyfs
