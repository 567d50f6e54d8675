// The parts of the agent (agent.cc), which is one program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "adapters/guest/wire.h"

namespace sisyfs::guest {

inline constexpr const char* kPlace = "/mnt";  // of mounts

extern std::byte* buffers[kBuffers];
// Descriptors by handle, and the process that has each.
extern int handles[kHandles];
extern uint32_t owners[kHandles];

// --- agent.cc ---------------------------------------------------------------------------------------

// A file of the agent itself, by its whole path, also while paths begin at the root of the file system.
int open_own(const char* file, int flags);
void put(const char* file, const char* text);
// errno, if the result of a system call says so.
int of(long result);

// --- agent_line.cc, host_agent.cc -------------------------------------------------------------------

// Finds its place, and the checker.
void connect();
// Gives a request to the checker. The answer is in the same buffer afterwards.
void ask(uint32_t buffer, size_t bytes);
// Says why, and ends the guest.
[[noreturn]] void give_up(const char* what);
[[noreturn]] void power_off();
// Prints a line on the console, as the kernel does.
void print(const std::string& text);
int set_clock(uint64_t seconds);
int load_module(const std::string& file);
// Tells the library of the kernel where functions of the kernel are that are replaced. Whether all were
// found.
bool tell_functions(Packet::Kind kind, std::span<const char* const> names);
// All that was begun on the disks ends before the checker gets its answer.
void await_disks();
void sync_all();

// --- agent_disks.cc, host_agent.cc ------------------------------------------------------------------

std::string device_name(uint32_t number);
int make_disks(const Command& command);
int flush_disk();
// The content of the disks may have changed.
void forget_pages();
// Nothing of what was written before decides where writing back begins. Before forget_pages().
void rewind_writeback();
// For tests: the connection to all of them is lost.
void lose_disks();

// --- agent_flash.cc, host_agent.cc ------------------------------------------------------------------

// From here on the flash of the kernel is that of the checker. ENODEV: it has none.
int use_flash();
// What is mounted may be a volume of UBI: UBI is attached to the flash and, on an empty flash, makes the
// volume. An errno.
int attach_flash(const std::string& what);
// UBI lets go of the flash, if it is attached.
int detach_flash();

// --- agent_calls.cc ---------------------------------------------------------------------------------

int call(const Command& command, const std::string* texts, const std::byte* bytes, Answer& answer);

// --- agent_tasks.cc ---------------------------------------------------------------------------------

// Does something in one of two processes, and waits for it. Process 0 is the agent.
void in_process(uint32_t process, void (*to_do)(void*), void* with);
template <class Work>
void in_process(uint32_t process, Work&& work) {
  in_process(
      process, [](void* with) { (*static_cast<std::remove_reference_t<Work>*>(with))(); }, &work);
}

// --- agent_walk.cc ----------------------------------------------------------------------------------

// What there is to tell, and how much of it was told.
extern std::vector<std::byte> walked;
extern size_t told;

void add(const void* bytes, size_t size);
void add_text(std::string_view text);
bool is_hidden(std::string_view name);
int list_attributes(int fd, const std::string& path, std::vector<std::string>& names);
void walk();

// --- agent_plant.cc, host_agent.cc ------------------------------------------------------------------

// Something goes wrong, for tests.
int plant(Plant what);
// Whether a planted failure takes the place of this call.
bool is_forgotten(const Command& command);

}  // namespace sisyfs::guest
