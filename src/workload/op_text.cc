#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <limits>

#include "workload/op.h"

namespace sisyfs {
namespace {

// The arguments after the name of each op.
enum class Part : uint8_t { kNone, kPath, kOtherPath, kTarget, kAttribute, kOffset, kLength, kVersion };

struct Form {
  const char* name;
  std::array<Part, 4> parts;
};

constexpr Part kNone = Part::kNone, kPath = Part::kPath, kOtherPath = Part::kOtherPath,
               kTarget = Part::kTarget, kAttribute = Part::kAttribute, kOffset = Part::kOffset,
               kLength = Part::kLength, kVersion = Part::kVersion;

constexpr std::array<Form, kOpKinds> kForms{{
    {"create", {kPath}},
    {"mkdir", {kPath}},
    {"unlink", {kPath}},
    {"rmdir", {kPath}},
    {"rename", {kPath, kOtherPath}},
    {"link", {kPath, kOtherPath}},
    {"symlink", {kTarget, kPath}},
    {"write", {kPath, kOffset, kLength, kVersion}},
    {"append", {kPath, kLength, kVersion}},
    {"truncate", {kPath, kOffset}},
    {"read", {kPath, kOffset, kLength}},
    {"readdir", {kPath}},
    {"stat", {kPath}},
    {"fsync", {kPath}},
    {"fdatasync", {kPath}},
    {"sync", {}},
    {"remount", {}},
    {"open", {kPath}},
    {"close", {kPath}},
    {"snapshot", {}},
    {"restore", {}},
    {"fsck", {}},
    {"write_sync", {kPath, kOffset, kLength, kVersion}},
    {"setxattr", {kPath, kAttribute, kLength, kVersion}},
    {"getxattr", {kPath, kAttribute}},
    {"listxattr", {kPath}},
    {"removexattr", {kPath, kAttribute}},
}};

const Form& form_of(OpKind kind) { return kForms[static_cast<size_t>(kind)]; }

// Splits a line into words and remembers the column of each.
class Words {
 public:
  explicit Words(std::string_view line) : line_(line) {}
  // The next word, empty at the end.
  std::string_view next() {
    at_ = std::min(line_.find_first_not_of(" \t", end_), line_.size());
    end_ = std::min(line_.find_first_of(" \t", at_), line_.size());
    return line_.substr(at_, end_ - at_);
  }
  size_t column() const { return at_ + 1; }

 private:
  std::string_view line_;
  size_t at_ = 0, end_ = 0;
};

const char* part_name(const Form& form, Part part) {
  switch (part) {
    case kPath:
      return "a path";
    case kOtherPath:
      return "a second path";
    case kTarget:
      return "a link target";
    case kAttribute:
      return "an attribute such as user.a";
    case kOffset:
      return form.parts[2] == kNone ? "a size" : "an offset";
    case kLength:
      return "a length";
    case kVersion:
      return "a version such as v1";
    case kNone:
      break;
  }
  return "nothing";
}

template <class Number>
std::string parse_number(std::string_view word, uint64_t limit, Number* out) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size() || (error != std::errc() && error != std::errc::result_out_of_range)) {
    return "is not a whole number";
  }
  if (error != std::errc() || value > limit) return fmt::format("is more than {}", limit);
  *out = static_cast<Number>(value);
  return {};
}

std::string parse_path(std::string_view word, bool canonical, Path* out) {
  if (word.size() > Path::kCapacity) return fmt::format("is longer than {} characters", Path::kCapacity);
  if (!Path::holds(word)) return "has a control character";
  if (canonical && word.front() != '/') return "is not an absolute path";
  if (canonical && !Path::is_canonical(word)) return "has an empty, '.' or '..' component";
  *out = Path(word);
  return {};
}

// What is wrong with the word; empty if it is valid.
std::string parse_part(Part part, std::string_view word, Op* op) {
  switch (part) {
    case kPath:
      return parse_path(word, true, &op->path);
    case kOtherPath:
      return parse_path(word, true, &op->other);
    case kTarget:
    case kAttribute:
      return parse_path(word, false, &op->other);
    case kOffset:
      return parse_number(word, FileData::kMaxSize, &op->offset);
    case kLength:
      return parse_number(word, std::numeric_limits<uint32_t>::max(), &op->length);
    case kVersion:
      if (word.front() != 'v') return "is not a version such as v1";
      return parse_number(word.substr(1), kVersions - 1, &op->version);
    case kNone:
      break;
  }
  return "is not expected";
}

}  // namespace

const char* op_name(OpKind kind) { return form_of(kind).name; }

std::string to_text(const Op& op) {
  std::string out = op_name(op.kind);
  for (Part part : form_of(op.kind).parts) {
    switch (part) {
      case kPath:
        fmt::format_to(std::back_inserter(out), " {}", op.path.text());
        break;
      case kOtherPath:
      case kTarget:
      case kAttribute:
        fmt::format_to(std::back_inserter(out), " {}", op.other.text());
        break;
      case kOffset:
        fmt::format_to(std::back_inserter(out), " {}", op.offset);
        break;
      case kLength:
        fmt::format_to(std::back_inserter(out), " {}", op.length);
        break;
      case kVersion:
        if (op.version != 0) fmt::format_to(std::back_inserter(out), " v{}", op.version);
        break;
      case kNone:
        break;
    }
  }
  return out;
}

Result<Op> parse_op(std::string_view line) {
  Words words(line);
  const std::string_view name = words.next();
  if (name.empty()) return bad_input("an op is missing; e.g. 'create /a'");
  Op op;
  size_t kind = 0;
  while (kind < kOpKinds && name != kForms[kind].name) ++kind;
  if (kind == kOpKinds) {
    std::string known;
    for (const Form& form : kForms) known += fmt::format("{}{}", known.empty() ? "" : ", ", form.name);
    return bad_input(fmt::format("unknown op '{}' in column {}; ops are {}", name, words.column(), known));
  }
  op.kind = static_cast<OpKind>(kind);
  const Form& form = kForms[kind];
  for (Part part : form.parts) {
    if (part == kNone) break;
    const std::string_view word = words.next();
    if (word.empty() && part == kVersion) break;
    if (word.empty())
      return bad_input(
          fmt::format("'{}' wants {} in column {}", name, part_name(form, part), words.column()));
    if (const std::string wrong = parse_part(part, word, &op); !wrong.empty()) {
      return bad_input(fmt::format("'{}' in column {} {}", word, words.column(), wrong));
    }
  }
  if (const std::string_view word = words.next(); !word.empty()) {
    return bad_input(
        fmt::format("'{}' in column {} is one word too many for '{}'", word, words.column(), name));
  }
  return op;
}

std::string errno_text(int error) {
  static constexpr const char* kOwn[] = {
      "a number that is no errno",
      "more bytes than were asked for",
      "the root is no directory",
      "a directory lists a name twice, or one that cannot be",
      "its path is too long",
      "it has no type, or its names have several",
      "there is no end of files and directories",
      "its size is larger than all that was written",
      "it ends before its size",
      "a symbolic link has no content, or no end",
  };
  if (error == 0) return "0";
  if (error >= kNoErrno && static_cast<size_t>(error - kNoErrno) < std::size(kOwn))
    return kOwn[error - kNoErrno];
  const char* name = ::strerrorname_np(error);
  return name ? name : fmt::format("errno {}", error);
}

}  // namespace sisyfs
