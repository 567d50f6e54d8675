// Problem: one thing that a target's own check found wrong, as numbers; text comes from the catalogue.
//
// A target declares its problems once, as a table. The check fills a RepairReport with entries of that
// table and up to four numbers each. Reports and findings are made from it; no text is made before.
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
  kRepairable,  // nothing is lost by repairing it, e.g. a block that nobody uses
  kCritical,    // something is lost or will be
};

struct ProblemKind {
  const char* code;  // stable: "M2"
  const char* name;  // stable: "lost-block"
  Severity severity;
  const char* text;  // {0} .. {3} stand for the numbers
  int block = -1;    // which of them is a block of the disk, whose fate a report then tells; -1: none
};

struct Problem {
  uint16_t kind = 0;  // position in the target's table
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
  // Nothing was wrong.
  bool clean() const { return error == 0 && problems.empty(); }
  // Nothing is wrong any more.
  bool sound() const;
};

// "M2 lost-block: block 3 of file 1 is free in the table"
std::string to_text(const Problem& problem, std::span<const ProblemKind> kinds);

}  // namespace sisyfs
