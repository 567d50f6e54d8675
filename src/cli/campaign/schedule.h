// Schedule: which stage of a campaign is next, how deep, and how much it may cost.
//
// Each stage is done in rounds, each deeper and dearer than the one before it. The next round is the one that
// will be cheapest, as far as the rounds before it tell. So cheap stages go deep early, no stage waits for a
// dear one, and all get similar shares of the budget. What is decided depends on costs alone: where they
// count states, and not seconds, equal runs are planned alike.
//
//   Schedule schedule({{.elastic = false}, {.elastic = true}}, 60);
//   while (const auto task = schedule.next()) {
//     // search stage task->stage to round task->round, for at most task->limit
//     schedule.ended(*task, cost, Schedule::End::kDone);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sisyfs::cli {

class Schedule {
 public:
  struct StageKind {
    // A round of it is of use whenever it is broken off, as with random walks. Such stages get what is left
    // of the budget when no other round fits into it.
    bool elastic = false;
    double first =
        0;  // what its first round is taken to cost; 0: nothing, so it comes before all second ones
    double favour = 1;  // its rounds come before those of others that cost less by up to this factor
  };
  struct Task {
    size_t stage = 0;
    uint32_t round = 1;
    double limit = 0;      // of its cost
    double predicted = 0;  // its cost; 0: unknown
  };
  enum class End : uint8_t {
    kDone,       // the round is complete
    kExhausted,  // the round is complete, and further ones have nothing to add
    kCut,        // the round is not complete
  };

  // Costs and budget have one unit.
  Schedule(const std::vector<StageKind>& stages, double budget);

  // Nothing: the budget is used, or all stages are exhausted.
  std::optional<Task> next() const;
  void ended(const Task& task, double cost, End end);
  // Costs beyond those of rounds.
  void spend(double cost) { spent_ += cost; }

  double left() const { return spent_ < budget_ ? budget_ - spent_ : 0; }
  bool all_exhausted() const;

 private:
  struct Stage {
    bool elastic = false;
    double predicted = 0;  // cost of the next round
    double favour = 1;
    bool exhausted = false;
    uint32_t round = 1;  // the next one
    double last = 0;     // cost of the last complete round
    double spent = 0;
  };

  std::vector<Stage> stages_;
  double budget_;
  double spent_ = 0;
};

}  // namespace sisyfs::cli
