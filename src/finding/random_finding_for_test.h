// Findings made at random, that keep the rules of finding/valid.h. For tests of what reads and writes them.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "finding/finding.h"

namespace sisyfs {

class RandomFindings {
 public:
  explicit RandomFindings(uint64_t seed) : random_(seed) {}

  Finding next() {
    Finding finding;
    finding.kind = catalogue()[below(catalogue().size())].kind;
    finding.setup = setup();
    if (below(4) == 0)
      for (size_t i = below(3) + 1; i > 0; --i) finding.others.push_back(setup());
    if (below(4) == 0)
      for (size_t i = below(3) + 1; i > 0; --i) finding.surroundings[word() + std::to_string(i)] = word();
    uint32_t id = 0;
    for (size_t i = below(12); i > 0; --i) finding.steps.push_back(step(id));
    return finding;
  }

  size_t below(size_t n) { return random_() % n; }
  // Small most of the time.
  uint32_t number() { return static_cast<uint32_t>(below(8) == 0 ? random_() : below(40)); }

 private:
  std::string word() {
    std::string text;
    for (size_t i = below(below(10) == 0 ? 100 : 6) + 1; i > 0; --i)
      text += static_cast<char>(below(20) == 0 ? '!' + below(90) : 'a' + below(26));
    return text;
  }

  Setup setup() {
    Setup setup{below(2) == 0 ? "journal" : "./" + word() + ".so", {}};
    for (size_t i = below(4); i > 0; --i) setup.settings.push_back(std::to_string(i) + "x=" + word());
    return setup;
  }

  std::string path() {
    return std::string("/") + static_cast<char>('a' + below(3)) + (below(4) == 0 ? "/" + word() : "");
  }

  std::string op() {
    switch (below(10)) {
      case 0:
        return "create " + path();
      case 1:
        return "write " + path() + " " + std::to_string(number()) + " 512";
      case 2:
        return "append " + path() + " 512 v" + std::to_string(below(255));
      case 3:
        return "rename " + path() + " " + path();
      case 4:
        return "sync";
      case 5:
        return "create file" + std::to_string(below(4));
      case 6:  // almost an op of the table
        return std::vector<std::string>{"append /a 0512",
                                        "sync ",
                                        " create /a",
                                        "truncate  /a 1",
                                        "write /a -1 1",
                                        "append /a 512 v",
                                        "read /a 99999999999999999999 1"}[below(7)];
      case 7:
        return word() + " " + word() + "  " + word();
      case 8:
        return std::vector<std::string>{"exchange " + path() + " " + path(),
                                        "punch_hole /a " + std::to_string(number()) + " 512",
                                        "write_mapped /a 0 512 v" + std::to_string(below(255)),
                                        "write_direct /a 0 512",
                                        "msync " + path(),
                                        "commit"}[below(6)];
      default:
        return "fsync " + path();
    }
  }

  Step step(uint32_t& id) {
    Step step;
    id += below(6) == 0 ? static_cast<uint32_t>(below(1000)) + 1 : 1;
    step.id = id;
    step.kind = below(2) == 0 ? Step::Kind::kOp : static_cast<Step::Kind>(below(4));
    if (below(4) == 0) step.task = number();
    const bool is_cut = step.kind == Step::Kind::kPowerCut;
    if (!is_cut && (step.kind != Step::Kind::kAdvance || below(2) == 0)) step.op = op();
    if (!is_cut && below(6) == 0)
      step.failure = {static_cast<InjectedFailure::Kind>(1 + below(2)), std::max(1u, number())};
    for (size_t i = below(3) == 0 ? below(6) : 0; i > 0; --i) step.cuts.push_back(cut(id));
    return step;
  }

  PowerCut cut(uint32_t id) {
    PowerCut cut{number(), below(2) == 0 ? 0 : number(), {}};
    const auto less = [](const EventName& a, const EventName& b) {
      return std::tie(a.step, a.cut, a.nth, a.disk) < std::tie(b.step, b.cut, b.nth, b.disk);
    };
    EventName event{.step = 1, .cut = 0, .nth = 1, .disk = 0, .address = random_() % 100};
    for (size_t i = below(2) == 0 ? below(30) : 0; i > 0; --i) {
      LostEvent lost{event, {}};
      for (uint32_t part = 0, n = below(8) == 0 ? 5 : 0; n > 0; --n)
        lost.parts.push_back(part += static_cast<uint32_t>(1 + below(3)));
      cut.lost.push_back(lost);
      EventName next = event;
      next.nth += below(4) == 0 ? 1 + number() % 1000 : 1;
      next.address += below(3) == 0 ? random_() >> below(64) : 8;
      if (below(10) == 0) next.disk = number();
      if (below(10) == 0) ++next.cut;
      if (below(6) == 0 && next.step < id)
        next = {.step = next.step + 1, .cut = 0, .nth = 1, .disk = 0, .address = 7};
      if (!less(event, next)) break;
      event = next;
    }
    // The order is not a rule.
    if (below(8) == 0) std::shuffle(cut.lost.begin(), cut.lost.end(), random_);
    return cut;
  }

  std::mt19937_64 random_;
};

}  // namespace sisyfs
