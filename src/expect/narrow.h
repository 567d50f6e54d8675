// Narrow contracts: each asks for one service of a file system and for nothing else. What it does not ask for
// may be anything, so that a broken promise is that of one service. `sisyfs services` checks with them.
//
//   promised  What a sync, fsync, fdatasync, O_SYNC or fsync of a directory has made durable, and no later
//             call has touched, is there as it was. Names that no promise covers may be lost.
//   whole     A file that had its name all the time is there, with its whole content of some time.
//   fresh     Each byte of a file is one that the file had at that place, or zero.
#pragma once

#include <string>

#include "expect/contract.h"
#include "expect/history.h"

namespace sisyfs {

// Whether a power cut may leave `recovered` under one of these contracts. If not, and `why` is not null,
// `*why` is set to the reason.
bool narrow_allows(Contract contract, const History& history, const Tree& recovered, std::string* why);

}  // namespace sisyfs
