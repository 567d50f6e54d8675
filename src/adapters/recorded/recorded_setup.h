// The options of a check that plays a log of writes, and the setup that they make.
//
//   specs = ...; for (OptionSpec& spec : log_specs()) specs.push_back(std::move(spec));
//   Result<std::optional<LogFiles>> files = LogFiles::open(options, 4096);   // no value: no log is asked for
//   disk geometry = (*files)->disk();
//   ... make the kind of the target with that disk ...
//   if (Status s = play_log(**files, options, setup); !s) return s.error();
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adapters/recorded/write_log.h"
#include "base/result.h"
#include "disk/image.h"
#include "machine/setup.h"
#include "target/options.h"

namespace sisyfs {

std::vector<OptionSpec> log_specs();

// A log and its base image, read and checked.
class LogFiles {
 public:
  // The files that the options name, or nothing. Blocks of the disk have at most `block` bytes; they are as
  // large as the entries of the log allow.
  static Result<std::optional<LogFiles>> open(const Options& options, uint32_t block);

  const Geometry& disk() const { return base_.geometry(); }

 private:
  friend Status play_log(LogFiles files, const Options& options, DiskSetup& setup);
  LogFiles(WriteLog log, Image base) : log_(std::move(log)), base_(std::move(base)) {}

  WriteLog log_;
  Image base_;
};

// Lets the check play this log. The setup is complete but for that. Bad input where the files are not those
// that the options say, or the target cannot mount the disk on which the log begins.
Status play_log(LogFiles files, const Options& options, DiskSetup& setup);

}  // namespace sisyfs
