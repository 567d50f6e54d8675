#include "adapters/recorded/recorded_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "disk/media.h"

namespace sisyfs {
namespace {

// Turns one tree into another one, and keeps what both have.
class Continuation {
 public:
  Continuation(const Tree& before, const Tree& walked) : tree_(before), walked_(walked) {}

  Tree run() {
    remove(kRootNode, kRootNode);
    add(kRootNode, kRootNode);
    match(kRootNode, kRootNode);
    return std::move(tree_);
  }

 private:
  // Which node of tree_ a node of walked_ is.
  NodeId& known(NodeId walked) {
    return known_.try_emplace(static_cast<uint32_t>(walked), kNoNode).first->second;
  }

  // What is not there any more goes, the content of a directory first.
  void remove(NodeId mine, NodeId other) {
    std::vector<std::string> names;
    for (const Tree::Entry& entry : tree_.children(mine)) names.emplace_back(entry.name());
    for (const std::string& name : names) {
      const NodeId node = tree_.child(mine, name);
      const NodeId now = other == kNoNode ? kNoNode : walked_.child(other, name);
      const bool directory = tree_.node(node).type == FileType::kDirectory;
      const bool same = now != kNoNode && walked_.node(now).type == tree_.node(node).type;
      if (directory) remove(node, same ? now : kNoNode);
      // Names of one file are names of one file in both.
      const bool stays = same && (known(now) == kNoNode || known(now) == node) && !is_taken(node, now);
      if (stays) {
        known(now) = node;
        continue;
      }
      const std::string path = (mine == kRootNode ? "" : tree_.path_of(mine)) + "/" + name;
      (void)(directory ? tree_.rmdir(path) : tree_.unlink(path));
    }
  }

  bool is_taken(NodeId mine, NodeId by) const {
    return std::any_of(known_.begin(), known_.end(), [&](const auto& pair) {
      return pair.second == mine && pair.first != static_cast<uint32_t>(by);
    });
  }

  void add(NodeId mine, NodeId other) {
    for (const Tree::Entry& entry : walked_.children(other)) {
      const std::string name(entry.name());
      NodeId node = tree_.child(mine, name);
      if (node == kNoNode && known(entry.node) != kNoNode) {
        tree_.add_name(known(entry.node), mine, name);
        continue;
      }
      if (node == kNoNode) node = tree_.make(mine, name, walked_.node(entry.node).type);
      known(entry.node) = node;
      if (walked_.node(entry.node).type == FileType::kDirectory) add(node, entry.node);
    }
  }

  void match(NodeId mine, NodeId other) {
    const Tree::Node& wanted = walked_.node(other);
    if (!(tree_.node(mine).data == wanted.data)) {
      std::vector<std::byte> bytes(wanted.data.size());
      (void)wanted.data.read(0, bytes);
      tree_.resize(mine, 0);
      tree_.write(mine, 0, bytes);
    }
    if (tree_.node(mine).mode != wanted.mode) tree_.set_mode(mine, wanted.mode);
    match_attributes(mine, wanted);
    if (tree_.node(mine).links != wanted.links) tree_.set_links(mine, wanted.links);
    for (const Tree::Entry& entry : walked_.children(wanted)) match(known(entry.node), entry.node);
  }

  void match_attributes(NodeId mine, const Tree::Node& wanted) {
    if (tree_.node(mine).xattrs == wanted.xattrs) return;
    std::vector<std::string> gone;
    for (const Xattrs::Cell* cell = tree_.node(mine).xattrs.first(); cell != nullptr; cell = cell->after())
      if (wanted.xattrs.find(cell->name.text()) == nullptr) gone.emplace_back(cell->name.text());
    for (const std::string& name : gone) (void)tree_.removexattr(tree_.path_of(mine), name);
    for (const Xattrs::Cell* cell = wanted.xattrs.first(); cell != nullptr; cell = cell->after()) {
      std::vector<std::byte> bytes(cell->value.size());
      (void)cell->value.read(0, bytes);
      tree_.set_xattr(mine, cell->name.text(), bytes);
    }
  }

  Tree tree_;
  const Tree& walked_;
  std::map<uint32_t, NodeId> known_;
};

}  // namespace

Tree continued(const Tree& before, const Tree& walked) {
  if (before == walked) return before;
  Tree tree = Continuation(before, walked).run();
  return tree == walked ? tree : walked;
}

RecordedLog::RecordedLog(Origin origin)
    : log_(std::move(origin.log)),
      promise_(std::move(origin.promise)),
      begin_(origin.begin),
      settings_(std::move(origin.settings)),
      start_(std::move(origin.base)) {
  Media media{start_};
  media.set_discard(origin.discarded);
  log_.play(0, begin_, media);
  start_ = media.state().current;
}

bool RecordedLog::promises(uint64_t entry) const {
  return entry > begin_ && log_.entries()[entry - 1].mark &&
         log_.entries()[entry - 1].text.starts_with(promise_);
}

bool RecordedLog::promises_anything() const {
  for (uint64_t entry = begin_ + 1; entry <= end(); ++entry)
    if (promises(entry)) return true;
  return false;
}

std::vector<Op> RecordedLog::plays() const {
  std::vector<Op> all;
  bool news = false;  // since the last play
  const auto stop = [&](uint64_t entry) {
    if (news) all.push_back(Op::play(entry));
    news = false;
  };
  for (uint64_t i = begin_; i < end(); ++i) {
    const LogEntry& entry = log_.entries()[i];
    if (entry.flush && entry.sectors != 0) stop(i);
    news = news || entry.sectors != 0 || promises(i + 1);
    if ((entry.flush && entry.sectors == 0) || entry.fua || promises(i + 1)) stop(i + 1);
  }
  stop(end());
  return all;
}

const Tree* RecordedLog::tree(uint64_t entry) const {
  const std::lock_guard lock(mutex_);
  const auto at = trees_.find(entry);
  return at == trees_.end() ? nullptr : &at->second;
}

// The first one stays: all are the same.
void RecordedLog::set_tree(uint64_t entry, Tree tree) const {
  const std::lock_guard lock(mutex_);
  trees_.try_emplace(entry, std::move(tree));
}

Tree RecordedLog::tree_after(const Op& play) const {
  const Tree* const known = tree(play.offset);
  return known == nullptr ? Tree() : *known;
}

std::string RecordedLog::describe(const Op& play) const {
  std::string text = fmt::format("the log up to entry {}", play.offset);
  if (play.offset > end() || play.offset <= begin_) return text;
  const LogEntry& last = log_.entries()[play.offset - 1];
  if (last.mark) text += fmt::format(", the mark '{}'", last.text);
  if (promises(play.offset)) text += ": all before it is durable";
  return text;
}

}  // namespace sisyfs
