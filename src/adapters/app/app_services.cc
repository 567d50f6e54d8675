#include "adapters/app/app_services.h"

#include <algorithm>
#include <iterator>

namespace sisyfs {
namespace {

enum Service { kAck, kKept, kAcked, kOutput };
constexpr const char* kNames[] = {".sisyfs-ack", ".sisyfs-kept", ".sisyfs-acked", ".sisyfs-output"};

}  // namespace

void LineReader::add(std::string_view bytes, const std::function<void(const std::string&)>& line) {
  rest_ += bytes;
  for (size_t end = 0; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1))
    if (line) line(rest_.substr(0, end));
}

int AppServices::find(const std::string& name) const {
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  return found == std::end(kNames) ? -1 : static_cast<int>(found - std::begin(kNames));
}

void AppServices::write(int service, std::string_view bytes, pid_t thread) {
  if (service == kAck)
    acks_.add(bytes, [&](const std::string& line) {
      if (on_ack) on_ack(line, thread);
    });
  if (service == kKept) kept_.add(bytes, on_kept);
  if (service == kOutput) {
    output += bytes;
    printed_.add(bytes, [&](const std::string& line) {
      if (on_output) on_output(line, thread);
    });
  }
}

std::string AppServices::read(int service) { return service == kAcked && acked ? acked() : std::string(); }

}  // namespace sisyfs
