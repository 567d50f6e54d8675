// The numbers in the bytes of a token. They never change: tests/tokens/corpus.txt holds tokens of long ago.
//
// docs/formats/token.md has the same tables, and a test compares them with these. A later program may add
// rows; a program that meets a number that it does not know refuses the token.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sisyfs::token_layout {

struct Row {
  uint8_t value;
  std::string_view name;
};

// The first byte: flags of the whole string.
inline constexpr uint8_t kPacked = 0x01;   // what follows went through pack()
inline constexpr uint8_t kHasTail = 0x02;  // other targets and surroundings follow the steps
inline constexpr std::array<Row, 2> kHeaderFlags{{{kPacked, "packed"}, {kHasTail, "tail"}}};

// The first byte of a step: an op code where everything else has its default; or the end; or kHead and the
// bits below it. The code of an empty op, which no op has, stands for an advance.
inline constexpr uint8_t kPlainOp = 0x00;
inline constexpr uint8_t kPlainAdvance = 0x3E;
inline constexpr uint8_t kPlainText = 0x3F;
inline constexpr uint8_t kReserved = 0x40;
inline constexpr uint8_t kEnd = 0x7F;
inline constexpr uint8_t kHead = 0x80;
inline constexpr std::array<Row, 6> kStepBytes{{{kPlainOp, "plain op"},
                                                {kPlainAdvance, "plain advance"},
                                                {kPlainText, "plain op as text"},
                                                {kReserved, "reserved"},
                                                {kEnd, "end"},
                                                {kHead, "head"}}};

// Bits 0 and 1: the number of cuts; 3 stands for 3 and more, and a number follows that is added to 3.
inline constexpr uint8_t kCutCount = 0x03;
inline constexpr uint8_t kFails = 0x04;
inline constexpr uint8_t kHasTask = 0x08;
inline constexpr uint8_t kHasId = 0x10;
inline constexpr uint8_t kKind = 0x60;
inline constexpr std::array<Row, 5> kHeadBits{
    {{kCutCount, "cuts"}, {kFails, "fails"}, {kHasTask, "task"}, {kHasId, "id"}, {kKind, "kind"}}};

// The bits kKind, shifted down. They are the numbers of Step::Kind.
inline constexpr std::array<Row, 4> kKinds{{{0, "op"}, {1, "begin"}, {2, "advance"}, {3, "cut"}}};

// The two low bits of a failure, the numbers of InjectedFailure::Kind less 1.
inline constexpr std::array<Row, 2> kFailures{{{0, "access"}, {1, "allocation"}}};

// The first byte of a lost event: below kLong all of it, otherwise flags for the fields that follow.
inline constexpr uint8_t kShortAddress = 0x3F;  // the address less that of the event before it, plus 32
inline constexpr uint8_t kShortSkips = 0x40;  // the number is that of the event before it plus 2, not plus 1
inline constexpr std::array<Row, 2> kShortBits{{{kShortAddress, "address"}, {kShortSkips, "skips"}}};
inline constexpr uint8_t kLostStep = 0x01;
inline constexpr uint8_t kLostCut = 0x02;
inline constexpr uint8_t kLostNth = 0x04;
inline constexpr uint8_t kLostDisk = 0x08;
inline constexpr uint8_t kLostAddress = 0x10;
inline constexpr uint8_t kLostParts = 0x20;
inline constexpr uint8_t kLostRun = 0x40;
inline constexpr uint8_t kLong = 0x80;
inline constexpr std::array<Row, 8> kLongBits{{{kLostStep, "step"},
                                               {kLostCut, "cut"},
                                               {kLostNth, "nth"},
                                               {kLostDisk, "disk"},
                                               {kLostAddress, "address"},
                                               {kLostParts, "parts"},
                                               {kLostRun, "run"},
                                               {kLong, "long"}}};

// An op is a name and words. S: a string; N: a decimal number; V: a number after the letter v.
struct OpForm {
  uint8_t code;
  std::string_view name;
  std::string_view words;
};
inline constexpr uint8_t kNoOp = kPlainAdvance;  // the op is empty
inline constexpr uint8_t kTextOp = kPlainText;   // the op as one string
// clang-format off
inline constexpr std::array<OpForm, 50> kOpForms{{
    {0, "create", "S"},         {1, "mkdir", "S"},         {2, "unlink", "S"},        {3, "rmdir", "S"},
    {4, "rename", "SS"},        {5, "link", "SS"},         {6, "symlink", "SS"},      {7, "write", "SNN"},
    {8, "append", "SN"},        {9, "truncate", "SN"},     {10, "read", "SNN"},       {11, "readdir", "S"},
    {12, "stat", "S"},          {13, "fsync", "S"},        {14, "fdatasync", "S"},    {15, "sync", ""},
    {16, "remount", ""},        {17, "open", "S"},         {18, "close", "S"},        {19, "snapshot", ""},
    {20, "restore", ""},        {21, "fsck", ""},          {22, "write_sync", "SNN"}, {23, "setxattr", "SSN"},
    {24, "getxattr", "SS"},     {25, "listxattr", "S"},    {26, "removexattr", "SS"}, {27, "write", "SNNV"},
    {28, "append", "SNV"},      {29, "write_sync", "SNNV"},{30, "setxattr", "SSNV"},  {31, "append", "S"},
    {32, "delete", "S"},        {33, "verify", "S"},     {34, "open", "SS"},       {35, "chmod", "SN"},
    {36, "fallocate", "SNN"},   {37, "fallocate_keep", "SNN"}, {38, "punch_hole", "SNN"},
    {39, "zero_range", "SNN"},  {40, "exchange", "SS"},        {41, "rename_new", "SS"},
    {42, "write_direct", "SNN"},{43, "write_direct", "SNNV"},  {44, "write_mapped", "SNN"},
    {45, "write_mapped", "SNNV"},{46, "msync", "S"},           {47, "syncfs", ""},
    {48, "commit", ""},         {49, "play", "N"},
}};
// clang-format on

// Bytes that a packed string may have when it is unpacked.
inline constexpr size_t kMostUnpacked = 8 << 20;

// The strings that the table of strings holds from the start.
inline constexpr std::array<std::string_view, 16> kStrings = {
    "/",    "/a",   "/b",     "/c",    "/d",    "/a/a",  "/a/b",  "/b/a",
    "/b/b", "/d/a", "user.a", "file0", "file1", "file2", "file3", "a"};

}  // namespace sisyfs::token_layout
