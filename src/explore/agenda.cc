#include "explore/agenda.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "explore/checkpoint.h"

namespace sisyfs {

Agenda::Agenda(SearchOrder order)
    : order_(order),
      by_layer_(order == SearchOrder::kBreadthFirst),
      list_(by_layer_ ? 0 : 1),
      queues_(by_layer_ ? 0 : kClasses) {}

uint32_t Agenda::class_of(Outcome outcome) const {
  if (order_ == SearchOrder::kMostRecovery) return std::min<uint32_t>(outcome.work, kClasses - 1);
  if (order_ == SearchOrder::kCoverage) return std::min<uint32_t>(outcome.new_edges, kClasses - 1);
  uint32_t rarest = kUnmarked;
  for (uint32_t left = outcome.marks; left != 0; left &= left - 1) {
    const auto bit = static_cast<uint32_t>(std::countr_zero(left));
    if (rarest == kUnmarked || counts_then_[bit] < counts_then_[rarest]) rarest = bit;
  }
  return rarest;
}

void Agenda::add(uint32_t node, Outcome led_there) {
  if (by_layer_) {
    later_ = node + 1;
    return;
  }
  queues_[class_of(led_there)].nodes.push_back(node);
}

std::vector<uint32_t> Agenda::classes_best_first() const {
  const bool by_number = order_ != SearchOrder::kRarest;
  std::vector<uint32_t> classes(by_number ? kClasses : kUnmarked + 1);
  std::iota(classes.begin(), classes.end(), 0u);
  if (by_number) {
    std::reverse(classes.begin(), classes.end());
  } else {
    std::stable_sort(classes.begin(), classes.end() - 1,
                     [this](uint32_t a, uint32_t b) { return counts_then_[a] < counts_then_[b]; });
  }
  return classes;
}

// How long the generation may get by nodes of this class.
size_t Agenda::most_of(uint32_t which) const {
  if (order_ != SearchOrder::kCoverage || which != 0) return kGeneration;
  return list_.empty() ? kShortGeneration : 0;
}

bool Agenda::turn() {
  ++generation_;
  if (by_layer_) {
    first_ = end_;
    end_ = later_;
    return first_ != end_;
  }
  counts_then_ = counts_;
  list_.clear();
  for (const uint32_t which : classes_best_first()) {
    Queue& queue = queues_[which];
    const size_t most = most_of(which);
    while (list_.size() < most && queue.head < queue.nodes.size()) list_.push_back(queue.nodes[queue.head++]);
    if (queue.head * 2 > queue.nodes.size()) {
      queue.nodes.erase(queue.nodes.begin(), queue.nodes.begin() + static_cast<ptrdiff_t>(queue.head));
      queue.head = 0;
    }
  }
  std::sort(list_.begin(), list_.end());
  return !list_.empty();
}

void Agenda::count_marks(const MarkCounts& more) {
  for (size_t bit = 0; bit < counts_.size(); ++bit) counts_[bit] += more[bit];
}

size_t Agenda::bytes() const {
  size_t sum = list_.capacity() * sizeof(uint32_t);
  for (const Queue& queue : queues_) sum += queue.nodes.capacity() * sizeof(uint32_t);
  return sum;
}

void Agenda::save(Encoder& out) const {
  out.put(generation_);
  out.put(first_);
  out.put(end_);
  out.put(later_);
  out.put(counts_);
  out.put(counts_then_);
  out.put_all(list_);
  for (const Queue& queue : queues_)
    out.put_all(
        std::vector<uint32_t>(queue.nodes.begin() + static_cast<ptrdiff_t>(queue.head), queue.nodes.end()));
}

bool Agenda::is_among_first(uint32_t node, uint64_t count) const {
  if (by_layer_) return node >= first_ && node < end_ && node - first_ < count;
  const auto end = list_.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(count, list_.size()));
  return std::binary_search(list_.begin(), end, node);
}

// A node is rebuilt by its path, which must be as long as its layer says.
bool Agenda::layers_fit(const std::vector<uint32_t>& depths) const {
  if (first_ > end_ || end_ > later_ || later_ != depths.size()) return false;
  const auto layer = depths.begin() + first_, next = depths.begin() + end_;
  return std::is_sorted(depths.begin(), layer) &&
         std::all_of(depths.begin(), layer, [this](uint32_t depth) { return depth < generation_; }) &&
         std::all_of(layer, next, [this](uint32_t depth) { return depth == generation_; }) &&
         std::all_of(next, depths.end(), [this](uint32_t depth) { return depth == generation_ + 1; });
}

namespace {

// Notes that nodes wait. False unless they are in the tree, in ascending order, and none waits already.
bool wait(const std::vector<uint32_t>& nodes, std::vector<bool>& waiting) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const uint32_t node = nodes[i];
    if (node >= waiting.size() || waiting[node] || (i != 0 && nodes[i - 1] >= node)) return false;
    waiting[node] = true;
  }
  return true;
}

}  // namespace

bool Agenda::restore(Decoder& in, const std::vector<uint32_t>& depths) {
  in.get(generation_);
  in.get(first_);
  in.get(end_);
  in.get(later_);
  in.get(counts_);
  in.get(counts_then_);
  in.get_all(list_);
  for (Queue& queue : queues_) {
    in.get_all(queue.nodes);
    queue.head = 0;
  }
  if (!in.ok() || generation_ > depths.size()) return false;
  if (by_layer_) return list_.empty() && layers_fit(depths);
  const size_t classes = order_ == SearchOrder::kRarest ? kUnmarked + 1 : kClasses;
  std::vector<bool> waiting(depths.size());
  bool fits = first_ == 0 && end_ == 1 && later_ == 1 && wait(list_, waiting);
  for (size_t which = 0; which < queues_.size(); ++which)
    fits = fits && wait(queues_[which].nodes, waiting) && (which < classes || queues_[which].nodes.empty());
  return fits;
}

}  // namespace sisyfs
