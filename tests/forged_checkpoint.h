// Checkpoints that were changed and have a right checksum, for tests of `resume`.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "explore/checkpoint.h"
#include "program.h"

namespace sisyfs {

// A checkpoint file, taken apart.
struct CheckpointParts {
  struct Section {
    uint32_t number = 0, zero = 0;
    std::string content;
  };
  CheckpointHeader header{};
  std::vector<Section> sections;  // without the end

  static CheckpointParts of(const std::string& file) {
    CheckpointParts parts;
    std::memcpy(&parts.header, file.data(), sizeof parts.header);
    for (size_t at = sizeof parts.header;;) {
      CheckpointSectionHead head;
      std::memcpy(&head, file.data() + at, sizeof head);
      at += sizeof head;
      if (head.number == CheckpointSection::kEnd) return parts;
      parts.sections.push_back({static_cast<uint32_t>(head.number), 0, file.substr(at, head.size)});
      at += (head.size + 7) / 8 * 8;
    }
  }

  // The file, with a checksum that fits.
  std::string file() const {
    std::string out(reinterpret_cast<const char*>(&header), sizeof header);
    const auto put = [&out](const void* data, size_t size) {
      out.append(static_cast<const char*>(data), size);
    };
    for (const Section& section : sections) {
      const CheckpointSectionHead head{CheckpointSection{section.number}, section.zero,
                                       section.content.size()};
      put(&head, sizeof head);
      out += section.content;
      out.append((8 - out.size() % 8) % 8, '\0');
    }
    const CheckpointSectionHead end{CheckpointSection::kEnd, 0, 0};
    put(&end, sizeof end);
    const Digest sum = digest_of(out.data(), out.size());
    put(&sum, sizeof sum);
    return out;
  }

  std::string* content(CheckpointSection which) {
    for (Section& section : sections)
      if (section.number == static_cast<uint32_t>(which)) return &section.content;
    return nullptr;
  }
};

// Changes checkpoints at random, each from a number of its own.
class Forger {
 public:
  explicit Forger(uint64_t seed) : random_(seed) {}

  std::string forge(const std::string& good) {
    CheckpointParts parts = CheckpointParts::of(good);
    for (size_t changes = 1 + below(3); changes > 0; --changes) change(parts);
    return parts.file();
  }

 private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  void change(CheckpointParts& parts) {
    const size_t which = below(parts.sections.size());
    if (parts.sections.empty()) return;
    CheckpointParts::Section& section = parts.sections[which];
    switch (below(12)) {
      case 0:
        parts.sections.erase(parts.sections.begin() + static_cast<ptrdiff_t>(which));
        break;
      case 1:
        parts.sections.push_back(CheckpointParts::Section(section));
        break;
      case 2:
        section.number = static_cast<uint32_t>(below(10));
        break;
      case 3:
        section.content.resize(below(section.content.size() + 1));
        break;
      case 4:
        section.content.append(1 + below(64), static_cast<char>(below(256)));
        break;
      case 5:
        change_setup(parts);
        break;
      case 6:
        section.zero = static_cast<uint32_t>(below(2));
        break;
      default:
        change_word(section.content);
    }
  }

  void change_word(std::string& content) {
    static constexpr uint64_t kValues[] = {0, 1, 2, 64, 255, 4096, UINT32_MAX, UINT64_MAX, uint64_t{1} << 63};
    const size_t width = size_t{1} << below(4);
    if (content.size() < width) return;
    const size_t at = below(2) == 0 ? below(content.size() - width + 1)
                                    : std::min(below(600), content.size() - width) / width * width;
    uint64_t word = below(2) == 0 ? kValues[below(std::size(kValues))] : random_();
    if (below(4) == 0) {
      std::memcpy(&word, content.data() + at, width);
      word += below(2) == 0 ? 1 : UINT64_MAX;
    }
    std::memcpy(content.data() + at, &word, width);
  }

  // Another description of the search, with the identity that belongs to it.
  void change_setup(CheckpointParts& parts) {
    using Json = nlohmann::ordered_json;
    std::string* setup = parts.content(CheckpointSection::kSetup);
    Json json = setup == nullptr ? Json() : Json::parse(*setup, nullptr, false);
    if (!json.is_object()) return;
    const Json values[] = {0, 1, 7, UINT64_MAX, -1, nullptr, "", "rare", "none", "first", Json::array(), 1.5};
    static constexpr const char* kNames[] = {"target",       "settings",    "search",  "dedup",
                                             "stop",         "depth_bound", "watched", "shape_ops",
                                             "memory_bytes", "interval_ms", "version"};
    json[kNames[below(std::size(kNames))]] = values[below(std::size(values))];
    *setup = json.dump();
    json.erase("memory_bytes");
    json.erase("interval_ms");
    const std::string text = json.dump();
    parts.header.identity = digest_of(text.data(), text.size());
  }

  std::mt19937_64 random_;
};

// Real checkpoints of small searches, in every order that can be saved, ended by a bound.
inline std::vector<std::string> real_checkpoints() {
  static constexpr const char* kSearches[] = {
      "link --via disk --set order=naive --set files=2 --set blocks=3 --all --states 120",
      "link --via disk --set order=naive --set files=2 --set blocks=3 --all --search recovery --states 120",
      "link --via disk --set order=naive --set files=2 --set blocks=3 --all --search rare --states 110",
      "link --set order=naive --set files=3 --set blocks=3 --all --search rare --states 90",
      "flash --depth 3 --dedup none --states 40",
      "journal --set crash=prefixes --depth 2 --dedup shape --states 30",
  };
  const TemporaryDirectory dir;
  std::vector<std::string> all;
  for (const char* search : kSearches) {
    const Answer made =
        run(std::string("check ") + search + " --progress off --checkpoint " + dir.file("run.checkpoint"));
    const std::string content = content_of(dir.file("run.checkpoint"));
    if (content.empty()) throw std::runtime_error(std::string(search) + ": " + made.text);
    all.push_back(content);
    std::filesystem::remove(dir.file("run.checkpoint"));
  }
  return all;
}

// Resumes a checkpoint with small bounds. 137 is the code of a killed process: it had to be ended.
inline Answer resume_briefly(const std::string& path) {
  return run_line(std::string("timeout -s KILL 60 '") + SISYFS_PROGRAM + "' resume " + path +
                  " --states 200 --time 1s --memory 256MiB --progress off");
}

// What is wrong with an answer to a forged checkpoint; empty if nothing.
inline std::string complaint_of(const Answer& answer) {
  if (answer.code < 0 || answer.code > 3) return "exit code " + std::to_string(answer.code);
  if (answer.code != 2) return {};
  const bool one_line = answer.text.find('\n') + 1 == answer.text.size();
  return answer.text.starts_with("sisyfs: ") && one_line ? "" : "not one clear line";
}

}  // namespace sisyfs
