// The steps of a finding as a short string of bytes: what a token holds in base64url (docs/formats/token.md).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "finding/finding.h"

namespace sisyfs {

// Steps, other targets and surroundings. Never fails: a finding that breaks a rule of finding/valid.h gives
// bytes too, which a reader refuses or takes for another finding.
std::string token_bytes(const Finding& finding);

// The opposite, into the same fields of `finding`. Fails with one sentence for every other string, and for a
// finding beyond the limits of finding/valid.h. Other rules are left to validate().
Status read_token_bytes(std::string_view bytes, Finding& finding);

}  // namespace sisyfs
