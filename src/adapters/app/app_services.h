// The files by which programs in a work directory talk to the checker.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "adapters/fuse/fuse_server.h"

namespace sisyfs {

// Collects what is written to it, and gives out whole lines.
class LineReader {
 public:
  void add(std::string_view bytes, const std::function<void(const std::string&)>& line);

 private:
  std::string rest_;
};

class AppServices : public FuseServices {
 public:
  std::function<void(const std::string& line, pid_t thread)> on_ack;
  std::function<void(const std::string& line)> on_kept;
  std::function<void(const std::string& line, pid_t thread)> on_output;
  std::function<std::string()> acked;
  std::string output;  // all that was printed to the service

  int find(const std::string& name) const override;
  void write(int service, std::string_view bytes, pid_t thread) override;
  std::string read(int service) override;

 private:
  LineReader acks_, kept_, printed_;
};

}  // namespace sisyfs
