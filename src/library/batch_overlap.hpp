#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/problem.hpp"

namespace lapidary::library {

/// The bytes of all matrices of a batch: `count` of them every `stride` bytes, of `lines` lines each every `pitch`
/// bytes, of `length` bytes each.
class BatchBytes {
 public:
  /// @param stride  in elements; 0 or more
  /// @returns nothing if they do not end below 2^63
  static std::optional<BatchBytes> of(const MatrixShape& x, const void* data, std::int64_t count, std::int64_t stride) {
    BatchBytes bytes;
    const std::int64_t size = size_of(x.type);
    bytes.begin_ = reinterpret_cast<std::intptr_t>(data);
    bytes.matrix_ = x.bytes();
    bytes.lines_ = {x.lines(), x.lines() > 1 ? x.ld * size : x.length() * size};
    bytes.length_ = x.length() * size;
    bytes.matrices_ = {1, bytes.matrix_};
    std::int64_t last = 0;
    if (count > 1 && stride > 0) {
      if (__builtin_mul_overflow(stride, size, &stride) || __builtin_mul_overflow(count - 1, stride, &last)) return {};
      bytes.matrices_ = {count, stride};
    }
    if (bytes.begin_ < 0 || __builtin_add_overflow(last, bytes.matrix_, &last) ||
        __builtin_add_overflow(last, bytes.begin_, &bytes.end_))
      return {};
    return bytes;
  }

  /// Whether two batches, neither of them empty, have a byte in common. Those of blocks of one larger matrix overlap as
  /// ranges of addresses without: then each line of the one that has fewer is held against the few of the other that
  /// could meet it.
  static bool meet(const BatchBytes& x, const BatchBytes& y) {
    if (x.end_ <= y.begin_ || y.end_ <= x.begin_) return false;
    const auto lines = [](const BatchBytes& b) { return static_cast<double>(b.matrices_.count) * b.lines_.count; };
    return lines(x) <= lines(y) ? x.has_line_in(y) : y.has_line_in(x);
  }

 private:
  /// So many that begin every `step` bytes.
  struct Level {
    std::int64_t count, step;
  };

  /// The first and the last of a level, the first one at `at`, `bytes` bytes each, that [from, to) may meet.
  static std::pair<std::int64_t, std::int64_t> near(const Level& level, std::int64_t at, std::int64_t bytes,
                                                    std::int64_t from, std::int64_t to) {
    const auto floor_div = [](std::int64_t dividend, std::int64_t divisor) {
      return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
    };
    return {std::max<std::int64_t>(floor_div(from - (at + bytes), level.step) + 1, 0),
            std::min(floor_div(to - 1 - at, level.step), level.count - 1)};
  }

  bool has_line_in(const BatchBytes& other) const {
    const auto [first, last] = near(matrices_, begin_, matrix_, other.begin_, other.end_);
    for (std::int64_t matrix = first; matrix <= last; ++matrix) {
      const std::int64_t at = begin_ + matrix * matrices_.step;
      if (!other.meets(at, at + matrix_)) continue;
      const auto [top, bottom] = near(lines_, at, length_, other.begin_, other.end_);
      for (std::int64_t line = top; line <= bottom; ++line)
        if (other.meets(at + line * lines_.step, at + line * lines_.step + length_)) return true;
    }
    return false;
  }

  bool meets(std::int64_t from, std::int64_t to) const {
    // Matrices one behind the other have their lines within, matrices side by side have theirs within lines. Of D what
    // is within does not overlap what comes next, and one between the first and the last that are near is met.
    const bool beside = matrices_.step < lines_.step;
    const Level &outer = beside ? lines_ : matrices_, &inner = beside ? matrices_ : lines_;
    const std::int64_t bytes = (inner.count - 1) * inner.step + length_;
    const auto [first, last] = near(outer, begin_, bytes, from, to);
    for (std::int64_t i = first; i <= last; ++i) {
      const auto [least, most] = near(inner, begin_ + i * outer.step, length_, from, to);
      if (least <= most) return true;
    }
    return false;
  }

  std::int64_t begin_ = 0, end_ = 0, length_ = 0, matrix_ = 0;  ///< matrix_: from its first byte to its last one
  Level matrices_ = {1, 1}, lines_ = {1, 1};
};

}  // namespace lapidary::library
