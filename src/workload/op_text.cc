#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <limits>

#include "workload/op.h"

namespace sisyfs {
namespace {

// The arguments after the name of each op.
enum class Part : uint8_t {
  kNone,
  kPath,
  kOtherPath,
  kTarget,
  kAttribute,
  kOffset,
  kLength,
  kVersion,
  kHandle,
  kNewHandle,
  kMode
};

struct Form {
  const char* name;
  std::array<Part, 4> parts;
};

constexpr Part kNone = Part::kNone, kPath = Part::kPath, kOtherPath = Part::kOtherPath,
               kTarget = Part::kTarget, kAttribute = Part::kAttribute, kOffset = Part::kOffset,
               kLength = Part::kLength, kVersion = Part::kVersion, kHandle = Part::kHandle,
               kNewHandle = Part::kNewHandle, kMode = Part::kMode;

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
    {"open @", {kPath, kNewHandle}},
    {"close @", {kHandle}},
    {"write @", {kHandle, kOffset, kLength, kVersion}},
    {"append @", {kHandle, kLength, kVersion}},
    {"truncate @", {kHandle, kOffset}},
    {"read @", {kHandle, kOffset, kLength}},
    {"stat @", {kHandle}},
    {"fsync @", {kHandle}},
    {"fdatasync @", {kHandle}},
    {"chmod", {kPath, kMode}},
    {"fallocate", {kPath, kOffset, kLength}},
    {"fallocate_keep", {kPath, kOffset, kLength}},
    {"punch_hole", {kPath, kOffset, kLength}},
    {"zero_range", {kPath, kOffset, kLength}},
    {"exchange", {kPath, kOtherPath}},
    {"rename_new", {kPath, kOtherPath}},
    {"write_direct", {kPath, kOffset, kLength, kVersion}},
    {"write_mapped", {kPath, kOffset, kLength, kVersion}},
    {"msync", {kPath}},
    {"syncfs", {}},
    {"commit", {}},
    {"play", {kOffset}},
}};

const Form& form_of(OpKind kind) { return kForms[static_cast<size_t>(kind)]; }

// The first word of the op: "write", also of a write to a handle.
std::string_view word_of(const Form& form) {
  const std::string_view name = form.name;
  return name.substr(0, name.find(' '));
}

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
    case kHandle:
    case kNewHandle:
      return "a handle such as @1";
    case kMode:
      return "an octal mode such as 644";
    case kNone:
      break;
  }
  return "nothing";
}

template <class Number>
std::string parse_number(std::string_view word, uint64_t limit, Number* out, int base = 10) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (end != word.data() + word.size() || (error != std::errc() && error != std::errc::result_out_of_range)) {
    return base == 8 ? "is not an octal number" : "is not a whole number";
  }
  if (error != std::errc() || value > limit)
    return base == 8 ? fmt::format("is more than {:o}", limit) : fmt::format("is more than {}", limit);
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
    case kHandle:
    case kNewHandle:
      if (Tree::handle_in(word) == Tree::kHandles)
        return fmt::format("is not a handle; they are @1 to @{}", uint32_t{Tree::kHandles});
      (part == kHandle ? op->path : op->other) = Path(word);
      return {};
    case kMode:
      return parse_number(word, kAllModeBits, &op->length, 8);
    case kNone:
      break;
  }
  return "is not expected";
}

}  // namespace

const char* op_name(OpKind kind) { return form_of(kind).name; }

std::string to_text(const Op& op) {
  std::string out(word_of(form_of(op.kind)));
  for (Part part : form_of(op.kind).parts) {
    switch (part) {
      case kPath:
      case kHandle:
        fmt::format_to(std::back_inserter(out), " {}", op.path.text());
        break;
      case kOtherPath:
      case kNewHandle:
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
      case kMode:
        fmt::format_to(std::back_inserter(out), " {:o}", op.length);
        break;
      case kNone:
        break;
    }
  }
  if (op.demand != 0) fmt::format_to(std::back_inserter(out), " expect {}", errno_text(op.demanded()));
  return out;
}

namespace {

// Which op this is: the one with this name, or the same op on a handle if a handle comes where it has one.
size_t kind_in(std::string_view name, Words words) {
  size_t kind = 0;
  while (kind < kOpKinds && name != word_of(kForms[kind])) ++kind;
  for (size_t other = kind + 1; other < kOpKinds; ++other) {
    if (name != word_of(kForms[other])) continue;
    // An op on a handle begins with it; only opening one begins with a path.
    const std::string_view first = words.next(), second = words.next();
    const std::string_view handle = kForms[other].parts[0] == kHandle ? first : second;
    return handle.starts_with('@') ? other : kind;
  }
  return kind;
}

}  // namespace

Result<Op> parse_op(std::string_view line) {
  Words words(line);
  const std::string_view name = words.next();
  if (name.empty()) return bad_input("an op is missing; e.g. 'create /a'");
  Op op;
  const size_t kind = kind_in(name, words);
  if (kind == kOpKinds) {
    std::string known;
    for (const Form& form : kForms)
      if (word_of(form) == form.name) known += fmt::format("{}{}", known.empty() ? "" : ", ", form.name);
    return bad_input(fmt::format("unknown op '{}' in column {}; ops are {}", name, words.column(), known));
  }
  op.kind = static_cast<OpKind>(kind);
  const Form& form = kForms[kind];
  for (Part part : form.parts) {
    if (part == kNone) break;
    const Words before = words;
    const std::string_view word = words.next();
    if (part == kVersion && (word.empty() || word == "expect")) {
      words = before;
      break;
    }
    if (word.empty())
      return bad_input(
          fmt::format("'{}' wants {} in column {}", name, part_name(form, part), words.column()));
    if (const std::string wrong = parse_part(part, word, &op); !wrong.empty()) {
      return bad_input(fmt::format("'{}' in column {} {}", word, words.column(), wrong));
    }
  }
  std::string_view word = words.next();
  if (word == "expect") {
    word = words.next();
    const int error = errno_named(word);
    if (error < 0)
      return bad_input(
          fmt::format("'expect' wants 0 or an errno such as ENOENT in column {}", words.column()));
    op.demand = static_cast<uint16_t>(error + 1);
    word = words.next();
  }
  if (!word.empty()) {
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
      "readdir gives a name that cannot be one",
      "readdir gives this name twice",
      "its path is too long",
      "stat gives no type, or one that is none",
      "its id is that of a file of another type",
      "its mode has bits beyond 0777",
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

int errno_named(std::string_view text) {
  constexpr int kLast = 133;  // of Linux
  if (text == "0") return 0;
  for (int error = 1; error <= kLast; ++error) {
    const char* name = ::strerrorname_np(error);
    if (name != nullptr && text == name) return error;
  }
  return -1;
}

}  // namespace sisyfs
