#include "adapters/plugin/plugin_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "adapters/plugin/page_fault.h"
#include "disk/media.h"

namespace sisyfs {

PluginHost::PluginHost(std::shared_ptr<PluginCode> code, const Geometry& geometry)
    : code_(std::move(code)),
      geometry_(geometry),
      disk_(geometry, fence(), table().minor),
      calls_(table(), fence()) {
  memory_text_ = fmt::format("calls since mount are made again ({})", code_->why_not_pages());
  PluginNamespace* space = code_->namespace_of();
  if (space == nullptr) return;
  Fence::set_page_watcher(on_page_fault);
  KnownAddresses known;
  space->add_objects_to(known);
  known.add_loaded_objects();
  known.add(disk_.face(), sizeof(sisyfs_disk));
  known.add(&disk_, sizeof disk_);
  Result<std::unique_ptr<PluginMemory>> memory =
      PluginMemory::make(space->ranges(), Tracker::kCompare, std::move(known));
  if (!memory) {
    memory_text_ = fmt::format("calls since mount are made again ({})", memory.error().message);
    return;
  }
  memory_ = *std::move(memory);
  fresh_ = memory_->save();
  try_out();
  memory_->load(*fresh_);
}

PluginHost::~PluginHost() {
  if (memory_ != nullptr && fresh_) memory_->load(*fresh_);
}

void PluginHost::set_memory_limit(uint64_t bytes) {
  if (PluginNamespace* space = code_->namespace_of()) space->control().limit = bytes;
}

std::optional<EdgeCount> PluginHost::edges() {
  PluginNamespace* space = code_->namespace_of();
  if (space == nullptr || space->control().edges_reached == 0) return std::nullopt;
  return EdgeCount{space->control().edges_reached, space->control().edges_known};
}

uint64_t PluginHost::take_new_edges() {
  PluginNamespace* space = code_->namespace_of();
  return space == nullptr ? 0 : std::exchange(space->control().new_edges, 0);
}

void PluginHost::forget_edges() {
  PluginNamespace* space = code_->namespace_of();
  if (space == nullptr) return;
  sisyfs_arena_control& control = space->control();
  std::memset(control.edges, 0, sizeof control.edges);
  control.edges_reached = control.new_edges = 0;
}

// Formats, mounts and unmounts: measures the cost of each tracker and the memory that is kept after unmount.
void PluginHost::try_out() {
  Media disk{Image(geometry_)};
  disk_.attach(&disk);
  bool lived = fence().run([&] { (void)table().format(disk_.face()); });
  const auto cycle = [&] {
    void* fs = nullptr;
    int error = 0;
    lived = lived && fence().run([&] { error = table().mount(disk_.face(), &fs); }) && error == 0;
    lived = lived && fence().run([&] { (void)table().unmount(fs); });
  };
  memory_->load(*fresh_);
  // Memory left by the first cycle may be a cache; what the second cycle adds is a leak.
  const auto live = [&] { return code_->namespace_of()->control().state->live_bytes; };
  cycle();
  const uint64_t first = live();
  cycle();
  const uint64_t lost = live() - std::min(live(), first);
  if (lived) kept_bytes_ = first - std::min(first, lost);
  if (lived) {
    constexpr int kRounds = 20;
    memory_text_ = choose_tracker(*memory_, cycle, kRounds).why;
  }
  disk_.attach(nullptr);
}

}  // namespace sisyfs
