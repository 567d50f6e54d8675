#include "machine/usable.h"

#include <fmt/format.h>

#include <cerrno>
#include <vector>

#include "disk/wear.h"
#include "tree/tree_text.h"

namespace sisyfs {
namespace {

class Trial {
 public:
  Trial(const TargetKind& kind, Target& target, Media& disk, const Bounds& bounds, Tree tree,
        TrialNotes* notes)
      : kind_(kind), target_(target), disk_(disk), bounds_(bounds), tree_(std::move(tree)), notes_(notes) {}

  bool run() {
    return (try_new_file(kind_.claims.limited_space) && delete_all() && try_when_empty() && comes_back()) ||
           bad_unit_refused_;
  }

  std::optional<Op> refused_for_space() {
    (void)try_new_file(true);
    return refused_;
  }

 private:
  bool can(OpKind kind) const { return kind_.ops.has(kind); }

  // Only where there is something to tell is there anything to format.
  template <class... Args>
  bool fail(fmt::format_string<Args...> text, Args&&... args) {
    if (notes_ != nullptr) notes_->why = fmt::format(text, std::forward<Args>(args)...);
    return false;
  }

  // A call of this name follows. Until it is answered, it has no answer.
  void begin(const std::string& call) {
    const size_t events = disk_.state().log.size();
    notes_->calls.push_back({call, "", events, events, disk_.state().current});
    note_events();
  }
  void note_events() {
    notes_->log = disk_.state().log;
    notes_->calls.back().end = notes_->log.size();
  }
  void answered(std::string answer) {
    notes_->calls.back().answer = std::move(answer);
    note_events();
  }
  // The same for a call that answers an errno.
  template <class Call>
  int noted(const char* name, Call&& call) {
    if (notes_ != nullptr) begin(name);
    const int error = call();
    if (notes_ != nullptr) answered(errno_text(error));
    return error;
  }

  // Performs the op here and there. With `may_be_full` no room is a good answer; *full says that it was
  // given.
  bool perform(const Op& op, bool may_be_full = false, bool* full = nullptr) {
    if (notes_ != nullptr) begin(to_text(op));
    const OpResult result = target_.apply(op);
    if (notes_ != nullptr)
      answered(result.error != 0 ? errno_text(result.error) : fmt::format("{}", result.value));
    if (may_be_full && result.error == ENOSPC) {
      *full = true;
      refused_ = op;
      return true;
    }
    const OpResult expected = sisyfs::apply(op, tree_);
    if (result == expected) return true;
    if (may_refuse(result.error)) return false;
    if (result.error != expected.error)
      return fail("'{}' answers {}, expected {}", to_text(op), errno_text(result.error),
                  errno_text(expected.error));
    if (result.value != expected.value)
      return fail("'{}' answers {} bytes, expected {}", to_text(op), result.value, expected.value);
    return fail("'{}' does not give back what was written", to_text(op));
  }

  // A flash with a bad unit may have to refuse what changes something. Then there is nothing more to try.
  bool may_refuse(int error) {
    if (error != EIO && error != ENOSPC && error != EROFS) return false;
    return bad_unit_refused_ = has_bad_unit(disk_.state().current);
  }

  bool free_name(Path* path) const {
    if (tree_.children(kRootNode).size() >= bounds_.names.size()) return false;
    for (const std::string& name : bounds_.names) {
      if (tree_.child(kRootNode, name) != kNoNode) continue;
      *path = Path("/").child(name);
      return true;
    }
    return false;
  }

  // Creates a file, writes to it and reads it back, where there is a name and a place for one.
  bool try_new_file(bool may_be_full) {
    Path path;
    if (!can(OpKind::kCreate) || !free_name(&path)) return true;
    if (tree_.count(FileType::kFile) >= kind_.limits.max_files) return true;
    bool full = false;
    if (!perform(Op::of(OpKind::kCreate, path), may_be_full, &full)) return false;
    if (full) return true;
    const uint32_t length = bounds_.write_sizes.empty() ? 0 : bounds_.write_sizes.front();
    if (length == 0 || length > kind_.limits.max_file_size) return true;
    const bool handle = bounds_.handles && can(OpKind::kOpen) && can(OpKind::kClose);
    if (handle && !perform(Op::of(OpKind::kOpen, path))) return false;
    if (can(OpKind::kAppend)) {
      if (!perform(Op::append(path, length), may_be_full, &full)) return false;
    } else if (can(OpKind::kWrite)) {
      if (!perform(Op::write(path, 0, length), may_be_full, &full)) return false;
    }
    if (can(OpKind::kRead) && !perform(Op::read(path, 0, length))) return false;
    return !handle || perform(Op::of(OpKind::kClose, path));
  }

  bool delete_all() { return delete_below(Path("/"), kRootNode); }

  // The tree changes on the way, so each round looks for the next name that the round before has not seen.
  bool delete_below(const Path& directory, NodeId node) {
    Path path = directory;
    while (const Tree::Entry* entry = next_child(directory, node, path)) {
      path = directory.child(entry->name());
      const NodeId child = entry->node;
      const bool is_directory = tree_.node(child).type == FileType::kDirectory;
      if (is_directory && !delete_below(path, child)) return false;
      const OpKind kind = is_directory ? OpKind::kRmdir : OpKind::kUnlink;
      if (can(kind) && !perform(Op::of(kind, path))) return false;
    }
    return true;
  }

  // The first entry of a directory whose path comes after this one.
  const Tree::Entry* next_child(const Path& directory, NodeId node, const Path& after) const {
    for (const Tree::Entry& entry : tree_.children(node)) {
      if (!Path::holds(entry.name()) || !directory.has_room_for(entry.name())) continue;
      if (directory.child(entry.name()) > after) return &entry;
    }
    return nullptr;
  }

  // With nothing left there is room again.
  bool try_when_empty() {
    if (!tree_.children(kRootNode).empty()) return true;
    return try_new_file(false) && delete_all();
  }

  bool comes_back() {
    if (const int error = noted("unmount", [&] { return target_.unmount(); }))
      return !may_refuse(error) && fail("unmount answers {}", errno_text(error));
    if (ChecksOffline* const check = kind_.has_fsck ? target_.checks_offline() : nullptr) {
      RepairReport report;
      disk_.remember();
      if (notes_ != nullptr) begin("its check");
      check->fsck(disk_, FsckMode::kRepair, &report);
      if (notes_ != nullptr) answered(answer_of(*check, report));
      if (report.error != 0) return fail("its check fails with {}", errno_text(report.error));
      if (!report.clean()) return fail("its check finds: {}", problem_text(*check, report.problems.front()));
      if (disk_.has_changed() && !kind_.fsck_notes) return fail("its repair changes a disk that needs none");
    }
    if (const int error = noted("mount", [&] { return target_.mount(disk_); }))
      return fail("mount answers {}", errno_text(error));
    const Walk walk = target_.walk();
    if (walk.error != 0) return fail("{}", error_text(walk));
    if (walk.tree == tree_) return true;
    return fail("mounted again: {}", notes_ == nullptr ? "" : first_difference(walk.tree, tree_));
  }

  std::string answer_of(const ChecksOffline& check, const RepairReport& report) const {
    if (report.error != 0) return errno_text(report.error);
    if (report.problems.empty()) return disk_.has_changed() ? "changes the disk" : "finds nothing";
    return "finds " + problem_text(check, report.problems.front());
  }

  std::string problem_text(const ChecksOffline& check, const Problem& problem) const {
    std::string text = check.problem_text(problem);
    return text.empty() ? sisyfs::to_text(problem, kind_.words.problems) : text;
  }

  const TargetKind& kind_;
  Target& target_;
  Media& disk_;
  const Bounds& bounds_;
  Tree tree_;
  TrialNotes* notes_;
  std::optional<Op> refused_;  // for lack of space
  bool bad_unit_refused_ = false;
};

}  // namespace

std::optional<Op> first_write(const TargetKind& kind, const Bounds& bounds, const Tree& tree) {
  if (kind.ops.has(OpKind::kCreate) && tree.count(FileType::kFile) < kind.limits.max_files) {
    for (const std::string& name : bounds.names)
      if (tree.child(kRootNode, name) == kNoNode) return Op::of(OpKind::kCreate, Path("/").child(name));
  }
  if (!kind.ops.has(OpKind::kUnlink)) return std::nullopt;
  for (const Tree::Entry& entry : tree.children(kRootNode)) {
    if (tree.node(entry.node).type == FileType::kFile && Path::holds(entry.name()))
      return Op::of(OpKind::kUnlink, Path("/").child(entry.name()));
  }
  return std::nullopt;
}

std::optional<Op> refused_for_space(const TargetKind& kind, Target& target, Media& disk, const Bounds& bounds,
                                    Tree tree) {
  disk.begin_scratch(Media::Keep::kNothing);
  return Trial(kind, target, disk, bounds, std::move(tree), nullptr).refused_for_space();
}

bool is_usable(const TargetKind& kind, Target& target, Media& disk, const Bounds& bounds, Tree tree,
               TrialNotes* notes) {
  // What was written is told of a trial with notes.
  if (notes == nullptr) disk.begin_scratch(Media::Keep::kNothing);
  return Trial(kind, target, disk, bounds, std::move(tree), notes).run();
}

}  // namespace sisyfs
