#include "models/mapping/story.h"

#include <fmt/format.h>

namespace sisyfs::mapping {
namespace {

std::string block_name(unsigned b) { return b == kNone ? "none" : fmt::format("{}", b); }

std::string length_name(unsigned length) {
  if (length == kAbsent) return "absent";
  return fmt::format("{} block{} long", length, length == 1 ? "" : "s");
}

template <class Task>
std::string op_name(const Task& task) {
  static constexpr const char* kNames[] = {"idle", "create", "append", "delete"};
  return fmt::format("{} file{}", kNames[task.op], unsigned{task.file});
}

template <class Medium>
std::string data_name(const Config& c, const Medium& m, unsigned b) {
  const unsigned raw = m.data[b];
  constexpr bool kByte = sizeof m.data[0] == 1;
  if (kByte && raw == 0xFF) return "filler";
  // An indirect block is told from content by its last entry: none is 12 or 13.
  if (c.counter && (kByte || raw >> 12 == 0xC)) return fmt::format("content {}", raw & 3);
  if (kByte) return fmt::format("block {} of file{}", raw & 15, raw >> 4);
  if (const unsigned f = IndexCore::file_of(static_cast<uint16_t>(raw)); f != kNone)
    return fmt::format("block {} of file{}", raw & 15, f);
  return fmt::format("entries {} {} {} {}", block_name(raw & 15), block_name(raw >> 4 & 15),
                     block_name(raw >> 8 & 15), block_name(raw >> 12));
}

}  // namespace

WriteLocation location_of(const LinkCore&, Action action, const LinkCore::Task& task, unsigned,
                          const LinkCore::Memory&) {
  switch (action) {
    case kWriteInode:
    case kSetWriteInode:
      return {task.file / 2u, 1,
              fmt::format("inodes of file{} and file{}", task.file & 2, (task.file & 2) + 1)};
    case kWriteTable:
    case kFreeWriteTable:
      return {2, 3, "table of links"};
    default:
      return {kFirstDataBlock + task.block, 1, fmt::format("data block {}", unsigned{task.block})};
  }
}

WriteLocation location_of(const IndexCore&, Action action, const IndexCore::Task& task, unsigned length,
                          const IndexCore::Memory& m) {
  switch (action) {
    case kWriteInode:
    case kSetWriteInode:
      return {task.file, 1, fmt::format("inode of file{}", unsigned{task.file})};
    case kWriteTable:
    case kFreeWriteTable:
      return {4, 1, "bitmap"};
    case kWriteIndirect: {
      const unsigned b =
          length == IndexCore::kDirect ? unsigned{task.indirect} : nibble(m.inodes, 4 * task.file + 3);
      return {kFirstDataBlock + b, 1,
              fmt::format("data block {}, indirect block of file{}", b, unsigned{task.file})};
    }
    case kClearIndirect:
      return {kFirstDataBlock + nibble(task.entries, 2), 1,
              fmt::format("data block {}, indirect block of file{}", nibble(task.entries, 2),
                          unsigned{task.file})};
    default:
      return {kFirstDataBlock + task.block, 1, fmt::format("data block {}", unsigned{task.block})};
  }
}

std::string content_of(const LinkCore&, const Config& c, Action action, const WriteLocation& location,
                       const LinkCore::Medium& after) {
  std::string text;
  if (action == kWriteInode || action == kSetWriteInode) {
    for (unsigned f = 2 * location.address; f < 2 * location.address + 2 && f < c.files; ++f) {
      const unsigned length = LinkCore::length(after, f);
      text += fmt::format("{}file{} {}", text.empty() ? "" : ", ", f, length_name(length));
      if (length != kAbsent)
        text += fmt::format(", starts at block {}", block_name(LinkCore::start(after.inodes, f)));
    }
  } else if (action == kWriteTable || action == kFreeWriteTable) {
    for (unsigned b = 0; b < c.blocks; ++b) {
      const unsigned link = nibble(after.table, b);
      const std::string to = link == LinkCore::kFree  ? "free"
                             : link == LinkCore::kEnd ? "end"
                                                      : block_name(link);
      text += fmt::format("{}{}:{}", b == 0 ? "" : " ", b, to);
    }
  } else {
    text = data_name(c, after, location.address - kFirstDataBlock);
  }
  return text;
}

std::string content_of(const IndexCore&, const Config& c, Action action, const WriteLocation& location,
                       const IndexCore::Medium& after) {
  if (action == kWriteInode || action == kSetWriteInode) {
    const unsigned node = IndexCore::inode(after.inodes, location.address);
    std::string text = fmt::format("file{} {}", location.address, length_name(node & 15));
    if ((node & 15) != kAbsent)
      text += fmt::format(", entries {} {}, indirect {}", block_name(nibble(node, 1)),
                          block_name(nibble(node, 2)), block_name(nibble(node, 3)));
    return text;
  }
  if (action == kWriteTable || action == kFreeWriteTable) {
    std::string text;
    for (unsigned b = 0; b < c.blocks; ++b)
      text += fmt::format("{}{}:{}", b == 0 ? "" : " ", b, (after.bitmap >> b & 1) != 0 ? "used" : "free");
    return text;
  }
  return data_name(c, after, location.address - kFirstDataBlock);
}

unsigned block_of(const LinkCore&, const Config& c, const LinkCore::Medium& m, unsigned f, unsigned k) {
  if (LinkCore::length(m, f) == kAbsent || k == kNone) return kNone;
  unsigned at = LinkCore::start(m.inodes, f);
  for (; k > 0 && at < c.blocks; --k) at = nibble(m.table, at);
  return at < c.blocks ? at : kNone;
}

unsigned block_of(const IndexCore&, const Config& c, const IndexCore::Medium& m, unsigned f, unsigned k) {
  const unsigned node = IndexCore::inode(m.inodes, f), indirect = nibble(node, 3);
  if ((node & 15) == kAbsent) return kNone;
  if (k < IndexCore::kDirect) return nibble(node, 1 + k);
  if ((node & 15) <= IndexCore::kDirect || k == kNone)
    return (node & 15) <= IndexCore::kDirect ? kNone : indirect;
  return indirect < c.blocks ? nibble(m.data[indirect], k - IndexCore::kDirect) : kNone;
}

template <class Core, bool kCounter>
void MappingTeller<Core, kCounter>::settle_pending(WriteStatus status, std::vector<uint32_t>* numbers) {
  for (WriteRecord& write : story_.writes) {
    if (write.status != WriteStatus::kPending) continue;
    write.status = status;
    if (numbers != nullptr) numbers->push_back(write.number);
  }
}

template <class Core, bool kCounter>
Step MappingTeller<Core, kCounter>::describe(const State& from, Choice choice) const {
  static constexpr const char* kNames[] = {"create", "append", "delete", "verify"};
  const Move move = Move::of(choice);
  Step step;
  if (move.kind == Move::kCrash) {
    step.kind = Step::Kind::kPowerCut;
    return step;
  }
  step.task = move.task;
  step.kind = move.kind == Move::kStep ? Step::Kind::kAdvance : Step::Kind::kBegin;
  step.op = move.kind == Move::kStep ? op_name(from.tasks[move.task])
                                     : fmt::format("{} file{}", kNames[move.kind], move.file);
  return step;
}

template <class Core, bool kCounter>
void MappingTeller<Core, kCounter>::step(const State& from, Choice choice, const State& to) {
  const Move move = Move::of(choice);
  StoryStep step;
  step.step = static_cast<uint32_t>(story_.steps.size()) + 1;
  step.task = move.task;
  switch (move.kind) {
    case Move::kCrash:
      crash(from, step);
      break;
    case Move::kStep:
      advance(from, to, move, step);
      break;
    case Move::kVerify: {
      step.kind = StoryStep::Kind::kVerify;
      step.op = fmt::format("verify file{}", move.file);
      step.text = "reads the whole file";
      const auto& device = config().cache ? from.cache : from.disk;
      system_.verify(from, move.file, [&](Finding finding, unsigned f, unsigned k, unsigned b) {
        observe(from, device, finding, f, k, b, step);
      });
      break;
    }
    default:
      begin(to, move, step);
  }
  story_.steps.push_back(std::move(step));
}

template <class Core, bool kCounter>
void MappingTeller<Core, kCounter>::begin(const State& to, const Move& move, StoryStep& step) {
  const auto& task = to.tasks[move.task];
  step.kind = StoryStep::Kind::kBegin;
  step.op = op_name(task);
  if (move.kind == Move::kDelete)
    step.text = "takes the file out of memory";
  else if (move.kind == Move::kAppend && nibble(to.memory.ref, move.file) == 0)
    step.text = fmt::format("will write to its first block, disk block {}", unsigned{task.block});
  else
    step.text = fmt::format("takes free disk block {} in memory", unsigned{task.block});
}

template <class Core, bool kCounter>
void MappingTeller<Core, kCounter>::advance(const State& from, const State& to, const Move& move,
                                            StoryStep& step) {
  const auto& task = from.tasks[move.task];
  const Action action = system_.action_in(from, move.task);
  step.op = op_name(task);
  if (action == kFinish) {
    step.kind = StoryStep::Kind::kFinish;
    step.text = config().cache ? "FLUSH: all that is cached is on the disk now; returns" : "returns";
    settle_pending(WriteStatus::kPersisted, nullptr);
    return;
  }
  step.kind = StoryStep::Kind::kWrite;
  const WriteLocation location =
      location_of(Core{}, action, task, nibble(from.memory.ref, task.file), to.memory);
  WriteRecord write;
  write.number = static_cast<uint32_t>(story_.writes.size()) + 1;
  write.address = location.address;
  write.blocks = location.blocks;
  write.label = location.label;
  write.content = content_of(Core{}, config(), action, location, config().cache ? to.cache : to.disk);
  write.status = config().cache ? WriteStatus::kPending : WriteStatus::kPersisted;
  step.text = fmt::format("writes {}: {}", write.label, write.content);
  step.writes.push_back(write.number);
  story_.writes.push_back(std::move(write));
}

template <class Core, bool kCounter>
void MappingTeller<Core, kCounter>::crash(const State& from, StoryStep& step) {
  step.kind = StoryStep::Kind::kCrash;
  std::string cut;
  for (unsigned t = 0; t < config().tasks; ++t) {
    const auto& task = from.tasks[t];
    if (task.op == 0) continue;
    cut += fmt::format("{}{}", cut.empty() ? " in the middle of " : " and ", op_name(task));
    std::string missing;
    for (uint32_t left = system_.program_in(from, t) >> (4 * task.step); (left & 15) != kFinish; left >>= 4) {
      const auto action = static_cast<Action>(left & 15);
      const WriteLocation location =
          location_of(Core{}, action, task, nibble(from.memory.ref, task.file), from.memory);
      missing += (missing.empty() ? "" : ", ") + location.label;
    }
    if (!missing.empty()) cut += fmt::format(" (not written yet: {})", missing);
  }
  step.text = "the power goes" + cut;
  settle_pending(WriteStatus::kLost, &step.lost);
  State state = from;
  system_.crash(state, [&](Finding finding, unsigned f, unsigned k, unsigned b) {
    observe(from, from.disk, finding, f, k, b, step);
  });
}

template <class Core, bool kCounter>
void MappingTeller<Core, kCounter>::observe(const State& state, const typename Core::Medium& medium,
                                            uint32_t finding, unsigned f, unsigned k, unsigned b,
                                            StoryStep& step) {
  const std::string which =
      k == kNone ? fmt::format("the indirect block of file{}", f) : fmt::format("block {} of file{}", k, f);
  if (finding == kDeadBlock) {
    step.observed.push_back({FindingKind::kDeadBlock,
                             fmt::format("disk block {} is allocated and belongs to no file; freed", b)});
  } else if (finding == kLostBlock) {
    step.observed.push_back(
        {FindingKind::kLostBlock, b >= config().blocks
                                      ? fmt::format("{} is missing: the pointer leads nowhere", which)
                                      : fmt::format("{} is disk block {}, which is free", which, b)});
    step.expected.push_back("every block of a file is allocated");
  } else if (finding == kDoublePointer) {
    std::string other = "another pointer leads there too";
    for (unsigned g = 0; g < config().files; ++g)
      for (unsigned j = 0; j <= kNone; ++j)
        if ((g != f || j != k) && Core::length(medium, g) != kAbsent &&
            (j == kNone || j < std::max(1u, Core::length(medium, g))) &&
            block_of(Core{}, config(), medium, g, j) == b)
          other = j == kNone ? fmt::format("which is also the indirect block of file{}", g)
                             : fmt::format("which is also block {} of file{}", j, g);
    step.observed.push_back(
        {FindingKind::kDoublePointer, fmt::format("{} is disk block {}, {}", which, b, other)});
    step.expected.push_back("a block belongs to one file");
  } else if (k == kNone) {
    const unsigned promised = nibble(state.memory.ref, f), now = Core::length(medium, f);
    step.observed.push_back({FindingKind::kContentError, fmt::format("file{} is {}", f, length_name(now))});
    std::string allowed = length_name(promised);
    for (const auto& task : state.tasks)
      if (task.op != 0 && task.file == f)
        allowed += " or " + length_name(length_after(static_cast<OpKind>(task.op), promised));
    step.expected.push_back(fmt::format("file{} is {}", f, allowed));
  } else {
    step.observed.push_back({FindingKind::kContentError, fmt::format("{}, at disk block {}, holds {}", which,
                                                                     b, data_name(config(), medium, b))});
    step.expected.push_back(fmt::format("{} holds what was written there", which));
  }
}

template class MappingTeller<LinkCore, false>;
template class MappingTeller<LinkCore, true>;
template class MappingTeller<IndexCore, false>;
template class MappingTeller<IndexCore, true>;

}  // namespace sisyfs::mapping
