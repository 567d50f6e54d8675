#include "adapters/plugin/determinism.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "disk/media.h"

namespace sisyfs {
namespace {

constexpr int kOps = 32;

// One call, and the number of disk events at its end.
struct Done {
  std::string call;
  OpResult result;
  size_t events;
};

struct Run {
  std::vector<Done> calls;
  Log log;
};

Run run(const TargetKind& kind, const Bounds& wanted) {
  Run out;
  const std::unique_ptr<Target> target = kind.make();
  const Bounds bounds = bounds_for(kind, wanted);
  Result<Workload> workload = Workload::make(bounds);
  if (!workload) return out;
  Media disk{Image(kind.disks)};
  const auto note = [&](std::string call, const OpResult& result) {
    out.calls.push_back({std::move(call), result, disk.state().log.size()});
    return result.error == 0;
  };
  Tree tree;
  bool good =
      note("format", OpResult::of(target->format(disk))) && note("mount", OpResult::of(target->mount(disk)));
  if (good) {
    Walk walk = target->walk();
    good = walk.error == 0;
    tree = std::move(walk.tree);
  }
  std::vector<Candidate> ops;
  for (int i = 0; good && i < kOps; ++i) {
    workload->from(tree, &ops);
    std::erase_if(ops, [](const Candidate& c) { return c.op.kind == OpKind::kRemount || c.error != 0; });
    if (ops.empty()) break;
    // A fixed choice that varies the kind of op.
    const Op op = ops[static_cast<size_t>(i) * 7 % ops.size()].op;
    (void)sisyfs::apply(op, tree);
    good = note(to_text(op), target->apply(op));
  }
  for (uint32_t i = 0; i < Tree::kHandles && good; ++i) {
    if (tree.behind(i) == kNoNode) continue;
    const Op close = Op::of(OpKind::kCloseHandle, Path(fmt::format("@{}", i + 1)));
    good = note(to_text(close), target->apply(close));
  }
  if (good) note("unmount", OpResult::of(target->unmount()));
  (void)target->has_faults()->take_faults();  // the search finds and reports faults
  out.log = disk.state().log;
  return out;
}

// "write of block 3, byte 17: 00 and 41"
std::string difference(const Event& a, const Event& b, size_t block_size) {
  if (a.kind != b.kind || a.first != b.first || a.count != b.count)
    return fmt::format("an access to block {} and one to block {}", a.first.value, b.first.value);
  for (uint64_t i = 0; i < a.count.value; ++i) {
    const Block *x = a.block(i), *y = b.block(i);
    if (x == y) continue;
    // No block: zeros.
    const auto byte_of = [](const Block* block, size_t at) {
      return block == nullptr ? 0u : std::to_integer<unsigned>(block->bytes()[at]);
    };
    for (size_t at = 0; at < block_size; ++at) {
      if (byte_of(x, at) == byte_of(y, at)) continue;
      return fmt::format("write of block {}, byte {} of its {}: {:02x} and {:02x}",
                         (a.first + BlockCount(i)).value, at, block_size, byte_of(x, at), byte_of(y, at));
    }
  }
  return "the blocks";
}

bool same(const Event& a, const Event& b) {
  if (a.kind != b.kind || a.first != b.first || a.count != b.count || a.access != b.access) return false;
  for (uint64_t i = 0; a.changes_blocks() && i < a.count.value; ++i) {
    const Block *x = a.block(i), *y = b.block(i);
    if ((x == nullptr) != (y == nullptr)) return false;
    if (x != nullptr && !std::equal(x->bytes().begin(), x->bytes().end(), y->bytes().begin())) return false;
  }
  return true;
}

// The first difference between two runs; empty if there is none.
std::string parting(const Run& a, const Run& b, size_t block_size) {
  std::vector<const Event*> x, y;
  a.log.events(x);
  b.log.events(y);
  for (size_t i = 0; i < std::min(a.calls.size(), b.calls.size()); ++i) {
    const Done &one = a.calls[i], &two = b.calls[i];
    const std::string call = fmt::format("call {}, '{}'", i + 1, one.call);
    for (size_t e = i == 0 ? 0 : a.calls[i - 1].events; e < std::min(one.events, two.events); ++e)
      if (!same(*x[e], *y[e])) return fmt::format("{}: {}", call, difference(*x[e], *y[e], block_size));
    if (one.events != two.events) return fmt::format("{}: another number of writes", call);
    if (!(one.result == two.result))
      return fmt::format("{}: answers {} and {}", call, errno_text(one.result.error),
                         errno_text(two.result.error));
  }
  return a.calls.size() == b.calls.size() ? "" : "another number of calls";
}

}  // namespace

Status check_determinism(PluginHost& host, const TargetKind& kind, const Bounds& bounds, bool fixed_clock) {
  const Run first = run(kind, bounds);
  PluginNamespace* space = host.code().namespace_of();
  uint64_t asked = 0;
  if (space != nullptr) {
    sisyfs_arena_control& control = space->control();
    asked = control.clock_asked;
    const int64_t seconds = control.clock_seconds;
    const uint64_t seed = control.seed;
    const uint32_t fresh = control.fresh_byte;
    // Odd, so that the lowest bits differ as well.
    if (!fixed_clock) control.clock_seconds += 40'000'001;
    control.seed += 1;
    control.fresh_byte ^= 0xFF;
    const Run second = run(kind, bounds);
    control.clock_seconds = seconds;
    control.seed = seed;
    control.fresh_byte = fresh;
    const std::string where = parting(first, second, host.geometry().block_size);
    if (where.empty()) return {};
    return system_error(
        fmt::format("the plug-in is not deterministic: the same calls, made twice, part at {}{}", where,
                    asked != 0 && !fixed_clock
                        ? "; it asks the clock: take sisyfs_disk.now instead, or have it stand still with "
                          "--set clock=fixed"
                        : "; it must not depend on random numbers, uninitialized memory or addresses"));
  }
  // Without a namespace the clock cannot be set, so wait until it has moved.
  usleep(1'100'000);
  const std::string where = parting(first, run(kind, bounds), host.geometry().block_size);
  if (where.empty()) return {};
  return system_error(
      fmt::format("the plug-in is not deterministic: the same calls, made twice, part at {}", where));
}

}  // namespace sisyfs
