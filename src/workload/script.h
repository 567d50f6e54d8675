// Script: a workload that the user has written, as the ops that may follow at each position.
//
//   create /a
//   append /a 512 | write /a 0 512     # one of them
//   ? fsync /a                         # with it and without it
//   repeat 3 {
//     append /a 512
//   }
//   crash                              # the power may go during the op before, and in no line without this
//   expect /a file 2048                # what the tree must be like here
//
// docs/formats/script.md describes the language. A script is compiled once; a position is a number, so a
// state of a search holds its place in the script as one integer.
//
//   Result<Script> script = Script::parse(text);
//   script->each_from(0, [](const Script::Line&, const Op& op, uint32_t next) { use(op, next); });
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/op.h"

namespace sisyfs {

class Script {
 public:
  // What a script says of a path (or handle) at its place.
  struct Fact {
    enum class Kind : uint8_t { kAbsent, kFile, kDirectory, kSymlink, kSize, kMode, kLinks };
    Kind kind = Kind::kAbsent;
    Path path;
    uint64_t number = 0;  // the size, mode or number of links
    Path target;          // kSymlink: where it leads; empty: anywhere
    uint32_t line = 0, column = 0;
  };
  // What the ops of a line must answer.
  struct Answer {
    int error = 0;
    std::optional<uint64_t> value;  // of a success
    uint32_t line = 0, column = 0;
  };
  // A line, after repetitions were written out.
  struct Line {
    std::vector<Op> ops;    // one of them is done
    bool optional = false;  // or none
    bool crash = false;     // the power may go during it
    bool after = false;     // ... but only once it has promised something
    uint32_t number = 0;    // of the line in the text, from 1
    uint32_t column = 0;    // of its first op, from 1
    std::optional<Answer> answer = {};
    std::vector<Fact> facts = {};  // that hold after it, done or left out
  };
  static constexpr size_t kMostLines = 10'000;
  static constexpr size_t kMostText = 65'536;

  // The error names line and column.
  static Result<Script> parse(std::string_view text);

  // A script of these ops, one after the other.
  static Script of(const std::vector<Op>& ops);

  const std::vector<Line>& lines() const { return lines_; }
  // Whether the power may go during the ops of a line: in each line, unless the script says where.
  bool may_cut(const Line& line) const { return !has_crashes_ || line.crash; }

  // Whether one of several right answers is demanded of an op (Op::demand).
  bool demands() const { return demands_; }

  // Calls use(line, op, next) for each op that may come at a position; the script goes on at `next`. At the
  // end of the script there is none.
  template <class Use>
  void each_from(uint32_t position, Use use) const {
    for (size_t i = position; i < lines_.size(); ++i) {
      for (const Op& op : lines_[i].ops) use(lines_[i], op, static_cast<uint32_t>(i + 1));
      if (!lines_[i].optional) return;
    }
  }

 private:
  std::vector<Line> lines_;
  bool has_crashes_ = false;
  bool demands_ = false;
};

}  // namespace sisyfs
