#include "cli/access_grammar.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cli/type_names.hpp"
#include "core/error.hpp"
#include "core/expression.hpp"

namespace lapidary::cli {

const char* const layout_grammar =
    R"help(LAYOUT   [TYPE] SHAPE [":" STRIDE] ["+" ADD ["/" EVERY]] ["^" BITS "," BASE "," SHIFT]
  TYPE     element type: f64, f32 (default), tf32, f16, bf16, e4m3, e5m2, s8, u8; or b64, b32, b16, b8;
           also fp64, double, fp32, float, fp16, half, bfloat16, int8, uint8, fp8 (e4m3)
  SHAPE    64x128 or (64,128): one to four modes
  STRIDE   (1,64): elements between neighbours of each mode; without it the last mode is contiguous (row-major)
  +4/64    4 unused elements after every 64; +4 alone: after every row, the last mode of a row-major layout
  ^3,2,3   CuTe's Swizzle<3,2,3>; also written ^<3,2,3>

  "f16 64x128+2/64"   "32x32"   "128x32^3,2,3"   "(128,8):(1,128)"
)help";

const char* const access_grammar =
    R"help(ACCESS   ("read" | "write") [BITS] "[" EXPR {"," EXPR} "]" ["if" EXPR]   or   "ldmatrix" ["x1" | "x2" | "x4"] "[" ... "]"
  BITS     of a lane's access, 8 to 128, at least an element (default: one element)
  EXPR     one index a mode, of integers and `lane`, 0 to 31:  + - * / %  << >>  & ^ |  == != < <= > >=  ( )
           with the precedence of C
  if       lanes for which it is 0 take no part
  ldmatrix [row, column] is where a lane's row of eight 16-bit elements begins; x4 is the default

  "read [lane, 0]"   "read 128 [0, lane % 16 * 8]"   "write 16 [lane % 8 * 8, lane / 8]"
  "ldmatrix x4 [lane % 16, lane / 16 * 8]"
)help";

namespace {

/// Reads a text from left to right; what it meets is reported with a caret below it.
class Reader {
 public:
  Reader(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  [[noreturn]] void fail(const std::string& message) const { fail_at(at_, message); }
  [[noreturn]] void fail_at(std::size_t position, const std::string& message) const {
    throw InvalidArgument(fmt::format("{}: {}\n  {}\n  {}^", what_, message, text_, std::string(position, ' ')));
  }

  std::size_t position() {
    skip_blanks();
    return at_;
  }
  bool at_end() { return position() == text_.size(); }

  /// Takes a symbol if it comes next.
  bool take(std::string_view symbol) {
    skip_blanks();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol)) fail(fmt::format("expected \"{}\" {}", symbol, instead()));
  }
  void expect_end(std::string_view alternatives) {
    if (!at_end()) fail(fmt::format("expected {} or the end {}", alternatives, instead()));
  }

  bool digit_next() {
    skip_blanks();
    return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
  }
  std::int64_t number(std::string_view of, std::int64_t most = Layout::offset_limit) {
    if (!digit_next()) fail(fmt::format("expected {} {}", of, instead()));
    const std::size_t start = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (value > most) fail_at(start, fmt::format("{} is at most {}", of, most));
    }
    return value;
  }

  std::string_view text() const { return text_; }
  void go_to(std::size_t position) { at_ = position; }

  /// A word of letters and digits that begins with a letter; empty if none comes next.
  std::string word() {
    skip_blanks();
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    std::size_t end = at_;
    while (end < text_.size() && (letter(text_[end]) || (end > at_ && text_[end] >= '0' && text_[end] <= '9'))) ++end;
    const std::string result(text_.substr(at_, end - at_));
    at_ = end;
    return result;
  }

 private:
  std::string instead() {
    skip_blanks();
    return at_ == text_.size() ? "but the text ends" : fmt::format("instead of \"{}\"", text_[at_]);
  }
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::string_view what_, text_;
  std::size_t at_ = 0;
};

using Modes = std::vector<int>;

/// "(a,b,c)" or, of a shape, "axbxc".
Modes read_modes(Reader& reader, std::string_view of, bool shorthand) {
  Modes modes;
  const bool parentheses = shorthand ? reader.take("(") : (reader.expect("("), true);
  do {
    const std::size_t at = reader.position();
    const int value = static_cast<int>(reader.number(of));
    if (value == 0) reader.fail_at(at, fmt::format("{} is at least 1", of));
    if (modes.size() == Layout::max_rank) reader.fail_at(at, "a layout has one to four modes");
    modes.push_back(value);
  } while (reader.take(parentheses ? "," : "x"));
  if (parentheses) reader.expect(")");
  return modes;
}

Layout make_layout(const Modes& s, const Modes& t) {
  switch (s.size()) {
    case 1: return Layout({s[0]}, {t[0]});
    case 2: return Layout({s[0], s[1]}, {t[0], t[1]});
    case 3: return Layout({s[0], s[1], s[2]}, {t[0], t[1], t[2]});
    default: return Layout({s[0], s[1], s[2], s[3]}, {t[0], t[1], t[2], t[3]});
  }
}

/// What a rule of Layout refuses, at the place in the text that it is about.
template <class Make>
Layout made_at(const Reader& reader, std::size_t position, Make make) {
  try {
    return make();
  } catch (const InvalidArgument& error) {
    reader.fail_at(position, error.what());
  }
}

int bytes_of(const Reader& reader, std::size_t at, const std::string& type) {
  constexpr std::pair<std::string_view, int> types[] = {{"f64", 8},  {"f32", 4},  {"tf32", 4}, {"f16", 2}, {"bf16", 2},
                                                        {"e4m3", 1}, {"e5m2", 1}, {"s8", 1},   {"u8", 1},  {"b64", 8},
                                                        {"b32", 4},  {"b16", 2},  {"b8", 1}};
  std::string names;
  for (const auto& [name, bytes] : types) {
    if (type == name) return bytes;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  reader.fail_at(at, fmt::format("\"{}\" is no element type; there are {}", type, names));
}

/// An expression in `lane`, by lane.
using Lanes = std::array<std::int64_t, 32>;

Lanes read_lanes(Reader& reader) {
  Lanes values;
  const std::size_t begin = reader.position();
  for (std::size_t lane = 0; lane < values.size(); ++lane) {
    const auto meaning = [lane](const std::string& name) {
      return name == "lane" ? std::optional(std::to_string(lane)) : std::nullopt;
    };
    std::size_t end = begin;
    try {
      values[lane] = evaluate_at(reader.text(), end, {meaning, "the only variable is lane", true});
    } catch (const ExpressionError& error) {
      reader.fail_at(error.position(), error.what());
    }
    reader.go_to(end);
  }
  return values;
}

std::uint32_t mask_of(const Lanes& condition) {
  std::uint32_t mask = 0;
  for (std::size_t lane = 0; lane < condition.size(); ++lane) mask |= std::uint32_t{condition[lane] != 0} << lane;
  return mask;
}

}  // namespace

TypedLayout parse_layout(std::string_view text) {
  Reader reader("LAYOUT", text);
  const std::size_t start = reader.position();
  const std::string word = reader.word();
  const std::string type(word.empty() ? "f32" : known_type_name(word));
  const int bytes = bytes_of(reader, start, type);
  const std::size_t shape_at = reader.position();
  const Modes shape = read_modes(reader, "an extent", true);
  const std::size_t stride_at = reader.position();
  const bool strided = reader.take(":");
  Modes stride;
  if (strided) {
    stride = read_modes(reader, "a stride", false);
    if (stride.size() != shape.size()) {
      reader.fail_at(stride_at, fmt::format("as many strides as extents; got {}, the nearest legal value is {}",
                                            stride.size(), shape.size()));
    }
  } else {
    stride.assign(shape.size(), 1);
    for (std::size_t m = shape.size() - 1; m > 0; --m) {
      const std::int64_t step = std::int64_t{stride[m]} * shape[m];
      if (step > Layout::offset_limit) reader.fail_at(shape_at, "a tile has fewer than 2^30 elements");
      stride[m - 1] = static_cast<int>(step);
    }
  }
  Layout layout = made_at(reader, strided ? stride_at : shape_at, [&] { return make_layout(shape, stride); });
  const std::size_t padding_at = reader.position();
  if (reader.take("+")) {
    const auto add = static_cast<int>(reader.number("the number of unused elements"));
    const std::size_t every_at = reader.position();
    int every = shape.back();
    if (reader.take("/")) {
      every = static_cast<int>(reader.number("the number of elements between them"));
    } else if (strided) {
      reader.fail_at(every_at, "with strides, say after how many elements the unused ones come: +ADD/EVERY");
    }
    layout = made_at(reader, padding_at, [&] { return layout.padded(every, add); });
  }
  const std::size_t swizzle_at = reader.position();
  if (reader.take("^")) {
    const bool brackets = reader.take("<");
    const auto bits = static_cast<int>(reader.number("the number of bits"));
    reader.expect(",");
    const auto base = static_cast<int>(reader.number("the lowest bit"));
    reader.expect(",");
    const auto shift = static_cast<int>(reader.number("the shift"));
    if (brackets) reader.expect(">");
    layout = made_at(reader, swizzle_at, [&] { return layout.swizzled(bits, base, shift); });
  }
  reader.expect_end("\":\", \"+\", \"^\"");
  return {layout, type, bytes};
}

TileAccess parse_access(std::string_view text, const TypedLayout& tile) {
  Reader reader("ACCESS", text);
  TileAccess access{TileAccess::read, 8 * tile.element_bytes, ~std::uint32_t{0}, {}};
  const std::size_t start = reader.position();
  const std::string verb = reader.word();
  if (verb == "ldmatrix") {
    access.kind = TileAccess::ldmatrix;
    access.bits = 128;
    const std::size_t at = reader.position();
    const std::string count = reader.word();
    if (!count.empty() && count != "x1" && count != "x2" && count != "x4") {
      reader.fail_at(at, fmt::format("ldmatrix loads x1, x2 or x4 matrices, not \"{}\"", count));
    }
    if (count == "x1") access.active = 0xff;
    if (count == "x2") access.active = 0xffff;
  } else if (verb == "read" || verb == "write") {
    access.kind = verb == "read" ? TileAccess::read : TileAccess::write;
    if (const std::size_t at = reader.position(); reader.digit_next()) {
      access.bits = static_cast<int>(reader.number("the width in bits", 1 << 20));
      const int bits = access.bits;
      if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) {
        reader.fail_at(at, fmt::format("an access is 8, 16, 32, 64 or 128 bits wide, not {}", bits));
      }
      if (bits < 8 * tile.element_bytes) {
        reader.fail_at(
            at, fmt::format("an access of {} bits is narrower than an element of {} bytes", bits, tile.element_bytes));
      }
    }
  } else {
    reader.fail_at(start, "expected read, write or ldmatrix");
  }
  reader.expect("[");
  std::vector<Lanes> indices;
  std::vector<std::size_t> index_at;
  do {
    index_at.push_back(reader.position());
    indices.push_back(read_lanes(reader));
  } while (reader.take(","));
  const int rank = tile.layout.rank();
  if (static_cast<int>(indices.size()) != rank) {
    reader.fail(fmt::format("as many indices as modes; got {}, the nearest legal value is {}", indices.size(), rank));
  }
  reader.expect("]");
  const std::size_t condition_at = reader.position();
  if (const std::string word = reader.word(); word == "if") {
    access.active &= mask_of(read_lanes(reader));
    if (access.active == 0) reader.fail_at(condition_at, "no lane takes part");
  } else if (!word.empty()) {
    reader.fail_at(condition_at, fmt::format("expected \"if\" or the end instead of \"{}\"", word));
  }
  reader.expect_end("\"if\"");
  for (int lane = 0; lane < 32; ++lane) {
    if ((access.active >> lane & 1) == 0) continue;
    for (int m = 0; m < rank; ++m) {
      const auto mode = static_cast<std::size_t>(m);
      const std::int64_t index = indices[mode][static_cast<std::size_t>(lane)];
      if (index < 0 || index >= tile.layout.shape(m)) {
        reader.fail_at(index_at[mode],
                       fmt::format("0 <= index < {}; got {} in lane {}, the nearest legal value is {}",
                                   tile.layout.shape(m), index, lane, index < 0 ? 0 : tile.layout.shape(m) - 1));
      }
      access.index[static_cast<std::size_t>(lane)][mode] = index;
    }
  }
  return access;
}

}  // namespace lapidary::cli
