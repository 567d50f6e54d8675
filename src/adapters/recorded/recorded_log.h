// RecordedLog: a log of writes with the disk on which it began, as a recording that a check plays.
//
// A play ends where something may have become durable, or was promised: before an entry that flushes and then
// writes, after any other flush, after a write that passes the cache, after a mark that promises, and at the
// end. In between only the newest tree is known.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "adapters/recorded/write_log.h"
#include "disk/image.h"
#include "machine/recording.h"

namespace sisyfs {

class RecordedLog : public Recording {
 public:
  struct Origin {
    Image base;
    WriteLog log;                  // loaded in blocks of the base
    std::string promise = "sync";  // a mark that begins so says that all before it is durable
    uint64_t begin = 0;            // the check begins before this entry
    DiscardReads discarded = DiscardReads::kZeros;
    std::vector<std::string> settings;  // of settings()
  };
  explicit RecordedLog(Origin origin);

  // The disk where the check begins.
  const Image& start() const { return start_; }
  // The ops play, one for each place where one ends.
  std::vector<Op> plays() const;
  void play(uint64_t from, uint64_t to, Disk& disk) const { log_.play(from, to, disk); }
  // Whether the last entry before this one promises that all before it is durable.
  bool promises(uint64_t entry) const;
  // Whether there is any such entry.
  bool promises_anything() const;

  // The tree that the target shows once all up to an entry is written. Null: it was not set.
  const Tree* tree(uint64_t entry) const;
  void set_tree(uint64_t entry, Tree tree) const;

  uint64_t begin() const override { return begin_; }
  uint64_t end() const override { return log_.entries().size(); }
  Tree tree_after(const Op& play) const override;
  std::string describe(const Op& play) const override;
  std::vector<std::string> names(uint64_t from, uint64_t to) const override { return log_.names(from, to); }
  std::vector<std::string> settings() const override { return settings_; }

 private:
  const WriteLog log_;
  const std::string promise_;
  const uint64_t begin_;
  const std::vector<std::string> settings_;
  Image start_;
  mutable std::mutex mutex_;
  mutable std::map<uint64_t, Tree> trees_;
};

// `walked` as a later state of `before`: what has the same path and type in both is the same object.
Tree continued(const Tree& before, const Tree& walked);

}  // namespace sisyfs
