#include "lens/tensor_instruction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <span>

#include "core/error.hpp"
#include "ptx/mma.hpp"
#include "ptx/wgmma.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::lens {
namespace {

using emulator::Number;
using emulator::number_of;
using Kind = TensorInstruction::Kind;

constexpr const char* kind_names[] = {"mma", "wgmma", "wmma", "ldmatrix", "stmatrix"};
const char* name_of(Kind kind) { return kind_names[static_cast<int>(kind)]; }

// ---------------------------------------------------------------------------------------------------- what there is

// Of classes that do not compile for anything else.

template <class A, class B, class D, int K, int M = 16, int N = 8>
TensorInstruction mma() {
  using Form = Mma<A, B, D, M, N, K>;
  return {.kind = Kind::mma,
          .a = number_of<typename Form::A>,
          .b = number_of<typename Form::B>,
          .d = number_of<typename Form::D>,
          .M = Form::M,
          .N = Form::N,
          .K = Form::K};
}

template <class A, class B, class D>
void add_wgmma(std::vector<TensorInstruction>& all) {
  using Form = Wgmma<A, B, D, 8>;
  for (int N = 8; N <= 256; N += 8) {
    if (Form::integer && N % 16 != 0 && N > 24) continue;
    all.push_back({.kind = Kind::wgmma,
                   .a = number_of<A>,
                   .b = number_of<B>,
                   .d = number_of<D>,
                   .M = Form::M,
                   .N = N,
                   .K = Form::K});
  }
}

void add_wmma(std::vector<TensorInstruction>& all, Number type, Number sum) {
  for (const auto& [M, N] : {std::pair{16, 16}, std::pair{32, 8}, std::pair{8, 32}})
    all.push_back({.kind = Kind::wmma, .a = type, .b = type, .d = sum, .M = M, .N = N, .K = 16});
}

std::vector<TensorInstruction> all_instructions() {
  using s8 = std::int8_t;
  using u8 = std::uint8_t;
  using s32 = std::int32_t;
  std::vector<TensorInstruction> all = {
      mma<f16, f16, float, 8>(),        mma<f16, f16, float, 16>(),   mma<f16, f16, f16, 8>(),
      mma<f16, f16, f16, 16>(),         mma<bf16, bf16, float, 8>(),  mma<bf16, bf16, float, 16>(),
      mma<tf32, tf32, float, 4>(),      mma<tf32, tf32, float, 8>(),  mma<e4m3, e4m3, float, 32>(),
      mma<e4m3, e5m2, float, 32>(),     mma<e5m2, e4m3, float, 32>(), mma<e5m2, e5m2, float, 32>(),
      mma<s8, s8, s32, 16>(),           mma<s8, s8, s32, 32>(),       mma<s8, u8, s32, 16>(),
      mma<s8, u8, s32, 32>(),           mma<u8, s8, s32, 16>(),       mma<u8, s8, s32, 32>(),
      mma<u8, u8, s32, 16>(),           mma<u8, u8, s32, 32>(),       mma<double, double, double, 4, 8>(),
      mma<double, double, double, 16>()};
  add_wgmma<f16, f16, float>(all);
  add_wgmma<f16, f16, f16>(all);
  add_wgmma<bf16, bf16, float>(all);
  add_wgmma<tf32, tf32, float>(all);
  add_wgmma<e4m3, e4m3, float>(all);
  add_wgmma<e4m3, e5m2, float>(all);
  add_wgmma<e5m2, e4m3, float>(all);
  add_wgmma<e5m2, e5m2, float>(all);
  add_wgmma<e4m3, e4m3, f16>(all);
  add_wgmma<e4m3, e5m2, f16>(all);
  add_wgmma<e5m2, e4m3, f16>(all);
  add_wgmma<e5m2, e5m2, f16>(all);
  add_wgmma<s8, s8, s32>(all);
  add_wgmma<s8, u8, s32>(all);
  add_wgmma<u8, s8, s32>(all);
  add_wgmma<u8, u8, s32>(all);
  add_wmma(all, Number::f16, Number::f32);
  add_wmma(all, Number::f16, Number::f16);
  add_wmma(all, Number::bf16, Number::f32);
  for (const Kind kind : {Kind::ldmatrix, Kind::stmatrix})
    for (const int count : {1, 2, 4})
      for (const bool transposed : {false, true})
        all.push_back({.kind = kind, .matrices = count, .transposed = transposed});
  return all;
}

std::string shape_of(const TensorInstruction& i) { return fmt::format("m{}n{}k{}", i.M, i.N, i.K); }

/// What sums are of where nothing is said.
Number default_sum(Number type) {
  switch (type) {
    case Number::f64: return Number::f64;
    case Number::s8:
    case Number::u8: return Number::s32;
    default: return Number::f32;
  }
}

/// "bf16", "f16/f16", "e4m3 e5m2": A and B, which may be one word, and what D is of if that is not the usual.
std::string types_of(const TensorInstruction& i) {
  std::string text = emulator::name_of(i.a);
  if (i.b != i.a) text += fmt::format(" {}", emulator::name_of(i.b));
  if (i.d != default_sum(i.a)) text += fmt::format("/{}", emulator::name_of(i.d));
  return text;
}

/// Each once, in their order.
std::vector<std::string> different(std::span<const TensorInstruction> all,
                                   std::string (*text)(const TensorInstruction&)) {
  std::vector<std::string> texts;
  for (const TensorInstruction& i : all)
    if (std::string one = text(i); std::find(texts.begin(), texts.end(), one) == texts.end()) texts.push_back(one);
  return texts;
}

template <class Condition>
std::vector<TensorInstruction> those(Condition&& condition) {
  std::vector<TensorInstruction> found;
  for (const TensorInstruction& i : tensor_instructions())
    if (condition(i)) found.push_back(i);
  return found;
}

/// The shapes of instructions that differ in nothing else.
std::string shapes_text(std::span<const TensorInstruction> all) {
  if (all.front().kind == Kind::wgmma)
    return fmt::format("m64nNk{}, N {} up to {}", all.front().K,
                       all.front().d == Number::s32 ? "8, 24 or a multiple of 16" : "a multiple of 8", all.back().N);
  return fmt::format("{}", fmt::join(different(all, shape_of), ", "));
}

// ---------------------------------------------------------------------------------------------------- reading

/// The words of an instruction's name, at blanks and dots.
class Words {
 public:
  explicit Words(std::string_view text) {
    std::string word;
    for (const char c : text) {
      if (c != ' ' && c != '.') {
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      } else if (!word.empty()) {
        words_.push_back(std::move(word));
        word.clear();
      }
    }
    if (!word.empty()) words_.push_back(word);
  }

  bool at_end() const { return next_ == words_.size(); }
  const std::string& peek() const {
    static const std::string none;
    return at_end() ? none : words_[next_];
  }
  std::string take() {
    const std::string word = peek();
    if (!at_end()) ++next_;
    return word;
  }
  /// Takes the word if it comes next.
  bool take(std::string_view word) {
    if (at_end() || peek() != word) return false;
    ++next_;
    return true;
  }

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

/// An extent, at most 9999, so that sums of them are no concern.
std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = !text.empty() && error == std::errc{} && end == text.data() + text.size();
  return whole && value >= 0 && value <= 9999 ? std::optional(value) : std::nullopt;
}

struct Shape {
  int M, N, K;
};

/// m16n8k16, or as WMMA has it 16x8x16.
std::optional<Shape> parse_shape(std::string_view text) {
  const bool named = text.starts_with('m');
  if (named) text.remove_prefix(1);
  const std::size_t first = text.find(named ? 'n' : 'x');
  const std::size_t second = first == text.npos ? first : text.find(named ? 'k' : 'x', first + 1);
  if (second == text.npos) return std::nullopt;
  const auto M = number(text.substr(0, first)), N = number(text.substr(first + 1, second - first - 1)),
             K = number(text.substr(second + 1));
  if (!M || !N || !K) return std::nullopt;
  return Shape{*M, *N, *K};
}

std::optional<Number> parse_number(std::string_view text) {
  for (int n = 0; n <= static_cast<int>(Number::f64); ++n)
    if (text == emulator::name_of(static_cast<Number>(n))) return static_cast<Number>(n);
  return std::nullopt;
}

struct Types {
  Number a, b, d;
};

/// A and B in one word or two, with "/D" behind; or as PTX has them: D, A, B, and of mma C.
Types parse_types(Words& words, Kind kind) {
  const auto refuse = [&](const std::string& what) {
    const auto known = different(those([&](const TensorInstruction& i) { return i.kind == kind; }), types_of);
    throw InvalidArgument(fmt::format("{} of {}: {}; there are {}", name_of(kind),
                                      kind == Kind::wmma ? "elements" : "A and B", what, fmt::join(known, ", ")));
  };
  std::vector<Number> types;
  std::optional<Number> sum;
  const auto take = [&](std::string_view text) {
    const std::optional<Number> type = parse_number(text);
    if (!type) refuse(fmt::format("\"{}\" is no element type", text));
    return *type;
  };
  const std::size_t most = kind == Kind::wgmma ? 3 : 4;
  while (!words.at_end() && words.peek().find('=') == std::string::npos && types.size() < most && !sum) {
    const std::string word = words.take();
    const std::size_t slash = word.find('/');
    types.push_back(take(word.substr(0, slash)));
    if (slash != word.npos) sum = take(word.substr(slash + 1));
  }
  if (types.empty()) refuse("the element type is missing");
  if (types.size() < 3) {
    const Number a = types.front(), b = types.back();
    return {a, b, sum.value_or(default_sum(a))};
  }
  if (sum) refuse("D is said twice, before A and behind the \"/\"");
  if (types.size() == 4 && types[3] != types[0])
    refuse(fmt::format("C is of {} and D of {}; here both are of one type", emulator::name_of(types[3]),
                       emulator::name_of(types[0])));
  return {types[1], types[2], types[0]};
}

/// The one with these types and this shape.
TensorInstruction find(Kind kind, const Types& types, const std::string& shape_text) {
  const auto of_types = those(
      [&](const TensorInstruction& i) { return i.kind == kind && i.a == types.a && i.b == types.b && i.d == types.d; });
  if (of_types.empty()) {
    const auto known = different(those([&](const TensorInstruction& i) { return i.kind == kind; }), types_of);
    throw InvalidArgument(fmt::format("{} has no A of {} with B of {} and D of {}; there are {}", name_of(kind),
                                      emulator::name_of(types.a), emulator::name_of(types.b),
                                      emulator::name_of(types.d), fmt::join(known, ", ")));
  }
  const std::optional<Shape> shape = parse_shape(shape_text);
  if (!shape)
    throw InvalidArgument(fmt::format("{}: \"{}\" is no shape, M x N x K as in {}; there are {}", name_of(kind),
                                      shape_text, shape_of(of_types.front()), shapes_text(of_types)));
  const auto distance = [&](const TensorInstruction& i) {
    return std::abs(i.M - shape->M) + std::abs(i.N - shape->N) + std::abs(i.K - shape->K);
  };
  const TensorInstruction nearest = *std::min_element(
      of_types.begin(), of_types.end(), [&](const auto& x, const auto& y) { return distance(x) < distance(y); });
  if (distance(nearest) != 0)
    throw InvalidArgument(fmt::format("{} of {}: m{}n{}k{} is not here; there are {}; the nearest is {}", name_of(kind),
                                      types_of(nearest), shape->M, shape->N, shape->K, shapes_text(of_types),
                                      shape_of(nearest)));
  return nearest;
}

/// "k/128", "mn/none".
SharedForm parse_shared(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view major = text.substr(0, slash);
  const std::string_view swizzle = slash == text.npos ? std::string_view() : text.substr(slash + 1);
  const auto refuse = [&](std::string_view what, std::string_view legal) {
    throw InvalidArgument(fmt::format(
        "wgmma: \"{}\" is where an operand lies in shared memory, as in k/128: {}; there are {}", text, what, legal));
  };
  if (major != "k" && major != "mn") refuse(fmt::format("\"{}\" is no major mode", major), "k and mn");
  SharedForm form{major == "k" ? Major::k : Major::mn};
  for (const TensorSwizzle one :
       {TensorSwizzle::none, TensorSwizzle::bytes32, TensorSwizzle::bytes64, TensorSwizzle::bytes128}) {
    form.swizzle = one;
    if (swizzle == (one == TensorSwizzle::none ? "none" : std::to_string(span_of(one)))) return form;
  }
  refuse(fmt::format("\"{}\" is no swizzle", swizzle), "none, 32, 64 and 128 bytes");
  return form;
}

void parse_operands(Words& words, TensorInstruction& instruction) {
  while (!words.at_end()) {
    const std::string word = words.take();
    const std::string_view value = std::string_view(word).substr(std::min<std::size_t>(word.size(), 2));
    std::optional<SharedForm> shared;
    if (word == "a=registers") {
      instruction.a_shared.reset();
      continue;
    }
    if (!word.starts_with("a=") && !word.starts_with("b="))
      throw InvalidArgument(fmt::format(
          "wgmma: \"{}\" is not understood; behind the types there may be a=registers, a=k/128 and b=mn/64 and the like",
          word));
    shared = parse_shared(value);
    if (shared->major == Major::mn && emulator::width_of(instruction.a) != 16)
      throw InvalidArgument(fmt::format("wgmma: elements of 16 bits alone are MN-major; got {} of {}, there is {}=k/{}",
                                        word, emulator::name_of(instruction.a), word.front(),
                                        value.substr(value.find('/') + 1)));
    if (word.front() == 'a')
      instruction.a_shared = shared;
    else
      instruction.b_shared = *shared;
  }
}

TensorInstruction parse_product(Words& words, Kind kind) {
  words.take(kind == Kind::wgmma ? "mma_async" : "mma");
  words.take("sync");
  words.take("aligned");
  const std::string shape = words.take();
  if (words.take("row")) words.take("col");
  const bool saturates = words.take("satfinite");
  TensorInstruction instruction = find(kind, parse_types(words, kind), shape);
  if (saturates && instruction.d != Number::s32)
    throw InvalidArgument(
        fmt::format("{}: satfinite is of sums of s32; got {}", name_of(kind), emulator::name_of(instruction.d)));
  if (kind == Kind::wgmma) parse_operands(words, instruction);
  return instruction;
}

TensorInstruction parse_movement(Words& words, Kind kind) {
  TensorInstruction instruction{.kind = kind};
  for (const char* word : {"sync", "aligned", "m8n8"}) words.take(word);
  const std::string count = words.take();
  if (count != "x1" && count != "x2" && count != "x4")
    throw InvalidArgument(fmt::format("{} moves x1, x2 or x4 matrices of 8 x 8; got \"{}\"", name_of(kind), count));
  instruction.matrices = count[1] - '0';
  instruction.transposed = words.take("trans");
  words.take("shared");
  words.take("b16");
  return instruction;
}

/// What cuobjdump calls it: HMMA.16816.F32.BF16, HGMMA.64x256x16.F32.BF16, LDSM.16.MT88.4.
std::string opcode_of(const TensorInstruction& i) {
  if (i.moves_matrices())
    return fmt::format("{}.16.{}88{}", i.kind == Kind::ldmatrix ? "LDSM" : "STSM", i.transposed ? "MT" : "M",
                       i.matrices == 1 ? "" : fmt::format(".{}", i.matrices));
  const bool wide = i.kind == Kind::wgmma;
  const bool fp8 = i.a == Number::e4m3 || i.a == Number::e5m2;
  const std::string letter = i.d == Number::s32 ? "I" : i.d == Number::f64 ? "D" : fp8 ? "Q" : "H";
  std::string types;
  if (i.d != Number::s32 && i.d != Number::f64) types += fmt::format(".{}", emulator::name_of(i.d));
  // Of f16 nothing is said.
  if (i.d == Number::s32 || fp8)
    types += fmt::format(".{}.{}", emulator::name_of(i.a), emulator::name_of(i.b));
  else if (i.a == Number::bf16 || i.a == Number::tf32)
    types += fmt::format(".{}", emulator::name_of(i.a));
  std::string text = wide ? fmt::format("{}GMMA.{}x{}x{}{}", letter, i.M, i.N, i.K, types)
                          : fmt::format("{}MMA.{}{}{}{}", letter, i.M, i.N, i.K, types);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  // The shape's x stays small.
  std::replace(text.begin(), text.end(), 'X', 'x');
  return text;
}

/// An opcode of machine code, behind which wgmma's operands may be described.
std::optional<TensorInstruction> parse_opcode(std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  for (TensorInstruction instruction : tensor_instructions()) {
    if (instruction.kind == Kind::wmma || opcode_of(instruction) != text.substr(0, blank)) continue;
    Words rest(text.substr(blank));
    if (instruction.kind == Kind::wgmma) parse_operands(rest, instruction);
    return instruction;
  }
  return std::nullopt;
}

std::string to_string(const SharedForm& form) {
  const int S = span_of(form.swizzle);
  return fmt::format("{}/{}", form.major == Major::k ? "k" : "mn", S == 0 ? "none" : std::to_string(S));
}

}  // namespace

const std::vector<TensorInstruction>& tensor_instructions() {
  static const std::vector<TensorInstruction> all = all_instructions();
  return all;
}

std::string to_string(const TensorInstruction& i) {
  if (i.moves_matrices()) return fmt::format("{} x{}{}", name_of(i.kind), i.matrices, i.transposed ? ".trans" : "");
  std::string text = fmt::format("{} {} {}", name_of(i.kind), shape_of(i), types_of(i));
  if (i.a_shared) text += fmt::format(" a={}", to_string(*i.a_shared));
  if (i.kind == Kind::wgmma && i.b_shared != SharedForm{}) text += fmt::format(" b={}", to_string(i.b_shared));
  return text;
}

std::string ptx_name(const TensorInstruction& i) {
  const char *const a = emulator::name_of(i.a), *const b = emulator::name_of(i.b), *const d = emulator::name_of(i.d);
  switch (i.kind) {
    case Kind::mma: return fmt::format("mma.sync.aligned.{0}.row.col.{3}.{1}.{2}.{3}", shape_of(i), a, b, d);
    case Kind::wgmma: return fmt::format("wgmma.mma_async.sync.aligned.{}.{}.{}.{}", shape_of(i), d, a, b);
    case Kind::wmma: return fmt::format("wmma::mma_sync of {} x {} x {}, {}, sums of {}", i.M, i.N, i.K, a, d);
    default:
      return fmt::format("{}.sync.aligned.m8n8.x{}{}.shared.b16", name_of(i.kind), i.matrices,
                         i.transposed ? ".trans" : "");
  }
}

TensorInstruction parse_tensor_instruction(std::string_view text) {
  if (const auto instruction = parse_opcode(text)) return *instruction;
  Words words(text);
  const std::string first = words.take();
  const auto name = std::find(std::begin(kind_names), std::end(kind_names), first);
  if (name == std::end(kind_names))
    throw InvalidArgument(fmt::format(
        "no instruction of tensor cores is named \"{}\"; there are {}, and opcodes of machine code such as {}", first,
        fmt::join(kind_names, ", "), opcode_of(tensor_instructions().front())));
  const Kind kind = static_cast<Kind>(name - std::begin(kind_names));
  const TensorInstruction instruction = TensorInstruction{.kind = kind}.moves_matrices() ? parse_movement(words, kind)
                                                                                         : parse_product(words, kind);
  if (!words.at_end())
    throw InvalidArgument(fmt::format("{}: \"{}\" is more than was expected", to_string(instruction), words.peek()));
  return instruction;
}

std::string tensor_instruction_grammar() {
  std::string text =
      "INSTRUCTION   mma SHAPE TYPES   wmma SHAPE TYPES   wgmma SHAPE TYPES [a=PLACE] [b=PLACE]\n"
      "              ldmatrix x1|x2|x4[.trans]   stmatrix x1|x2|x4[.trans]\n"
      "              or its name in PTX, or the opcode of machine code\n"
      "  SHAPE    M, N and K: m16n8k16 or 16x8x16\n"
      "  TYPES    of A and B, of sums with a \"/\" before: bf16, f16/f16, e4m3 e5m2\n"
      "  PLACE    where an operand of wgmma is: k/128 (default of b), a major mode, k or mn, and the bytes of its\n"
      "           swizzle, none, 32, 64 or 128; or registers (default of a)\n\nThere are\n";
  // Types that have the same shapes, in one line.
  for (const Kind kind : {Kind::mma, Kind::wgmma, Kind::wmma}) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (const std::string& types : different(those([&](const auto& i) { return i.kind == kind; }), types_of)) {
      const std::string shapes = shapes_text(
          those([&](const TensorInstruction& i) { return i.kind == kind && types_of(i) == types; }));
      const auto same = std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.first == shapes; });
      if (same == lines.end())
        lines.emplace_back(shapes, types);
      else
        same->second += ", " + types;
    }
    for (const auto& [shapes, types] : lines)
      text += "  " + report::paragraph(fmt::format("{} {}: {}", name_of(kind), shapes, types), report::page_width - 2);
  }
  return text;
}

}  // namespace lapidary::lens
