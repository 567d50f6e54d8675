// Problem: one defect that the offline check of a target found, as numbers.
//
// A target declares its problems once, as a table (Vocabulary::problems). The check adds entries to a
// RepairReport: a position in that table and up to four numbers. Text is made only for a report.
//
//   constexpr ProblemKind kProblems[] = {{"M2", "lost-block", Severity::kCritical,
//                                         "block {1} of file {0} is free in the table"}};
//   report->add(0, false, {file, block});
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sisyfs {

enum class Severity : uint8_t {
  kRepairable,  // a repair loses nothing, e.g. an allocated block that no file uses
  kCritical,    // data is lost, or will be
};

struct ProblemKind {
  const char* code;  // stable: "M2"
  const char* name;  // stable: "lost-block"
  Severity severity;
  const char* text;  // {0} .. {3} are replaced by the numbers
  int block = -1;    // which number is a block of the disk, whose writes a report then lists; -1: none
};

struct Problem {
  uint16_t kind = 0;  // position in the table
  bool repaired = false;
  std::array<int64_t, 4> context{};

  friend bool operator==(const Problem&, const Problem&) = default;
};

struct RepairReport {
  int error = 0;  // an errno if the check itself could not be carried out
  std::vector<Problem> problems;

  void clear() { error = 0, problems.clear(); }
  void add(uint16_t kind, bool repaired, std::array<int64_t, 4> context = {}) {
    problems.push_back({kind, repaired, context});
  }
  // No problems.
  bool clean() const { return error == 0 && problems.empty(); }
  // All problems were repaired.
  bool sound() const;
};

// "M2 lost-block: block 3 of file 1 is free in the table"
std::string to_text(const Problem& problem, std::span<const ProblemKind> kinds);

}  // namespace sisyfs
