// The flash of a guest, and UBI on it.
#include <fcntl.h>
#include <mtd/ubi-user.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "adapters/guest/inside/agent_parts.h"

namespace sisyfs::guest {
namespace {

constexpr char kControl[] = "/dev/ubi_ctrl", kDevice[] = "/dev/ubi0", kFirstVolume[] = "/dev/ubi0_0";

bool is_attached = false;

int call_device(const char* device, unsigned long request, void* argument) {
  const int fd = open(device, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = of(ioctl(fd, request, argument));
  close(fd);
  return error;
}

// Of all that UBI leaves free.
int make_volume(const std::string& name) {
  long long bytes = 0, unit = 0;
  const auto read_number = [](const char* file, long long& out) {
    char text[32] = "";
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) give_up(file);
    close(fd);
    out = std::strtoll(text, nullptr, 10);
  };
  read_number("/sys/class/ubi/ubi0/avail_eraseblocks", bytes);
  read_number("/sys/class/ubi/ubi0/eraseblock_size", unit);
  ubi_mkvol_req request{};
  request.vol_id = 0;
  request.alignment = 1;
  request.bytes = bytes * unit;
  request.vol_type = UBI_DYNAMIC_VOLUME;
  request.name_len = static_cast<__s16>(name.copy(request.name, UBI_MAX_VOLUME_NAME));
  return call_device(kDevice, UBI_IOCMKVOL, &request);
}

}  // namespace

int use_flash() {
  if (!tell_functions(Packet::kFlash, kFlashNames)) return ENODEV;
  const int fd = open("/dev/mtd0", O_RDONLY | O_CLOEXEC);
  char byte = 0;
  const int error = fd < 0 || read(fd, &byte, 1) != 1 ? ENODEV : 0;
  if (fd >= 0) close(fd);
  return error;
}

int attach_flash(const std::string& what) {
  if (!what.starts_with(kVolumePrefix)) return 0;
  ubi_attach_req request{};
  if (const int error = call_device(kControl, UBI_IOCATT, &request)) return error;
  is_attached = true;
  return access(kFirstVolume, F_OK) == 0 ? 0 : make_volume(what.substr(strlen(kVolumePrefix)));
}

int detach_flash() {
  if (!is_attached) return 0;
  is_attached = false;
  int32_t number = 0;
  return call_device(kControl, UBI_IOCDET, &number);
}

}  // namespace sisyfs::guest
