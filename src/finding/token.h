// Tokens: a finding as one short word that a shell takes without quotes.
//
//   s2:link:order=naive,cache=off:M3:AQqgABY-4QAAoAAYPoEI:5ca3
//   |  |    |                     |  |                    checksum of all before it
//   |  |    |                     |  the steps, as bytes in base64url
//   |  |    settings that differ  finding code
//   |  target
//   version of the token format
//
// docs/formats/token.md has every bit. A token never changes its meaning: tests/tokens/corpus.txt holds some
// of each kind, with what they say.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "finding/finding.h"

namespace sisyfs {

// For a finding that validate() accepts (finding/valid.h), parse_token() gives an equal one back.
std::string make_token(const Finding& finding);

// Total: every other text fails with one sentence that says what is wrong: not a token, another version, cut
// off, changed, of a later program, or steps that break a rule.
Result<Finding> parse_token(std::string_view token);

}  // namespace sisyfs
