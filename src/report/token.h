// Replay tokens: a finding as one short word that a shell takes without quotes.
//
//   s1:link:order=naive,cache=off:M3:0.16x2.34.0.34:5e1c
//   |  |    |                     |  |              checksum of all before it
//   |  |    |                     |  choices, with runs as choice x times
//   |  |    settings that differ  finding code
//   |  target
//   version of the token format
//
// The meaning of choices belongs to the target; a change of it changes the version.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "judge/finding.h"

namespace sisyfs {

struct Replay {
  FindingKind kind{};
  Setup setup;
  Trace trace;
  bool operator==(const Replay&) const = default;
};

std::string make_token(const Replay& replay);

// Fails with one sentence that says what is wrong: not a token, another version, truncated, malformed.
Result<Replay> parse_token(std::string_view token);

}  // namespace sisyfs
