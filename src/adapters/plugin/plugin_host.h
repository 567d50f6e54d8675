// PluginHost: a plug-in with its disk, its fence and its memory.
//
// The code of a plug-in has its memory at fixed addresses and can run once in a process. So there is one
// host, and the instances of the target (plugin_target.h) take turns in it, on one thread.
#pragma once

#include <sisyfs/plugin.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "adapters/plugin/memory_snapshot.h"
#include "adapters/plugin/plugin_calls.h"
#include "adapters/plugin/plugin_code.h"
#include "adapters/plugin/plugin_disk.h"
#include "base/result.h"
#include "disk/geometry.h"
#include "explore/search.h"

namespace sisyfs {

class PluginHost {
 public:
  PluginHost(std::shared_ptr<PluginCode> code, const Geometry& geometry);
  // The code gets back the memory that it had before: the next host of it begins as this one did.
  ~PluginHost();
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  const sisyfs_plugin& table() const { return code_->table(); }
  PluginCode& code() { return *code_; }
  Fence& fence() { return code_->fence(); }
  PluginDisk& disk() { return disk_; }
  PluginCalls& calls() { return calls_; }
  const Geometry& geometry() const { return geometry_; }

  // Its memory, saved page by page; null if that is not possible (plugin_code.h).
  PluginMemory* memory() { return memory_.get(); }
  // The memory before the first call. Only with memory().
  const MemoryImage& fresh() const { return *fresh_; }
  // How the memory is saved, and why in this way; one line.
  const std::string& memory_text() const { return memory_text_; }
  // Bytes of the heap that stay allocated after the first unmount and are no leak.
  uint64_t kept_bytes() const { return kept_bytes_; }
  // Limits the bytes of its heap.
  void set_memory_limit(uint64_t bytes);

  // The edges of its code that were reached since forget_edges(). Nothing if the code is not instrumented, or
  // not loaded into a namespace.
  std::optional<EdgeCount> edges();
  uint64_t take_new_edges();
  void forget_edges();

  // The target instance whose memory is in the plug-in now; null: none.
  const void* guest() const { return guest_; }
  void set_guest(const void* guest) {
    guest_ = guest;
    if (guest != nullptr && memory_ != nullptr) memory_->use_this_thread();
  }

  // Set if the plug-in is not deterministic: then no result of the search is reliable.
  const std::optional<std::string>& trouble() const { return trouble_; }
  void set_trouble(std::string text) {
    if (!trouble_) trouble_ = std::move(text);
  }

 private:
  void try_out();

  std::shared_ptr<PluginCode> code_;
  Geometry geometry_;
  PluginDisk disk_;
  PluginCalls calls_;
  std::unique_ptr<PluginMemory> memory_;
  std::optional<MemoryImage> fresh_;
  std::string memory_text_;
  uint64_t kept_bytes_ = 0;
  const void* guest_ = nullptr;
  std::optional<std::string> trouble_;
};

}  // namespace sisyfs
