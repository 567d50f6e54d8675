// The parts of the agent (agent.cc), which is one program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/guest/wire.h"

namespace sisyfs::guest {

inline constexpr const char* kPlace = "/mnt";  // of mounts

extern std::byte* buffers[kBuffers];
extern int handles[kHandles];

// --- agent.cc ---------------------------------------------------------------------------------------

// Gives a request to the checker. The answer is in the same buffer afterwards.
void ask(uint32_t buffer, size_t bytes);
// Says why, and ends the guest.
[[noreturn]] void give_up(const char* what);
// A file of the agent itself, by its whole path, also while paths begin at the root of the file system.
int open_own(const char* file, int flags);
void put(const char* file, const char* text);
// Prints a line on the console, as the kernel does.
void print(const std::string& text);
// errno, if the result of a system call says so.
int of(long result);

// --- agent_disks.cc ---------------------------------------------------------------------------------

std::string device_name(uint32_t number);
int make_disks(const Command& command);
int flush_disk();
// The content of the disks may have changed.
void forget_pages();
// Nothing of what was written before decides where writing back begins. Before forget_pages().
void rewind_writeback();
// For tests: the connection to all of them is lost.
void lose_disks();

// --- agent_calls.cc ---------------------------------------------------------------------------------

int call(const Command& command, const std::string* texts, const std::byte* bytes, Answer& answer);

// --- agent_walk.cc ----------------------------------------------------------------------------------

// What there is to tell, and how much of it was told.
extern std::vector<std::byte> walked;
extern size_t told;

void add(const void* bytes, size_t size);
void add_text(std::string_view text);
bool is_hidden(std::string_view name);
int list_attributes(int fd, const std::string& path, std::vector<std::string>& names);
void walk();

// --- agent_plant.cc ---------------------------------------------------------------------------------

// Something goes wrong, for tests.
int plant(Plant what);

}  // namespace sisyfs::guest
