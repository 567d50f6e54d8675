// Limits on the size of classes, as a test: at most 20 data members and 25 public functions. A large class
// hides several nouns. At most five classes may be larger, each with its reason right above it:
//
//   // LARGE CLASS: the reason.
//   struct Name {
//
// C++ is read textually. That is enough for this tree: macros do not open classes here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "house.h"

namespace sisyfs::house::house_classes_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr size_t kMostMembers = 20;
constexpr size_t kMostFunctions = 25;
constexpr size_t kMostExceptions = 5;

struct ClassSize {
  size_t members = 0;
  size_t functions = 0;  // public ones, without constructors, destructors and assignment
};

// Classes that were too large when the rule came, and how large: a ratchet. Numbers may only fall; a class
// that keeps the limits is taken off the list.
const std::map<std::string, ClassSize> kKnownLarge = {};

struct Class {
  std::string name;
  size_t line = 0;
  ClassSize size;
  std::string excuse;  // the reason after "LARGE CLASS:", "" without one
};

// --- a reader of class definitions ---------------------------------------------------------------------

size_t skip_spaces(const std::string& code, size_t i) {
  const size_t next = code.find_first_not_of(" \n\t", i);
  return next == std::string::npos ? code.size() : next;
}

// The offset of the bracket that closes the one at `open`.
size_t closing(const std::string& code, size_t open) {
  const char opens = code[open];
  const char closes = opens == '{' ? '}' : opens == '(' ? ')' : opens == '[' ? ']' : '>';
  int depth = 0;
  for (size_t i = open; i < code.size(); ++i) {
    if (opens == '<' && (code[i] == '(' || code[i] == '{')) i = closing(code, i);
    if (i >= code.size()) break;
    depth += (code[i] == opens) - (code[i] == closes);
    if (depth == 0) return i;
  }
  return code.size();
}

bool starts_word(const std::string& code, size_t i, std::string_view word) {
  return code.compare(i, word.size(), word) == 0 && (i == 0 || !is_word(code[i - 1])) &&
         (i + word.size() >= code.size() || !is_word(code[i + word.size()]));
}

struct Head {
  std::string name;  // "" if it has none
  size_t body;       // the offset of the "{"
};

// The head of a class whose keyword ends at `i`; body is npos if no definition begins there.
Head head_of(const std::string& code, size_t i) {
  const Head none{"", std::string::npos};
  i = skip_spaces(code, i);
  while (i < code.size() && (code.compare(i, 2, "[[") == 0 || starts_word(code, i, "alignas"))) {
    i = skip_spaces(code, closing(code, code.find_first_of("[(", i)) + 1);
  }
  const size_t name = i;
  while (i < code.size() && (is_word(code[i]) || code.compare(i, 2, "::") == 0 || code[i - 1] == ':')) ++i;
  Head head{code.substr(name, i - name), std::string::npos};
  i = skip_spaces(code, i);
  if (i < code.size() && code[i] == '<') i = skip_spaces(code, closing(code, i) + 1);  // a specialization
  if (starts_word(code, i, "final")) i = skip_spaces(code, i + 5);
  if (i < code.size() && code[i] == ':' && code.compare(i, 2, "::") != 0) i = code.find_first_of("{;", i);
  if (i >= code.size() || code[i] != '{') return none;
  head.body = i;
  return head;
}

// The text of a declaration without its bodies and initializers, with all inside of <> and () left out.
std::string skeleton_of(const std::string& declaration) {
  std::string bare;
  for (size_t i = 0; i < declaration.size(); ++i) {
    const char c = declaration[i];
    // An operator's own brackets are part of its name.
    if (starts_word(declaration, i, "operator")) {
      const size_t parameters = declaration.find('(', skip_spaces(declaration, i + 8) + 1);
      bare += "operator" + declaration.substr(i + 8, parameters - i - 8);
      i = parameters == std::string::npos ? declaration.size() : parameters - 1;
      continue;
    }
    bare += c;
    if (c == '(' && declaration.compare(skip_spaces(declaration, i + 1), 1, "*") == 0) bare += '*';
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      i = closing(declaration, i);
      bare += c == '<' ? '>' : c == '(' ? ')' : c == '[' ? ']' : '}';
    }
  }
  return bare;
}

bool has_word(const std::string& text, const std::string& word) {
  return std::regex_search(text, std::regex("\\b" + word + "\\b"));
}

// Adds one declaration of a class body to its size.
void count(const std::string& declaration, const std::string& class_name, bool is_public, ClassSize* size) {
  static const std::regex kTemplate(R"(^\s*template\s*<>\s*(requires\s*\(\)\s*)?)");
  static const std::regex kAttribute(R"(\[\]|\balignas\s*\(\))");
  std::string bare = skeleton_of(declaration);
  bare = std::regex_replace(bare, kTemplate, "");
  bare = std::regex_replace(bare, kAttribute, " ");
  if (skip_spaces(bare, 0) == bare.size()) return;
  static const std::regex kOther(R"(^\s*(using|friend|typedef|static_assert|enum|extern)\b)");
  static const std::regex kForward(R"(^\s*(class|struct|union)\s+\w+\s*$)");
  if (std::regex_search(bare, kOther) || std::regex_search(bare, kForward)) return;

  // Up to an initializer; a parenthesis there is a call.
  const bool is_operator = has_word(bare, "operator");
  const std::string declarator = is_operator ? bare : bare.substr(0, bare.find('='));
  const size_t parameters = declarator.find('(');
  const bool is_pointer = parameters != std::string::npos && declarator.compare(parameters, 2, "(*") == 0;
  if (is_operator || (parameters != std::string::npos && !is_pointer)) {
    size_t end = parameters == std::string::npos ? 0 : declarator.find_last_not_of(" \n", parameters - 1) + 1;
    size_t begin = end;
    while (begin > 0 && is_word(declarator[begin - 1])) --begin;
    const std::string name = declarator.substr(begin, end - begin);
    const bool is_lifetime = name == class_name || declarator.find('~') != std::string::npos;
    static const std::regex kAssignment(R"(\boperator\s*=\s*\()");
    if (is_public && !is_lifetime && !std::regex_search(bare, kAssignment)) ++size->functions;
    return;
  }
  if (has_word(bare, "static") && (has_word(bare, "constexpr") || has_word(bare, "const"))) return;
  ++size->members;
  // Commas in an initializer's brackets are gone with the rest of what is in there.
  size->members += static_cast<size_t>(std::count(bare.begin(), bare.end(), ','));
}

// Goes through the declarations in a class body, which begins after `i` and ends before `end`.
ClassSize size_of_body(const std::string& code, size_t i, size_t end, const std::string& name,
                       bool is_public) {
  ClassSize size;
  std::string declaration;
  const auto finish = [&] {
    count(declaration, name, is_public, &size);
    declaration.clear();
  };
  while (i < end) {
    if (skip_spaces(declaration, 0) == declaration.size()) {
      static constexpr std::array<std::string_view, 3> kAccess = {"public", "protected", "private"};
      for (const std::string_view access : kAccess) {
        if (!starts_word(code, i, access)) continue;
        is_public = access == "public";
        i = code.find(':', i) + 1;
      }
    }
    const char c = code[i];
    if (c == ';') {
      finish();
    } else if (c == '(' || c == '[') {
      const size_t close = closing(code, i);
      declaration += code.substr(i, close + 1 - i);
      i = close;
    } else if (c == '{') {
      const std::string bare = skeleton_of(declaration);
      const size_t last = bare.find_last_not_of(" \n");
      const size_t before = last == std::string::npos ? ' ' : bare[last];
      const size_t parameters = bare.find_first_of("()");
      const bool is_function =
          has_word(bare, "operator") ||
          (parameters != std::string::npos && bare.substr(0, parameters).find('=') == std::string::npos);
      // After ") :" each member is initialized by braces that follow its name; the body's braces follow
      // others.
      static const std::regex kInitializers(R"(\)[^:]*[^:]:[^:])");
      const bool in_initializers = std::regex_search(bare, kInitializers);
      const bool is_body =
          is_function && !(in_initializers && (is_word(static_cast<char>(before)) || before == '>'));
      static const std::regex kType(R"(^\s*(template\s*<>\s*)?(class|struct|union|enum)\b[^=(]*$)");
      const bool is_type = std::regex_search(bare, kType);
      i = closing(code, i);
      if (is_body) {
        finish();
      } else if (is_type) {
        // Counted by itself. Members of that type may follow: struct { ... } a, b;
        const size_t next = skip_spaces(code, i + 1);
        declaration = next < end && code[next] != ';' && !has_word(bare, "enum") ? "Nested " : "";
      } else {
        declaration += "{}";
      }
    } else {
      declaration += c;
    }
    ++i;
  }
  return size;
}

std::string without_preprocessor(const std::string& code) {
  std::string left;
  bool goes_on = false;
  for (const std::string& line : lines_of(code)) {
    const size_t first = line.find_first_not_of(' ');
    const bool is_directive = goes_on || (first != std::string::npos && line[first] == '#');
    goes_on = is_directive && line.ends_with('\\');
    left += is_directive ? "\n" : line + "\n";
  }
  return left;
}

// The text after "LARGE CLASS:" in the comment right above a line.
std::string excuse_above(const std::vector<std::string>& lines, size_t line) {
  static const std::regex kExcuse(R"((?://|\*)\s*LARGE CLASS:\s*(\S.*))");
  for (size_t i = line - 1; i-- > 0;) {
    const size_t first = lines[i].find_first_not_of(' ');
    const bool is_comment =
        first != std::string::npos && (lines[i].compare(first, 2, "//") == 0 || lines[i][first] == '*' ||
                                       lines[i].compare(first, 2, "/*") == 0);
    const bool is_template = first != std::string::npos && lines[i].find("template") == first;
    if (!is_comment && !is_template) break;
    std::smatch found;
    if (std::regex_search(lines[i], found, kExcuse)) return found[1];
  }
  return "";
}

std::vector<Class> classes_of(const Source& source) {
  const std::string code = without_preprocessor(code_of(source.text));
  const std::vector<std::string> lines = lines_of(source.text);
  std::vector<Class> classes;
  for (size_t i = 0; i < code.size(); ++i) {
    const bool is_class = starts_word(code, i, "class");
    if (!is_class && !starts_word(code, i, "struct")) continue;
    const size_t before = i == 0 ? std::string::npos : code.find_last_not_of(" \n", i - 1);
    if (before != std::string::npos && before >= 3 && starts_word(code, before - 3, "enum")) continue;
    const Head head = head_of(code, i + (is_class ? 5 : 6));
    if (head.body == std::string::npos) continue;
    const size_t line = line_of(code, i);
    const std::string name = head.name.substr(head.name.rfind(':') + 1);
    classes.push_back({head.name.empty() ? "(unnamed)" : head.name, line,
                       size_of_body(code, head.body + 1, closing(code, head.body), name, !is_class),
                       excuse_above(lines, line)});
  }
  return classes;
}

// --- the rule ------------------------------------------------------------------------------------------

std::string sizes(const ClassSize& size) {
  return std::to_string(size.members) + " data members and " + std::to_string(size.functions) +
         " public functions";
}

bool is_large(const ClassSize& size) {
  return size.members > kMostMembers || size.functions > kMostFunctions;
}

Faults classes_are_small(const Source& source, const std::map<std::string, ClassSize>& known) {
  Faults faults;
  for (const Class& c : classes_of(source)) {
    const auto old = known.find(source.path + " " + c.name);
    const std::string what = c.name + " has " + sizes(c.size);
    if (!is_large(c.size)) {
      if (old != known.end()) faults.push_back(at(source, c.line, what + "; take it off kKnownLarge"));
      if (!c.excuse.empty()) faults.push_back(at(source, c.line, what + "; it needs no excuse"));
    } else if (old != known.end()) {
      if (c.size.members > old->second.members || c.size.functions > old->second.functions) {
        faults.push_back(at(source, c.line, what + "; it had " + sizes(old->second)));
      }
    } else if (c.excuse.empty()) {
      faults.push_back(at(source, c.line, what + "; which noun is hiding in it?"));
    }
  }
  return faults;
}

Source header(const std::string& text) { return {"src/base/a.h", text}; }

ClassSize size_of(const std::string& text) {
  const std::vector<Class> classes = classes_of(header(text));
  return classes.empty() ? ClassSize{} : classes.front().size;
}

TEST(HouseClassesTest, DataMembersAreCountedByDeclarator) {
  EXPECT_EQ(size_of("struct A { int a; };").members, 1u);
  EXPECT_EQ(size_of("struct A { Digest a, b; };").members, 2u);
  EXPECT_EQ(size_of("struct A { std::map<int, Set<int, 3>> a, b{1, 2}, c = f(1, 2); };").members, 3u);
  EXPECT_EQ(size_of("class A { std::function<void(int, int)> f_; int (*g_)(int, int); };").members, 2u);
  EXPECT_EQ(size_of("struct A { uint32_t a : 3, b : 5; mutable int c[2] = {1, 2}; };").members, 3u);
  EXPECT_EQ(size_of("struct A { struct { int x; } a, b; };").members, 2u);
  EXPECT_EQ(size_of("class alignas(64) A final : public B<int, C> { alignas(64) int a{3}; };").members, 1u);
}

TEST(HouseClassesTest, WhatIsNoDataMemberIsNotCountedAsOne) {
  const ClassSize size = size_of(R"(
    struct A {
      static constexpr size_t kMost = 3, kLeast = 1;
      static const std::vector<int> kAll;
      using B = int;
      friend class C;
      friend bool operator==(const A&, const A&) = default;
      class D;
      struct E { int x, y, z; };
      enum class F : uint8_t { kOne, kTwo };
      enum { kThree };
      static_assert(sizeof(int) == 4);
      // int commented;
      // It had an "int quoted;" once.
    };)");
  EXPECT_EQ(size.members, 0u);
  EXPECT_EQ(size.functions, 0u);
}

TEST(HouseClassesTest, PublicFunctionsAreCountedWithoutThoseOfLifetime) {
  const ClassSize size = size_of(R"(
    template <class T, class = std::enable_if_t<(sizeof(T) > 3)>>
    class A : public B {
     public:
      explicit A(int a) : B(a), a_{a}, b_(f({1}, 2)) { g(); }
      A(const A&) = default;
      A& operator=(const A&) = default;
      ~A() override { close(a_); }
      [[nodiscard]] int one() const { return a_ < 3 ? a_ : 4; }                                // 1
      template <class U> requires(sizeof(U) > 1) std::pair<int, U> two(U u = {}) noexcept;      // 2
      bool operator<(const A& other) const { return a_ < other.a_; }                            // 3
      auto operator<=>(const A&) const = default;                                               // 4
      int operator()(int x, int y) const;                                                       // 5
      virtual void six(std::function<void(int)> f = [](int) { return; }) = 0;                   // 6
      static A seven() { return A({1, 2}); }                                                    // 7
     protected:
      void hidden();
     private:
      void also_hidden() {}
      int a_ = 0;
      std::vector<int> b_;
    };)");
  EXPECT_EQ(size.functions, 7u);
  EXPECT_EQ(size.members, 2u);
}

TEST(HouseClassesTest, NestedAndLocalClassesAreCountedByThemselves) {
  const std::vector<Class> classes = classes_of(header(R"(
    class Outer {
      struct Inner { int a, b, c; void f() {} };
      Inner inner_;
    };
    void g() { struct Local { int a; } local; }
    enum class No { kA };
    template <class T, struct S> void h(class Forward x);
    struct Outer::Later { int a, b; };)"));
  ASSERT_THAT(classes, SizeIs(4));
  EXPECT_EQ(classes[0].size.members, 1u);
  EXPECT_EQ(classes[1].name, "Inner");
  EXPECT_EQ(classes[1].size.members, 3u);
  EXPECT_EQ(classes[1].size.functions, 1u);
  EXPECT_EQ(classes[2].name, "Local");
  EXPECT_EQ(classes[3].name, "Outer::Later");
  EXPECT_EQ(classes[3].line, 9u);
}

std::string large_class(size_t members, const std::string& above = "") {
  std::string text = above + "struct Large {\n";
  for (size_t i = 0; i < members; ++i) text += "  int a" + std::to_string(i) + ";\n";
  return text + "};\n";
}

TEST(HouseClassesTest, LargeClassIsFound) {
  EXPECT_THAT(classes_are_small(header(large_class(kMostMembers)), {}), IsEmpty());
  EXPECT_THAT(classes_are_small(header(large_class(kMostMembers + 1)), {}),
              ElementsAre(HasSubstr("a.h:1: Large has 21 data members")));
  std::string functions = "struct Large {\n";
  for (size_t i = 0; i <= kMostFunctions; ++i) functions += "  void f" + std::to_string(i) + "() {}\n";
  EXPECT_THAT(classes_are_small(header(functions + "};\n"), {}),
              ElementsAre(HasSubstr("26 public functions")));
}

TEST(HouseClassesTest, ExcuseRightAboveALargeClassCounts) {
  const std::string excuse = "// A table.\n// LARGE CLASS: it is an interface in C.\n";
  EXPECT_THAT(classes_are_small(header(large_class(21, excuse)), {}), IsEmpty());
  EXPECT_THAT(classes_are_small(header(large_class(21, excuse + "\n")), {}), SizeIs(1)) << "not right above";
  EXPECT_THAT(classes_are_small(header(large_class(21, "// LARGE CLASS:\n")), {}), SizeIs(1)) << "no reason";
  EXPECT_THAT(classes_are_small(header(large_class(20, excuse)), {}),
              ElementsAre(HasSubstr("needs no excuse")));
}

TEST(HouseClassesTest, RatchetOnlyTightens) {
  const std::map<std::string, ClassSize> known = {{"src/base/a.h Large", {22, 0}}};
  EXPECT_THAT(classes_are_small(header(large_class(22)), known), IsEmpty());
  EXPECT_THAT(classes_are_small(header(large_class(21)), known), IsEmpty());
  EXPECT_THAT(classes_are_small(header(large_class(23)), known), ElementsAre(HasSubstr("it had 22")));
  EXPECT_THAT(classes_are_small(header(large_class(20)), known), ElementsAre(HasSubstr("take it off")));
}

// --- and over the tree ---------------------------------------------------------------------------------

TEST(HouseClassesTest, ClassesOfTheTreeAreSmall) {
  expect_everywhere([](const Source& source) { return classes_are_small(source, kKnownLarge); });
}

TEST(HouseClassesTest, FewClassesAreExcepted) {
  std::vector<std::string> excepted;
  for (const Source& source : files_in(kCodeFolders, kCodeTypes)) {
    for (const Class& c : classes_of(source)) {
      if (!c.excuse.empty()) excepted.push_back(source.path + " " + c.name);
    }
  }
  EXPECT_LE(excepted.size(), kMostExceptions) << testing::PrintToString(excepted);
}

}  // namespace
}  // namespace sisyfs::house::house_classes_test
