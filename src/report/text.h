// Findings and closing statements as text for people.
#pragma once

#include <span>
#include <string>

#include "explore/search.h"
#include "finding/check.h"
#include "finding/told_finding.h"

namespace sisyfs {

// How text is drawn. Colour is off on a pipe and where NO_COLOR is set; the CLI decides.
struct TextStyle {
  bool colour = false;
};

// The story of a finding: its steps, its writes, what was seen and expected, and how to replay it.
std::string tell(const ToldFinding& told, const TextStyle& style);

// What was covered and what was not: the end of every run.
std::string closing_statement(const Setup& setup, const Check& check, const SearchOptions& options,
                              const SearchResult& result, const TextStyle& style);

// 12345678 as 12,345,678; 1234567 bytes as 1.2 MB; 0.0123 s as 12 ms.
std::string count_text(uint64_t n);
std::string bytes_text(uint64_t bytes);
std::string seconds_text(double seconds);

// "power cuts in recovery (--set nesting=1); ..."
std::string not_tried_text(std::span<const NotTried> all);

}  // namespace sisyfs
