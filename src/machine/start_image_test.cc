#include "machine/start_image.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <vector>

#include "workload/workload.h"

namespace sisyfs::start_image_test {
namespace {

// A target without mistakes, on a disk that holds so many bytes of files.
struct Room {
  explicit Room(uint64_t most = UINT64_MAX) : bytes(most) {
    kind.ops = OpSet::all();
    kind.claims.limited_space = true;
    kind.limits.write_unit = 512;
    kind.disks = Geometry{512, BlockCount(std::min<uint64_t>(most, 1 << 20) / 512)};
    wanted.max_files = 2;
  }
  uint64_t used(const Tree& of) const {
    uint64_t sum = 0;
    for (size_t id = 0; id < of.node_limit(); ++id)
      if (of.has_node(static_cast<NodeId>(id))) sum += of.node(static_cast<NodeId>(id)).data.size();
    return sum;
  }
  int make(StartImage image) {
    const Bounds bounds = bounds_for(kind, wanted);
    const auto call = [&](const Op& op) {
      ops.push_back(op);
      if (op.kind == wrong) return OpResult::of(EPERM);
      Tree after = target;
      const OpResult answer = apply(op, after);
      if (used(after) > bytes) return OpResult::of(ENOSPC);
      target = after;
      return answer;
    };
    return make_start_image(image, kind, bounds, call, expected);
  }
  TargetKind kind;
  Bounds wanted;
  uint64_t bytes;
  OpKind wrong = OpKind::kFsck;
  Tree target, expected;
  std::vector<Op> ops;
};

TEST(StartImageTest, AnAgedOneHasSeenHundredsOfOps) {
  Room room;
  ASSERT_EQ(room.make(StartImage::kAged), 0);
  EXPECT_EQ(room.target, room.expected);
  EXPECT_GT(room.ops.size(), 250u);
  std::map<OpKind, int> kinds;
  for (const Op& op : room.ops) ++kinds[op.kind];
  for (const OpKind kind : {OpKind::kCreate, OpKind::kAppend, OpKind::kWrite, OpKind::kTruncate,
                            OpKind::kRename, OpKind::kUnlink, OpKind::kMkdir, OpKind::kRmdir, OpKind::kSync})
    EXPECT_GE(kinds[kind], 5) << op_name(kind);
  EXPECT_EQ(room.target.children(kRootNode).size(), 1u) << "all of it is in one directory";
  EXPECT_EQ(room.target.count(FileType::kDirectory), 2u) << "the root and that one";
  EXPECT_GE(room.target.count(FileType::kFile), 5u);
  Room again;
  ASSERT_EQ(again.make(StartImage::kAged), 0);
  EXPECT_EQ(again.ops, room.ops);
}

TEST(StartImageTest, AFullOneHasAFewUnitsLeft) {
  for (const uint64_t bytes : {uint64_t{100} * 512, uint64_t{777} * 512, uint64_t{1} << 20}) {
    Room room(bytes);
    ASSERT_EQ(room.make(StartImage::kFull), 0);
    EXPECT_EQ(room.target, room.expected);
    EXPECT_EQ(bytes - room.used(room.target), 4u * 512) << bytes;
    EXPECT_LT(room.ops.size(), 150u) << "large pieces first";
  }
}

TEST(StartImageTest, WhereThereIsLittleRoomThereAreFewerOps) {
  for (const StartImage image : {StartImage::kAged, StartImage::kFull})
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{512}, uint64_t{2048}}) {
      Room room(bytes);
      EXPECT_EQ(room.make(image), 0) << bytes;
      EXPECT_EQ(room.target, room.expected);
    }
  Room few;
  few.kind.limits.max_files = 3;  // the workload's two, and one for the trial of use
  EXPECT_EQ(few.make(StartImage::kAged), 0);
  EXPECT_EQ(few.target.count(FileType::kFile), 0u);
  Room flat;
  flat.kind.ops = flat.kind.ops - OpSet(OpKind::kMkdir, OpKind::kRmdir);
  EXPECT_EQ(flat.make(StartImage::kAged), 0);
  EXPECT_EQ(flat.target, flat.expected);
  EXPECT_GT(flat.target.count(FileType::kFile), 0u);
}

TEST(StartImageTest, AWrongAnswerEndsIt) {
  for (const OpKind wrong : {OpKind::kMkdir, OpKind::kRename, OpKind::kSync}) {
    Room room;
    room.wrong = wrong;
    EXPECT_EQ(room.make(StartImage::kAged), EPERM) << op_name(wrong);
  }
}

TEST(StartImageTest, SomeTargetsCannotHaveOne) {
  Room room;
  const Bounds bounds = bounds_for(room.kind, room.wanted);
  for (const StartImage image : {StartImage::kNew, StartImage::kAged, StartImage::kFull})
    EXPECT_TRUE(check_start_image(image, room.kind, bounds));
  Bounds fixed = bounds;
  fixed.fixed_names = true;
  EXPECT_FALSE(check_start_image(StartImage::kAged, room.kind, fixed));
  EXPECT_TRUE(check_start_image(StartImage::kNew, room.kind, fixed));
  room.kind.claims.limited_space = false;
  EXPECT_FALSE(check_start_image(StartImage::kFull, room.kind, bounds));
  EXPECT_TRUE(check_start_image(StartImage::kAged, room.kind, bounds));
}

// The same ops as on an empty tree.
TEST(StartImageTest, TheWorkloadLeavesTheBallastAlone) {
  Room room, flat;
  flat.kind.ops = flat.kind.ops - OpSet(OpKind::kMkdir, OpKind::kRmdir);
  for (Room* one : {&room, &flat}) {
    ASSERT_EQ(one->make(StartImage::kAged), 0);
    Bounds bounds = bounds_for(one->kind, one->wanted);
    bounds.variety.ballast = bounds.impossible = true;
    Result<Workload> workload = Workload::make(bounds);
    ASSERT_TRUE(workload);
    std::vector<Candidate> with, without;
    workload->from(one->expected, &with);
    workload->from(Tree(), &without);
    const auto texts = [](const std::vector<Candidate>& all) {
      std::vector<std::string> text;
      for (const Candidate& candidate : all) text.push_back(to_text(candidate.op));
      return text;
    };
    EXPECT_EQ(texts(with), texts(without));
    EXPECT_FALSE(with.empty());
  }
}

// A disk of the user has any names, and links.
TEST(StartImageTest, FilesWithNamesOfTheWorkloadAreNoBallast) {
  Room room;
  Bounds bounds = bounds_for(room.kind, room.wanted);
  bounds.variety.ballast = true;
  const Path mine("/" + bounds.names.front());
  Tree tree;
  for (const Op& op :
       {Op::of(OpKind::kCreate, Path("/theirs")), Op::of(OpKind::kLink, Path("/theirs"), Path("/same")),
        Op::of(OpKind::kLink, Path("/theirs"), Path("/again")), Op::of(OpKind::kCreate, mine)})
    ASSERT_EQ(apply(op, tree).error, 0) << to_text(op);
  Result<Workload> workload = Workload::make(bounds);
  ASSERT_TRUE(workload);
  std::vector<Candidate> all;
  workload->from(tree, &all);
  bool unlinks = false, creates = false;
  for (const Candidate& candidate : all) {
    unlinks |= candidate.op.kind == OpKind::kUnlink && candidate.op.path == mine;
    creates |= candidate.op.kind == OpKind::kCreate;
    for (const Path& path : {candidate.op.path, candidate.op.other})
      for (const char* name : {"/theirs", "/same", "/again"})
        EXPECT_NE(path, Path(name)) << to_text(candidate.op);
  }
  EXPECT_TRUE(unlinks);
  EXPECT_EQ(creates, bounds.max_files > 1) << "a file with three names counts as none";
}

}  // namespace
}  // namespace sisyfs::start_image_test
