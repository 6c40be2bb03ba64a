#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "core/build.hpp"
#include "core/math.hpp"
#include "layout/require.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// `add` unused elements after every `every` elements; every == 0 is no padding.
struct Padding {
  int every = 0;
  int add = 0;

  LAPIDARY_HD constexpr int operator()(int offset) const {
    // Unsigned, so that a power of two becomes one shift; offsets are never negative.
    const unsigned linear = static_cast<unsigned>(offset);
    const unsigned period = static_cast<unsigned>(every);
    return every == 0 ? offset : static_cast<int>(linear + linear / period * static_cast<unsigned>(add));
  }
  constexpr bool operator==(const Padding&) const = default;
};

/// CuTe's Swizzle<B, M, S> with S > 0: bits [base + shift, base + shift + bits) of an offset are XORed onto its bits
/// [base, base + bits).
///
///     0bxxxYYYxxZZZxxxx      bits = 3, base = 4, shift = 5: ZZZ becomes ZZZ ^ YYY, all else stays
///
/// The two fields do not overlap (shift >= bits), so a swizzle is its own inverse; it permutes every aligned block of
/// 2^(base + bits) elements and keeps every aligned run of 2^base elements whole: base = log2 of the vector length
/// leaves vectors contiguous. bits == 0 is no swizzle.
struct Swizzle {
  int bits = 0;
  int base = 0;
  int shift = 0;

  LAPIDARY_HD constexpr int operator()(int offset) const {
    return offset ^ ((offset >> shift) & (((1 << bits) - 1) << base));
  }
  constexpr bool operator==(const Swizzle&) const = default;
};

/// Where the elements of a tile of up to four modes live, as one value. All quantities count elements.
///
///     linear = sum over the modes of index[m] * stride[m]
///     offset = swizzle(padding(linear))
///
/// Distinct coordinates have distinct offsets: a layout that maps two of them to one element is refused. Invalid
/// arguments do not compile in a constant expression and throw InvalidArgument at run time on the host.
///
/// Device code can use a static constexpr object of a class only by value, and one of a namespace not at all. Kernels
/// and the functions that they call copy layouts into constexpr locals; each offset then folds to a few integer
/// instructions:
///
///     struct Config {
///       static constexpr Layout a = row_major(128, 8).padded(8, 4);
///       LAPIDARY_HD static constexpr int a_read(int lane, int k) {
///         constexpr Layout layout = a;
///         return layout(lane, k);
///       }
///     };
///     template <class Config>
///     __global__ void kernel(...) {
///       constexpr Layout a = Config::a;
///       ... sA[a(i, k)] ... sA[Config::a_read(lane, k)] ...
class Layout {
 public:
  static constexpr int max_rank = 4;
  /// All offsets are below it, so that a swizzled one, raised at most to the next power of two, and cosize() are ints.
  static constexpr std::int64_t offset_limit = std::int64_t{1} << 30;
  /// One index a mode; 0 in the modes from the rank on.
  using Coordinates = std::array<int, max_rank>;

  /// Mode m has shape[m] elements, stride[m] apart; both at least 1.
  template <int R>
  LAPIDARY_HD constexpr Layout(const int (&shape)[R], const int (&stride)[R]) : rank_(R) {
    static_assert(R <= max_rank, "a layout has one to four modes");
    for (int m = 0; m < R; ++m) {
      require(shape[m] >= 1, "Layout: the shape of each mode is at least 1", shape[m], 1);
      require(stride[m] >= 1, "Layout: the stride of each mode is at least 1", stride[m], 1);
      shape_[m] = shape[m];
      stride_[m] = stride[m];
    }
    require_representable();
    require_injective();
  }

  /// The same tile with `add` unused elements after every `every` elements, counted along linear offsets (before the
  /// swizzle); replaces an earlier padding. Zero for either is no padding.
  ///
  ///     row_major(64, 128).padded(128, 4)    four elements after each row: a pitch of 132
  ///     row_major(64, 128).padded(64, 2)     two after each half row: column 64 at 66, row 1 at 132
  LAPIDARY_HD constexpr Layout padded(int every, int add) const {
    require(every >= 0, "Layout::padded: every is at least 0", every, 0);
    require(add >= 0, "Layout::padded: add is at least 0", add, 0);
    Layout result = *this;
    result.padding_ = every == 0 || add == 0 ? Padding{} : Padding{every, add};
    result.require_representable();
    return result;
  }

  /// The same tile with its offsets permuted by Swizzle{bits, base, shift}, after any padding, whichever is asked for
  /// first; replaces an earlier swizzle. bits == 0 is no swizzle.
  ///
  ///     row_major(128, 32).swizzled(3, 2, 3)   [m][k] of float: the eight 128-bit vectors of a row are permuted by
  ///                                            m mod 8, so eight rows read at one k touch all 32 banks
  LAPIDARY_HD constexpr Layout swizzled(int bits, int base, int shift) const {
    require(bits >= 0 && bits <= 15, "Layout::swizzled: bits is 0 to 15", bits, bits < 0 ? 0 : 15);
    require(base >= 0, "Layout::swizzled: base is at least 0", base, 0);
    if (bits > 0) {
      require(shift >= bits, "Layout::swizzled: shift is at least bits", shift, bits);
      require(shift <= 31 - bits, "Layout::swizzled: shift is at most 31 - bits", shift, 31 - bits);
      require(base <= 31 - bits - shift, "Layout::swizzled: base is at most 31 - bits - shift", base,
              31 - bits - shift);
    }
    Layout result = *this;
    result.swizzle_ = bits == 0 ? Swizzle{} : Swizzle{bits, base, shift};
    return result;
  }

  LAPIDARY_HD constexpr int rank() const { return rank_; }
  LAPIDARY_HD constexpr int shape(int mode) const { return shape_[mode]; }
  LAPIDARY_HD constexpr int stride(int mode) const { return stride_[mode]; }
  LAPIDARY_HD constexpr Padding padding() const { return padding_; }
  LAPIDARY_HD constexpr Swizzle swizzle() const { return swizzle_; }

  /// The offset of an element; as many indices as modes, 0 <= index[m] < shape(m). Constant expressions check the
  /// range, so that an assertion about coordinates outside of the tile does not compile; run-time code does not.
  template <std::integral... Index>
  LAPIDARY_HD constexpr int operator()(Index... index) const {
    static_assert(sizeof...(Index) >= 1 && sizeof...(Index) <= max_rank, "a layout has one to four modes");
    constexpr int indices = sizeof...(Index);
    require(indices == rank_, "Layout: as many indices as modes", indices, rank_);
    if (__builtin_is_constant_evaluated()) {
      int m = 0;
      (require_in_range(static_cast<long long>(index), m++), ...);
    }
    // A mode whose stride is a multiple of the padding's period only has a longer stride by it. A division is left for
    // the other modes, and only where together they reach a period: a compiler does not know how far indices go.
    int m = 0, periods = 0, rest = 0, reach = 0;
    const auto add = [&](int i) {
      const int stride = stride_[m], last = shape_[m++] - 1;
      const bool whole = padding_.every == 0 || stride % padding_.every == 0;
      periods += whole ? i * padding_(stride) : 0;
      rest += whole ? 0 : i * stride;
      reach += whole ? 0 : last * stride;
    };
    // A fold and not a loop up to the rank: nothing is left to unroll, so that the strides never need addressable (on
    // the GPU: local) memory.
    (add(static_cast<int>(index)), ...);
    return swizzle_(periods + (reach < padding_.every ? rest : padding_(rest)));
  }

  /// The number of elements in the tile.
  LAPIDARY_HD constexpr int size() const { return shape_[0] * shape_[1] * shape_[2] * shape_[3]; }

  /// One past the largest offset, the length of an array that holds the tile. Padding after the last element is not
  /// counted.
  LAPIDARY_HD constexpr int cosize() const {
    const int last = padding_(static_cast<int>(reach()));
    if (swizzle_.bits == 0) return last + 1;
    // A swizzle stays within aligned blocks of 2^(base + bits), and below the power of two that `last` is below. So the
    // largest offset is the highest one of the block of `last`, capped by that power, that holds an element.
    int below_power = last;
    for (int shift = 1; shift < 32; shift *= 2) below_power |= below_power >> shift;
    const int in_block = (1 << (swizzle_.base + swizzle_.bits)) - 1;
    int offset = last | (in_block & below_power);
    for (int index[max_rank] = {}; !find(offset, index);) --offset;
    return offset + 1;
  }

  /// The coordinates of the element at an offset; none where the offset is padding, a gap between strides, or outside.
  constexpr std::optional<Coordinates> inverse(int offset) const {
    int index[max_rank] = {};
    if (!find(offset, index)) return std::nullopt;
    return Coordinates{index[0], index[1], index[2], index[3]};
  }

  constexpr bool operator==(const Layout&) const = default;

 private:
  // The modes in order of falling strides, and how far each and all later ones together reach.
  struct Modes {
    std::int64_t shape[max_rank] = {1, 1, 1, 1};
    std::int64_t stride[max_rank] = {1, 1, 1, 1};
    std::int64_t reach[max_rank + 1] = {};
    int mode[max_rank] = {0, 1, 2, 3};
  };

  LAPIDARY_HD constexpr Modes sorted_modes() const {
    Modes modes;
    for (int i = 1; i < rank_; ++i) {
      for (int j = i; j > 0 && stride_[modes.mode[j - 1]] < stride_[modes.mode[j]]; --j) {
        const int mode = modes.mode[j];
        modes.mode[j] = modes.mode[j - 1];
        modes.mode[j - 1] = mode;
      }
    }
    for (int i = 0; i < rank_; ++i) {
      modes.shape[i] = shape_[modes.mode[i]];
      modes.stride[i] = stride_[modes.mode[i]];
    }
    accumulate_reach(modes);
    return modes;
  }
  LAPIDARY_HD static constexpr void accumulate_reach(Modes& modes) {
    for (int i = max_rank - 1; i >= 0; --i) {
      modes.reach[i] = modes.reach[i + 1] + (modes.shape[i] - 1) * modes.stride[i];
    }
  }

  // Counts the indices whose sum of index * stride over the modes from `first` on is `target`, up to `limit`, and
  // leaves the last one found in `index`. What the later modes can reach bounds each index from both sides; where the
  // strides nest, as in all padded or permuted row-major layouts, one candidate remains.
  LAPIDARY_HD static constexpr int solve(const Modes& modes, int first, std::int64_t target, int limit,
                                         int (&index)[max_rank]) {
    if (first == max_rank) return target == 0 ? 1 : 0;
    const std::int64_t stride = modes.stride[first];
    const std::int64_t excess = target - modes.reach[first + 1];
    const std::int64_t low = excess > 0 ? ceil_div(excess, stride) : 0;
    const std::int64_t high = target / stride < modes.shape[first] ? target / stride : modes.shape[first] - 1;
    int found = 0;
    for (std::int64_t i = low; i <= high && found < limit; ++i) {
      index[modes.mode[first]] = static_cast<int>(i);
      found += solve(modes, first + 1, target - i * stride, limit - found, index);
    }
    return found;
  }

  // Two coordinates x and y meet where sum((x[m] - y[m]) * stride[m]) == 0. Shifted by shape[m] - 1 to be non-negative,
  // the differences are the indices of a tile of shape 2 * shape - 1, and x == y is its middle: injective means that
  // this is the only solution. Padding and swizzle keep distinct offsets distinct.
  LAPIDARY_HD constexpr void require_injective() const {
    const Modes modes = sorted_modes();
    Modes differences = modes;
    for (int i = 0; i < max_rank; ++i) differences.shape[i] = 2 * modes.shape[i] - 1;
    accumulate_reach(differences);
    int index[max_rank] = {};
    if (solve(differences, 0, modes.reach[0], 2, index) == 1) return;
    // The strides cannot nest; the smallest that does not is the one to widen.
    for (int i = max_rank - 1; i >= 0; --i) {
      require(modes.shape[i] == 1 || modes.stride[i] > modes.reach[i + 1],
              "Layout: no two coordinates share an offset, as where each stride exceeds what the smaller ones reach",
              modes.stride[i], modes.reach[i + 1] + 1);
    }
  }

  // Whether an element lives at an offset, and its coordinates.
  LAPIDARY_HD constexpr bool find(int offset, int (&index)[max_rank]) const {
    if (offset < 0) return false;
    std::int64_t linear = swizzle_(offset);
    if (padding_.every > 0) {
      const std::int64_t period = static_cast<std::int64_t>(padding_.every) + padding_.add;
      if (linear % period >= padding_.every) return false;
      linear = linear / period * padding_.every + linear % period;
    }
    return solve(sorted_modes(), 0, linear, 1, index) == 1;
  }

  // The largest linear offset.
  LAPIDARY_HD constexpr std::int64_t reach() const {
    std::int64_t reach = 0;
    for (int m = 0; m < rank_; ++m) reach += static_cast<std::int64_t>(shape_[m] - 1) * stride_[m];
    return reach;
  }

  LAPIDARY_HD constexpr void require_representable() const {
    std::int64_t last = 0;
    for (int m = 0; m < rank_; ++m) {
      last += static_cast<std::int64_t>(shape_[m] - 1) * stride_[m];
      require(last < offset_limit, "Layout: offsets are below 2^30", last, offset_limit - 1);
    }
    if (padding_.every > 0) last += last / padding_.every * padding_.add;
    require(last < offset_limit, "Layout: offsets are below 2^30", last, offset_limit - 1);
  }

  LAPIDARY_HD constexpr void require_in_range(long long index, int mode) const {
    require(index >= 0 && index < shape_[mode], "Layout: 0 <= index < shape", index, index < 0 ? 0 : shape_[mode] - 1);
  }

  // Modes from the rank on are as if absent: shape 1, stride 0.
  int rank_ = 0;
  int shape_[max_rank] = {1, 1, 1, 1};
  int stride_[max_rank] = {};
  Padding padding_;
  Swizzle swizzle_;
};

}  // namespace lapidary::inline LAPIDARY_BUILD

namespace lapidary::inline LAPIDARY_BUILD::layout_detail {

/// A tile without gaps: mode `fastest` has stride 1, and each mode `step` (1 or -1) further the product of the shapes
/// before it.
template <int R>
LAPIDARY_HD constexpr Layout compact(const std::int64_t (&shape)[R], int fastest, int step) {
  int extent[R] = {}, stride[R] = {};
  std::int64_t size = 1;
  for (int i = 0, m = fastest; i < R; ++i, m += step) {
    const std::int64_t largest = Layout::offset_limit / size;
    require(shape[m] >= 1, "Layout: the shape of each mode is at least 1", shape[m], 1);
    require(shape[m] <= largest, "Layout: offsets are below 2^30", shape[m], largest);
    extent[m] = static_cast<int>(shape[m]);
    stride[m] = static_cast<int>(size);
    size *= shape[m];
  }
  return Layout(extent, stride);
}

}  // namespace lapidary::inline LAPIDARY_BUILD::layout_detail

namespace lapidary::inline LAPIDARY_BUILD {

/// The last index moves fastest: row_major(stages, BK, BN) has strides (BK * BN, BN, 1).
template <std::integral... Extent>
LAPIDARY_HD constexpr Layout row_major(Extent... extent) {
  return layout_detail::compact({static_cast<std::int64_t>(extent)...}, sizeof...(Extent) - 1, -1);
}

/// The first index moves fastest: column_major(BM, BK) has strides (1, BM).
template <std::integral... Extent>
LAPIDARY_HD constexpr Layout column_major(Extent... extent) {
  return layout_detail::compact({static_cast<std::int64_t>(extent)...}, 0, 1);
}

/// `(shape):(stride)`, then `+add/every` where there is padding and `^<bits,base,shift>` where there is a swizzle:
/// `(128,8):(8,1)+4/128^<3,2,3>`.
inline std::string to_string(const Layout& layout) {
  std::string shape, stride;
  for (int m = 0; m < layout.rank(); ++m) {
    shape += (m == 0 ? "" : ",") + std::to_string(layout.shape(m));
    stride += (m == 0 ? "" : ",") + std::to_string(layout.stride(m));
  }
  std::string text = "(" + shape + "):(" + stride + ")";
  if (const Padding p = layout.padding(); p.every > 0) {
    text += "+" + std::to_string(p.add) + "/" + std::to_string(p.every);
  }
  if (const Swizzle s = layout.swizzle(); s.bits > 0) {
    text += "^<" + std::to_string(s.bits) + "," + std::to_string(s.base) + "," + std::to_string(s.shift) + ">";
  }
  return text;
}

/// The offset of an element in a layout that is a static member of a class: `offset_in<a>(i, k)` within the class that
/// has `static constexpr Layout a`. In device code the member itself cannot be called.
template <const Layout& layout, class... Index>
LAPIDARY_HD constexpr int offset_in(Index... index) {
  constexpr Layout at = layout;
  return at(index...);
}

}  // namespace lapidary::inline LAPIDARY_BUILD
