#include "finding/not_tried.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace sisyfs {
namespace {

// Ops, and the setting that adds them to a workload.
struct OpGroup {
  OpSet ops;
  const char* setting;
};
constexpr OpGroup kGroups[] = {
    {OpSet(OpKind::kMkdir, OpKind::kRmdir), "dirs=1"},
    {OpSet(OpKind::kRename), "rename=on"},
    {OpSet(OpKind::kLink, OpKind::kSymlink), "links=on"},
    {OpSet(OpKind::kFsync), "fsync=on"},
    {OpSet(OpKind::kFdatasync), "fdatasync=on"},
    {OpSet(OpKind::kWriteSync), "sync_writes=on"},
    {OpSet(OpKind::kSetxattr, OpKind::kRemovexattr), "xattrs=on"},
    {OpSet(OpKind::kOpen, OpKind::kClose) | kHandleOps, "handles=on"},
    {OpSet(OpKind::kChmod), "modes=on"},
    {kRangeOps, "fallocate=on"},
    {OpSet(OpKind::kExchange, OpKind::kRenameNew), "exchange=on"},
    {OpSet(OpKind::kWriteDirect), "direct=on"},
    {OpSet(OpKind::kWriteMapped, OpKind::kMsync), "mapped=on"},
    {OpSet(OpKind::kSyncfs, OpKind::kCommit), "commit=on"},
    {OpSet(OpKind::kSnapshot, OpKind::kRestore), "snapshots=1"},
    {OpSet(OpKind::kRemount), "remount=on"},
};
constexpr OpSet kReads(OpKind::kRead, OpKind::kReaddir, OpKind::kStat, OpKind::kGetxattr, OpKind::kListxattr,
                       OpKind::kFsck, OpKind::kReadHandle, OpKind::kStatHandle);

}  // namespace

std::string op_names(OpSet ops) {
  std::string names;
  for (size_t i = 0; i < kOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    if (ops.has(kind)) names += (names.empty() ? "" : ", ") + std::string(op_name(kind));
  }
  return names;
}

std::vector<NotTried> not_tried(const DiskSetup& setup, OpSet performed) {
  std::vector<NotTried> all;
  // The setting is told if the target has such an option.
  const auto add = [&](std::string what, std::string_view setting) {
    const std::string_view option = setting.substr(0, setting.find('='));
    const bool offered = std::find(setup.options.begin(), setup.options.end(), option) != setup.options.end();
    all.push_back({std::move(what), offered ? std::string(setting) : std::string()});
  };
  const bool foreign = setup.kind.isolation == Isolation::kProcess;
  if (setup.kind.has_disk()) {
    if (!setup.cuts.enabled)
      add(setup.kind.has_fsck ? "power cuts, recovery and fsck" : "power cuts and recovery", "crash=lazy");
    else if (setup.cuts.persisted)
      add("power cuts within calls, lost writes", "crash=lazy");
    else if (setup.cuts.nesting == 0)
      add("power cuts in recovery", "nesting=1");
    if (setup.failures.most == 0)
      add(foreign ? "failing disk accesses and allocations" : "failing disk accesses", "failures=1");
  }
  if (setup.recording != nullptr) {
    all.push_back({"all that was not recorded", ""});
    return all;
  }
  if (setup.script != nullptr) {
    all.push_back({"ops that the script does not name", ""});
    return all;
  }
  if (setup.ace != nullptr) {
    all.push_back({"ops outside of the bounded workloads", ""});
    return all;
  }
  if (!setup.bounds.impossible) add("ops that must fail", "impossible=on");
  const auto offers = [&](std::string_view option) {
    return std::find(setup.options.begin(), setup.options.end(), option) != setup.options.end();
  };
  if (offers("reads") && !setup.bounds.ops.has(OpKind::kRead)) add("reads between other ops", "reads=on");
  const bool elsewhere = setup.bounds.variety.write_steps || setup.bounds.write_offsets.size() > 1;
  if (offers("offsets") && !elsewhere && setup.bounds.max_file_size > 1)
    add("holes, writes in the middle of files", "offsets=ends");
  if (offers("odd") && !setup.bounds.variety.odd && setup.kind.limits.any_byte &&
      setup.kind.limits.write_unit > 1)
    add("sizes and offsets within a unit", "odd=on");
  // Writes and appends are one function of a target.
  for (const OpSet writes :
       {OpSet(OpKind::kWrite, OpKind::kAppend), OpSet(OpKind::kWriteHandle, OpKind::kAppendHandle)})
    if ((performed & writes) != OpSet()) performed = performed | writes;
  OpSet never = setup.kind.ops - performed - kReads;
  OpSet generated = setup.bounds.ops;
  if (setup.bounds.max_dirs == 0) generated = generated - OpSet(OpKind::kMkdir, OpKind::kRmdir);
  const OpSet not_reached = never & generated;
  never = never - not_reached;
  for (const OpGroup& group : kGroups) {
    if ((never & group.ops) != OpSet()) add(op_names(never & group.ops), group.setting);
    never = never - group.ops;
  }
  if (never != OpSet()) add(op_names(never), "");
  if (not_reached != OpSet()) add("not reached within the bounds: " + op_names(not_reached), "");
  return all;
}

}  // namespace sisyfs
