// Closing statements as text for people.
#pragma once

#include <span>
#include <string>

#include "explore/search.h"
#include "finding/check.h"
#include "finding/finding.h"
#include "report/layout.h"

namespace sisyfs {

// What was covered and what was not: the end of every run.
std::string closing_statement(const Setup& setup, const Check& check, const SearchOptions& options,
                              const SearchResult& result, const TextStyle& style);

// 1234567 bytes as 1.2 MB; 0.0123 s as 12 ms.
std::string bytes_text(uint64_t bytes);
std::string seconds_text(double seconds);

// "power cuts in recovery (--set nesting=1); ..."
std::string not_tried_text(std::span<const NotTried> all);

}  // namespace sisyfs
