#include "models/mapping/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "finding/disk_check.h"
#include "judge/workload_options.h"
#include "models/mapping/story.h"
#include "models/mapping/target.h"

namespace sisyfs::mapping {
namespace {

constexpr MarkInfo kMarks[] = {
    {kCrashInOp, "the power went in the middle of an op"},
    {kDiskFull, "the disk was full"},
    {kDeadRepaired, "a dead block was repaired"},
};
constexpr MarkInfo kIndexMarks[] = {
    kMarks[0], kMarks[1], kMarks[2], {kIndirectUsed, "an indirect block was in use"}};
constexpr MarkInfo kTwoTasksMarks[] = {
    kMarks[0], kMarks[1], kMarks[2], {kTwoInFlight, "two ops were in flight at once"}};
constexpr MarkInfo kIndexTwoTasksMarks[] = {kMarks[0], kMarks[1], kMarks[2], kIndexMarks[3],
                                            kTwoTasksMarks[3]};

std::span<const MarkInfo> marks_of(Model model, const Config& config) {
  if (model == Model::kIndex)
    return config.tasks == 2 ? std::span<const MarkInfo>(kIndexTwoTasksMarks) : kIndexMarks;
  return config.tasks == 2 ? std::span<const MarkInfo>(kTwoTasksMarks) : kMarks;
}

// The numbers are the bits of the model (mapping.h).
KindTable kinds_of(const Config& config) {
  return {{FindingKind::kDeadBlock, FindingKind::kLostBlock, FindingKind::kDoublePointer,
           FindingKind::kContentError},
          kLostBlock | kDoublePointer | kContentError | (config.report_dead ? kDeadBlock : 0u)};
}

template <class Core>
std::unique_ptr<Check> make(const Config& config, std::span<const MarkInfo> marks) {
  if (config.counter)
    return std::make_unique<SystemCheck<MappingSystem<Core, true>, MappingTeller<Core, true>>>(
        MappingSystem<Core, true>(config), marks, kinds_of(config));
  return std::make_unique<SystemCheck<MappingSystem<Core, false>, MappingTeller<Core, false>>>(
      MappingSystem<Core, false>(config), marks, kinds_of(config));
}

}  // namespace

std::vector<OptionSpec> option_specs() {
  std::vector<OptionSpec> specs = {
      OptionSpec::integer("files", 1, kMaxFiles, 4, "number of files"),
      OptionSpec::integer("blocks", 1, kMaxBlocks, 6, "number of data blocks"),
      OptionSpec::integer("tasks", 1, 2, 1, "tasks that run ops at once"),
      OptionSpec::choice("order", {"naive", "pointed"}, "pointed",
                         "write order: naive (pointer first), or pointed (what it points to first)"),
      OptionSpec::choice("cache", {"off", "flush"}, "flush",
                         "a volatile cache, flushed at the end of each op; off: writes are durable at once"),
      OptionSpec::choice("data", {"hash", "counter"}, "hash",
                         "content of data blocks: a hash of file and block number, or a counter"),
      OptionSpec::integer("values", 2, 4, 4, "data=counter: number of different contents"),
      OptionSpec::choice("free", {"fill", "keep"}, "fill",
                         "content of freed blocks: overwritten (fill), or kept"),
      OptionSpec::choice("dead", {"repair", "report"}, "repair",
                         "dead blocks: repaired without a finding, or reported as findings"),
      OptionSpec::flag("symmetry", false, "merge states that differ only in the names of files and tasks"),
      OptionSpec::choice("via", {"steps", "disk"}, "steps",
                         "steps (ops in steps, tasks interleave), or disk (whole ops on a disk)"),
      OptionSpec::flag("impossible", false, "via=disk: also try ops that must fail"),
  };
  for (OptionSpec& spec : cut_specs("via=disk: ")) specs.push_back(std::move(spec));
  return specs;
}

Config config_of(const Options& options) {
  Config c;
  c.files = static_cast<unsigned>(options.integer("files"));
  c.blocks = static_cast<unsigned>(options.integer("blocks"));
  c.tasks = static_cast<unsigned>(options.integer("tasks"));
  c.naive = options.choice_text("order") == "naive";
  c.cache = options.choice_text("cache") == "flush";
  c.counter = options.choice_text("data") == "counter";
  c.values = static_cast<unsigned>(options.integer("values"));
  c.fill = options.choice_text("free") == "fill";
  c.report_dead = options.choice_text("dead") == "report";
  c.symmetry = options.flag("symmetry");
  return c;
}

// As many units as a file can have: the target's own limits are the tighter ones.
DiskSetup disk_setup_of(Model model, const Options& options) {
  const Config config = config_of(options);
  DiskSetup setup;
  setup.kind = model == Model::kLink ? link_kind_of(config) : index_kind_of(config);
  setup.bounds.ops = setup.bounds.ops | OpSet(sisyfs::OpKind::kRead);
  setup.bounds.max_files = kMaxFiles;
  setup.bounds.max_file_size = kMaxBlocks;
  setup.bounds.impossible = options.flag("impossible");
  setup.recovery.report_repaired = config.report_dead;
  set_cuts(options, setup);
  if (!config.cache) setup.cuts.device.cache = WriteCache::kWriteThrough;
  return setup;
}

Result<std::unique_ptr<Check>> make_check(Model model, const Options& options) {
  const Config config = config_of(options);
  if (options.choice_text("via") == "steps") {
    const auto wants_disk = [&](std::string_view name) { return options.differs(name); };
    const auto cuts = std::ranges::find_if(kCutOptions, wants_disk);
    if (cuts == std::end(kCutOptions) && !wants_disk("impossible")) return make_steps_check(model, config);
    return bad_input(fmt::format("{} is an option of the form with a disk: add via=disk",
                                 cuts == std::end(kCutOptions) ? "impossible" : *cuts));
  }
  if (config.tasks != 1 || config.symmetry || config.counter)
    return bad_input(
        "via=disk runs whole ops of one task: tasks=2, symmetry=on and data=counter need via=steps");
  return make_disk_check(disk_setup_of(model, options));
}

std::unique_ptr<Check> make_steps_check(Model model, const Config& config) {
  const auto marks = marks_of(model, config);
  return model == Model::kLink ? make<LinkCore>(config, marks) : make<IndexCore>(config, marks);
}

}  // namespace sisyfs::mapping
