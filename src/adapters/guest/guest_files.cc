#include "adapters/guest/guest_files.h"

// NOLINTNEXTLINE(hicpp-no-assembler)
asm(R"(
  .section .rodata
  .global sisyfs_guest_agent, sisyfs_guest_agent_end, sisyfs_guest_shim, sisyfs_guest_shim_end
  .global sisyfs_still_time, sisyfs_still_time_end, sisyfs_host_agent, sisyfs_host_agent_end
  .global sisyfs_host_disk, sisyfs_host_disk_end
  .balign 16
sisyfs_guest_agent:
  .incbin ")" SISYFS_GUEST_AGENT R"("
sisyfs_guest_agent_end:
  .balign 16
sisyfs_guest_shim:
  .incbin ")" SISYFS_GUEST_SHIM R"("
sisyfs_guest_shim_end:
  .balign 16
sisyfs_still_time:
  .incbin ")" SISYFS_STILL_TIME R"("
sisyfs_still_time_end:
  .balign 16
sisyfs_host_agent:
  .incbin ")" SISYFS_HOST_AGENT R"("
sisyfs_host_agent_end:
  .balign 16
sisyfs_host_disk:
  .incbin ")" SISYFS_HOST_DISK R"("
sisyfs_host_disk_end:
  .text
)");

extern "C" {
extern const std::byte sisyfs_guest_agent[], sisyfs_guest_agent_end[];
extern const std::byte sisyfs_guest_shim[], sisyfs_guest_shim_end[];
extern const std::byte sisyfs_still_time[], sisyfs_still_time_end[];
extern const std::byte sisyfs_host_agent[], sisyfs_host_agent_end[];
extern const std::byte sisyfs_host_disk[], sisyfs_host_disk_end[];
}

namespace sisyfs {

std::span<const std::byte> guest_agent() { return {sisyfs_guest_agent, sisyfs_guest_agent_end}; }
std::span<const std::byte> guest_shim() { return {sisyfs_guest_shim, sisyfs_guest_shim_end}; }
std::span<const std::byte> still_time() { return {sisyfs_still_time, sisyfs_still_time_end}; }
std::span<const std::byte> host_agent() { return {sisyfs_host_agent, sisyfs_host_agent_end}; }
std::span<const std::byte> host_disk() { return {sisyfs_host_disk, sisyfs_host_disk_end}; }

}  // namespace sisyfs
