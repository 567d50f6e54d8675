// Result<T>: a value, or an operating problem with its context.
//
// For problems outside of the program: a missing file, a malformed trace, a full disk. The message is one
// sentence that says what to do. The kind says how the program reacts.
//
//   Result<Trace> trace = parse_trace(text);
//   if (!trace) return trace.error();
//   use(*trace);
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace sisyfs {

// The CLI turns bad input into exit code 2 and system errors into exit code 4.
enum class ErrorKind {
  kBadInput,  // arguments or files of the user are wrong; the message says what to change
  kSystem,    // the operating system refused (no permission, no space, no such tool)
};

struct Error {
  ErrorKind kind = ErrorKind::kBadInput;
  std::string message;
};

inline Error bad_input(std::string message) { return {ErrorKind::kBadInput, std::move(message)}; }
inline Error system_error(std::string message) { return {ErrorKind::kSystem, std::move(message)}; }

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}
  Result(Error error) : content_(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<T>(content_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return std::get<T>(content_); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &std::get<T>(content_); }
  const Error& error() const { return std::get<Error>(content_); }

 private:
  T& value() {
    SISYFS_ASSERT(*this, "a result is tested before its value is used");
    return std::get<T>(content_);
  }
  std::variant<T, Error> content_;
};

// Success, or an operating problem.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : failed_(true), error_(std::move(error)) {}
  explicit operator bool() const { return !failed_; }
  const Error& error() const { return error_; }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace sisyfs
