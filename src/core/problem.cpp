#include "core/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>
#include <utility>

#include "core/batch.hpp"
#include "core/refusal.hpp"

namespace lapidary {
namespace {

char lower(const char* name) { return static_cast<char>(name[0] - 'A' + 'a'); }

/// What a matrix's rows and columns are called.
std::pair<const char*, const char*> sides(Matrix matrix) {
  switch (matrix) {
    case Matrix::A: return {"M", "K"};
    case Matrix::B: return {"K", "N"};
    default: return {"M", "N"};
  }
}

int aligned(const Problem& p, Matrix matrix) {
  switch (matrix) {
    case Matrix::A: return p.aligned.A;
    case Matrix::B: return p.aligned.B;
    case Matrix::C: return p.aligned.C;
    case Matrix::D: break;
  }
  return p.aligned.D;
}

void validate_shape(const MatrixShape& x, const char* name, char letter,
                    const std::pair<const char*, const char*>& of) {
  if (x.ld < x.length()) {
    const bool row_major = x.order == Order::row_major;
    const auto [rows, cols] = of;
    throw Refusal(RefusalId::ld_length,
                  fmt::format("ld{} is {}; a {} of {} has {} = {} elements, so it must be at least {}", letter, x.ld,
                              row_major ? "row" : "column", name, row_major ? cols : rows, x.length(), x.length()));
  }
  if (x.empty()) return;
  std::int64_t extent = 0;
  if (__builtin_mul_overflow(x.lines() - 1, x.ld, &extent) || __builtin_add_overflow(extent, x.length(), &extent) ||
      __builtin_mul_overflow(extent, std::int64_t{size_of(x.type)}, &extent)) {
    throw Refusal(RefusalId::shape_bytes,
                  fmt::format("{} is {} x {} {} with leading dimension {}; it must take less than 2^63 bytes", name,
                              x.rows, x.cols, lapidary::name_of(x.type), x.ld));
  }
}

void validate_pointer(const MatrixShape& x, const char* name, const void* data) {
  if (!data)
    throw Refusal(RefusalId::pointer_null,
                  fmt::format("{} is null; it must point to {} x {} elements", name, x.rows, x.cols));
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if (address % static_cast<unsigned>(size_of(x.type)) != 0) {
    throw Refusal(RefusalId::alignment_element,
                  fmt::format("{} is at {}; its address must be a multiple of the {} bytes of an element", name, data,
                              size_of(x.type)));
  }
  // Addresses are counted in 63 bits below.
  if (address > static_cast<std::uintptr_t>(INT64_MAX - x.bytes())) {
    throw Refusal(RefusalId::pointer_range,
                  fmt::format("{} is at {} and takes {} bytes; it must end below 2^63", name, data, x.bytes()));
  }
}

void validate_pointer(const Problem& p, const Operands& operands, Matrix matrix) {
  const MatrixShape x = shape_of(p, matrix);
  if (x.empty()) return;
  const char* const name = name_of(matrix);
  const void* const data = operands[matrix];
  validate_pointer(x, name, data);
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if (address % static_cast<unsigned>(aligned(p, matrix)) != 0) {
    throw Refusal(
        RefusalId::alignment_stated,
        fmt::format("{} is at {}; the problem says that its address is a multiple of {} bytes: say {}, or move it",
                    name, data, aligned(p, matrix), address & (~address + 1)));
  }
}

/// The bytes of a matrix, as lines of `length` bytes that begin every `pitch` bytes.
struct Bytes {
  std::int64_t begin, lines, length, pitch;

  Bytes(const MatrixShape& x, const void* data)
      : begin(reinterpret_cast<std::intptr_t>(data)),
        lines(x.lines()),
        length(x.length() * size_of(x.type)),
        // The leading dimension of a single line is never walked and may be too large to be counted in bytes.
        pitch(lines > 1 ? x.ld * size_of(x.type) : length) {}

  std::int64_t end() const { return begin + (lines - 1) * pitch + length; }
};

/// Whether two matrices share an element. Blocks of one larger matrix overlap as ranges of addresses without doing so:
/// each line of the one with fewer lines is held against the few lines of the other that could meet it.
bool overlap(const MatrixShape& of_x, const void* x, const MatrixShape& of_y, const void* y) {
  if (of_x.empty() || of_y.empty()) return false;
  Bytes a(of_x, x), b(of_y, y);
  if (a.lines > b.lines) std::swap(a, b);
  if (a.end() <= b.begin || b.end() <= a.begin) return false;
  const auto floor_div = [](std::int64_t dividend, std::int64_t divisor) {
    return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
  };
  for (std::int64_t line = 0; line < a.lines; ++line) {
    const std::int64_t begin = a.begin + line * a.pitch;
    // The first that ends behind `begin`, and the last that begins before its end.
    const std::int64_t first = floor_div(begin - b.length - b.begin, b.pitch) + 1,
                       last = floor_div(begin + a.length - 1 - b.begin, b.pitch);
    if (std::max<std::int64_t>(first, 0) <= std::min(last, b.lines - 1)) return true;
  }
  return false;
}

void validate_factor(const char* name, Factor known, float value, const float* in_device_memory) {
  if (known == Factor::in_device_memory) {
    if (!in_device_memory)
      throw Refusal(RefusalId::pointer_null,
                    fmt::format("device_{} is null; the problem says that {} is in device memory", name, name));
    if (reinterpret_cast<std::uintptr_t>(in_device_memory) % sizeof(float) != 0)
      throw Refusal(RefusalId::alignment_element,
                    fmt::format("device_{} is {}; its address must be a multiple of the 4 bytes of an f32", name,
                                static_cast<const void*>(in_device_memory)));
  }
  if (known == Factor::any || known == Factor::in_device_memory || known == factor_of(value)) return;
  throw Refusal(RefusalId::factor_stated,
                fmt::format("{} is {}; the problem says that it is {}", name, value, name_of(known)));
}

/// @param of  what it is `what` of, if it is of something
/// @throws Refusal unless it is one of its type's values, the last of which is `last`
template <class Enum>
void validate_choice(const char* what, const char* of, Enum value, Enum last) {
  if (static_cast<int>(value) < 0 || value > last) {
    throw Refusal(RefusalId::value_unknown, fmt::format("{}{} has value {}; values are 0 to {}", what, of,
                                                        static_cast<int>(value), static_cast<int>(last)));
  }
}

void validate_types(const GemmKind& kind) {
  for (const auto& [type, of, legal] :
       {std::tuple(kind.type, "A and B", "f32, f16, bf16, tf32, e4m3 or s8"),
        std::tuple(kind.result, "C and D", "f32, f16 or bf16, or of s32 where A and B are of s8")})
    if (type > Type::s32)
      throw Refusal(RefusalId::type_value, fmt::format("the element type of {} has value {}; they must be of {}", of,
                                                       static_cast<int>(type), legal));
  if (std::find(std::begin(operand_types), std::end(operand_types), kind.type) == std::end(operand_types))
    throw Refusal(
        RefusalId::type_value,
        fmt::format("A and B are of {}; they must be of f32, f16, bf16, tf32, e4m3 or s8", name_of(kind.type)));
  if (!is_result(kind.result) || (kind.result == Type::s32 && kind.type != Type::s8))
    throw Refusal(
        RefusalId::type_result,
        fmt::format("C and D are of {}, A and B of {}; C and D must be of f32, f16 or bf16, or of s32 where A "
                    "and B are of s8",
                    name_of(kind.result), name_of(kind.type)));
}

/// Of results of s32: they are sums of products as they are.
void validate_sums(const Problem& p) {
  for (const auto& [name, factor, legal] :
       {std::tuple("alpha", p.alpha, Factor::one), std::tuple("beta", p.beta, Factor::zero)})
    if (factor != legal)
      throw Refusal(RefusalId::factor_s32,
                    fmt::format("what is known of {} is {}; where C and D are of s32 it must be {}", name,
                                name_of(factor), name_of(legal)));
  if (p.epilogue != Epilogue{})
    throw Refusal(RefusalId::epilogue_s32,
                  fmt::format("the epilogue is {}; where C and D are of s32 it must be none", to_string(p.epilogue)));
}

/// @throws Refusal if D shares an element with what is at `data`
void require_apart(const Problem& p, const Operands& operands, const MatrixShape& x, const char* name,
                   const void* data) {
  if (overlap(shape_of(p, Matrix::D), operands.D, x, data))
    throw Refusal(
        RefusalId::overlap_input,
        fmt::format("D is at {} and shares elements with {} at {}; it must share none, since {} is read while "
                    "D is written",
                    operands.D, name, data, name));
}

/// Of those that are in device memory.
void validate_factors_apart(const Problem& p, const Operands& operands) {
  constexpr MatrixShape number = {Type::f32, 1, 1, 1, Order::row_major};
  for (const auto& [name, known, factor] :
       {std::tuple("alpha", p.alpha, operands.device_alpha), std::tuple("beta", p.beta, operands.device_beta)}) {
    if (known != Factor::in_device_memory) continue;
    const void* const data = factor;
    validate_pointer(number, name, data);
    require_apart(p, operands, number, name, data);
  }
}

void validate_epilogue(const Problem& p, const Operands& operands) {
  const MatrixShape d = shape_of(p, Matrix::D);
  if (const std::int64_t length = bias_length(p); length > 0) {
    const MatrixShape bias = {p.kind.result, 1, length, length, Order::row_major};
    validate_pointer(bias, "the bias", operands.bias);
    require_apart(p, operands, bias, "the bias", operands.bias);
  }
  if (p.epilogue.residual && !d.empty()) {
    const MatrixShape residual = shape_of_residual(p);
    validate_pointer(residual, "the residual", operands.residual);
    const bool same = operands.residual == operands.D && p.ldr == p.ldd;
    if (!same && overlap(d, operands.D, residual, operands.residual))
      throw Refusal(RefusalId::overlap_residual,
                    fmt::format("D is at {} and shares elements with the residual at {}; it must be that, with "
                                "ldd = ldr, or share none",
                                operands.D, operands.residual));
  }
  if (p.epilogue.clamp && !(operands.low <= operands.high))
    throw Refusal(RefusalId::epilogue_clamp,
                  fmt::format("results are to be clamped to {} to {}; the first must be at most the second",
                              operands.low, operands.high));
}

/// Of problems of several groups: each has a B.
void validate_groups(const Problem& p) {
  if (p.groups < 0)
    throw Refusal(RefusalId::groups_count, fmt::format("there are {} groups; there are 0 or more", p.groups));
  const MatrixShape b = shape_of(p, Matrix::B);
  if (p.groups <= 1 || b.empty()) return;
  if (p.batch.stride_b < 0)
    throw Refusal(RefusalId::batch_stride,
                  fmt::format("B begins {} elements after the one before; the strides of those of groups are 0 or more",
                              p.batch.stride_b));
  std::int64_t last = 0;
  if (__builtin_mul_overflow(std::int64_t{p.groups - 1}, p.batch.stride_b, &last) ||
      __builtin_add_overflow(last, b.extent(), &last) ||
      __builtin_mul_overflow(last, std::int64_t{size_of(b.type)}, &last))
    throw Refusal(RefusalId::batch_bytes,
                  fmt::format("{} matrices B that begin every {} elements take more than 2^63 bytes", p.groups,
                              p.batch.stride_b));
}

void validate_group_ends(const Problem& p, const Operands& operands) {
  // As long as so many numbers of 32 bits.
  const MatrixShape ends = {Type::s32, 1, std::int64_t{2} * p.groups, std::int64_t{2} * p.groups, Order::row_major};
  if (!operands.group_ends)
    throw Refusal(RefusalId::pointer_null,
                  fmt::format("group_ends is null; it must point to {} numbers in device memory", p.groups));
  const auto* const data = static_cast<const void*>(operands.group_ends);
  if (reinterpret_cast<std::uintptr_t>(data) % sizeof(std::int64_t) != 0)
    throw Refusal(RefusalId::alignment_element,
                  fmt::format("group_ends is {}; its address must be a multiple of the 8 bytes of a number", data));
  validate_pointer(ends, "group_ends", data);
  require_apart(p, operands, ends, "group_ends", data);
}

constexpr const char* bias_names[] = {"", "bias_of_columns", "bias_of_rows"};
constexpr const char* activation_names[] = {"", "relu", "gelu_erf", "gelu_tanh", "silu"};

}  // namespace

bool Problem::reads_c() const { return beta != Factor::zero; }

const void* Operands::operator[](Matrix matrix) const {
  switch (matrix) {
    case Matrix::A: return A;
    case Matrix::B: return B;
    case Matrix::C: return C;
    case Matrix::D: break;
  }
  return D;
}

bool MatrixShape::empty() const { return rows == 0 || cols == 0; }
std::int64_t MatrixShape::lines() const { return order == Order::row_major ? rows : cols; }
std::int64_t MatrixShape::length() const { return order == Order::row_major ? cols : rows; }
std::int64_t MatrixShape::extent() const { return empty() ? 0 : (lines() - 1) * ld + length(); }
std::int64_t MatrixShape::bytes() const { return extent() * size_of(type); }

MatrixShape shape_of(const Problem& p, Matrix matrix) {
  switch (matrix) {
    case Matrix::A: return {p.kind.type, p.M, p.K, p.lda, p.kind.a};
    case Matrix::B: return {p.kind.type, p.K, p.N, p.ldb, p.kind.b};
    case Matrix::C: return {p.kind.result, p.M, p.N, p.ldc, p.order_d};
    case Matrix::D: break;
  }
  return {p.kind.result, p.M, p.N, p.ldd, p.order_d};
}

MatrixShape shape_of_residual(const Problem& p) { return {p.kind.result, p.M, p.N, p.ldr, p.order_d}; }

std::int64_t bias_length(const Problem& p) {
  switch (p.epilogue.bias) {
    case Bias::none: break;
    case Bias::of_columns: return p.N;
    case Bias::of_rows: return p.M;
  }
  return 0;
}

Problem resolved(Problem p) {
  if (p.in_place && p.ldc == 0) p.ldc = p.ldd;
  if (p.in_place && p.ldd == 0) p.ldd = p.ldc;
  if (p.lda == 0) p.lda = shape_of(p, Matrix::A).length();
  if (p.ldb == 0) p.ldb = shape_of(p, Matrix::B).length();
  if (p.ldc == 0) p.ldc = shape_of(p, Matrix::C).length();
  if (p.ldd == 0) p.ldd = shape_of(p, Matrix::D).length();
  p.ldr = !p.epilogue.residual ? 0 : p.ldr == 0 ? shape_of_residual(p).length() : p.ldr;
  if (!p.epilogue.residual) p.batch.stride_residual = 0;
  return p;
}

bool vectorizable(const Problem& p) {
  return std::all_of(std::begin(all_matrices), std::end(all_matrices), [&](Matrix matrix) {
    if (matrix == Matrix::C && !p.reads_c()) return true;
    const MatrixShape x = shape_of(p, matrix);
    const std::int64_t lanes = 16 / size_of(x.type);
    return aligned(p, matrix) % 16 == 0 && x.ld % lanes == 0 && x.length() % lanes == 0;
  });
}

void validate(const Problem& p) {
  validate_types(p.kind);
  for (const auto& [name, order] : {std::pair{"A", p.kind.a}, std::pair{"B", p.kind.b}, std::pair{"D", p.order_d}})
    validate_choice("the order of ", name, order, Order::column_major);
  for (const auto& [name, factor] : {std::pair{"alpha", p.alpha}, std::pair{"beta", p.beta}})
    validate_choice("what is known of ", name, factor, Factor::in_device_memory);
  validate_choice("the bias", "", p.epilogue.bias, Bias::of_rows);
  validate_choice("the activation", "", p.epilogue.activation, Activation::silu);
  validate_choice("the scaling", "", p.scaling, Scaling::blocks);
  if (p.kind.result == Type::s32) validate_sums(p);
  for (const auto& [name, size] : {std::pair{"M", p.M}, std::pair{"N", p.N}, std::pair{"K", p.K}}) {
    if (size < 0) throw Refusal(RefusalId::shape_size, fmt::format("{} is {}; sizes must be 0 or more", name, size));
  }
  for (const Matrix matrix : all_matrices) {
    if (matrix != Matrix::C || p.reads_c())
      validate_shape(shape_of(p, matrix), name_of(matrix), lower(name_of(matrix)), sides(matrix));
    const int bytes = aligned(p, matrix);
    if (bytes < 1 || !std::has_single_bit(static_cast<unsigned>(bytes))) {
      throw Refusal(RefusalId::alignment_value,
                    fmt::format("{} is said to be aligned to {} bytes; it must be a power of two, as in 16",
                                name_of(matrix), bytes));
    }
  }
  if (p.epilogue.residual) validate_shape(shape_of_residual(p), "the residual", 'r', sides(Matrix::D));
  validate_groups(p);
  if (p.in_place && p.reads_c() && p.ldc != p.ldd) {
    throw Refusal(RefusalId::in_place_ld,
                  fmt::format("D is C, but ldc is {} and ldd is {}; they must be equal", p.ldc, p.ldd));
  }
}

void validate(const Problem& p, const Operands& operands) {
  if (p.M == 0 || p.N == 0 || p.batch.count == 0) return;  // nothing is read or written
  validate_factor("alpha", p.alpha, operands.alpha, operands.device_alpha);
  validate_factor("beta", p.beta, operands.beta, operands.device_beta);
  if (p.epilogue != Epilogue{}) validate_epilogue(p, operands);
  if (p.groups > 0) validate_group_ends(p, operands);
  const bool reads_c = p.reads_c() && (p.beta == Factor::in_device_memory || operands.beta != 0);
  const bool multiplies = p.alpha != Factor::zero;
  for (const Matrix matrix : all_matrices)
    if (matrix == Matrix::D || (matrix == Matrix::C ? reads_c : multiplies)) validate_pointer(p, operands, matrix);
  validate_factors_apart(p, operands);
  for (const Matrix input : {Matrix::A, Matrix::B})
    if (multiplies) require_apart(p, operands, shape_of(p, input), name_of(input), operands[input]);
  if (!reads_c) return;
  if ((operands.C == operands.D) != p.in_place) {
    throw Refusal(RefusalId::in_place_address, fmt::format("D is at {} and C at {}; the problem says that D is {}C",
                                                           operands.D, operands.C, p.in_place ? "" : "not "));
  }
  if (!p.in_place && overlap(shape_of(p, Matrix::D), operands.D, shape_of(p, Matrix::C), operands.C))
    throw Refusal(
        RefusalId::overlap_c,
        fmt::format("D is at {} and shares elements with C at {}; it must be C, with ldd = ldc, or share none",
                    operands.D, operands.C));
}

Problem with_known(Problem p, const Operands& operands) {
  if (p.alpha != Factor::in_device_memory) p.alpha = factor_of(operands.alpha);
  if (p.beta != Factor::in_device_memory) p.beta = factor_of(operands.beta);
  p.in_place = p.reads_c() && operands.C && operands.C == operands.D;
  // Of what is not there anything may be said.
  const auto bytes = [](const void* data) {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    return static_cast<int>(std::min<std::uintptr_t>(address ? address & (~address + 1) : 256, 256));
  };
  p.aligned = {bytes(operands.A), bytes(operands.B), bytes(operands.C), bytes(operands.D)};
  return p;
}

std::optional<BrokenRule> unsupported(const Problem& p, bool finishes, bool batches, bool groups) {
  using enum RefusalId;
  const auto factor = [](const char* name) {
    return BrokenRule{kernel_problem,
                      fmt::format("{} is in device memory; kernels take it from the host, by value", name)};
  };
  if (p.alpha == Factor::in_device_memory) return factor("alpha");
  if (p.beta == Factor::in_device_memory) return factor("beta");
  if (p.batch.count != 1 && !(batches && p.batch.count > 0))
    return {{kernel_problem,
             fmt::format("there are {} products in the batch; this kernel does 1 a launch", p.batch.count)}};
  if (p.groups != 0 && !groups)
    return {{unsupported_groups,
             fmt::format("there are {} groups of products; this kernel does one product, whose M is known", p.groups)}};
  if (p.order_d != Order::row_major)
    return {
        {kernel_problem,
         "C and D are column-major; results are row-major: exchange A and B, and take each of them in the other order"}};
  if (p.epilogue != Epilogue{} && !finishes)
    return {{kernel_problem,
             fmt::format("{} is to follow; kernels store alpha * A * B + beta * C as it is", to_string(p.epilogue))}};
  if (p.scaling != Scaling::none) return {{unsupported_scaling, "A and B have scales; kernels scale by alpha alone"}};
  if (p.split != 1 && !(batches && is_split(p)))
    return {{unsupported_split, fmt::format("K is to be split in {}; kernels add up all of it in 1", p.split)}};
  return {};
}

std::string to_string(const GemmKind& kind) {
  const auto letter = [](Order order) { return order == Order::row_major ? 'R' : 'C'; };
  const bool row_major = kind.a == Order::row_major && kind.b == Order::row_major;
  return fmt::format("{}{}{}{}", name_of(kind.type), kind.result == kind.type ? "" : "/",
                     kind.result == kind.type ? "" : name_of(kind.result),
                     row_major ? "" : fmt::format(" {}{}", letter(kind.a), letter(kind.b)));
}

std::string to_string(const Epilogue& e) {
  std::string text;
  for (const std::string_view part :
       {std::string_view(bias_names[static_cast<std::size_t>(e.bias)]),
        std::string_view(activation_names[static_cast<std::size_t>(e.activation)]),
        std::string_view(e.scale ? "scale" : ""), std::string_view(e.residual ? "residual" : ""),
        std::string_view(e.clamp ? "clamp" : "")})
    if (!part.empty()) text += fmt::format("{}{}", text.empty() ? "" : "-", part);
  return text.empty() ? "none" : text;
}

const char* name_of(Matrix matrix) {
  constexpr const char* names[] = {"A", "B", "C", "D"};
  return names[static_cast<std::size_t>(matrix)];
}

const char* name_of(Factor factor) {
  switch (factor) {
    case Factor::zero: return "0";
    case Factor::one: return "1";
    case Factor::any: return "any number";
    case Factor::in_device_memory: break;
  }
  return "in device memory";
}

Type parse_type(std::string_view name) {
  std::string names;
  for (int value = 0; value <= static_cast<int>(Type::s32); ++value) {
    const auto type = static_cast<Type>(value);
    if (name == name_of(type)) return type;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(type));
  }
  if (name == "f64" || name == "e5m2")
    throw Refusal(RefusalId::type_value, fmt::format("no kernel has elements of {}; there are {}", name, names));
  throw Refusal(RefusalId::type_value, fmt::format("no element type is named '{}'; there are {}", name, names));
}

GemmKind parse_kind(std::string_view text) {
  const std::size_t blank = text.find(' ');
  const std::string_view types = text.substr(0, blank), orders = blank == text.npos ? "RR" : text.substr(blank + 1);
  const std::size_t slash = types.find('/');
  const Type type = parse_type(types.substr(0, slash));
  const Type result = slash == types.npos ? GemmKind(type).result : parse_type(types.substr(slash + 1));
  if (orders.size() != 2 || orders.find_first_not_of("RC") != orders.npos) {
    throw InvalidArgument(
        fmt::format("'{}' are no orders of A and B; they are written RR, RC, CR or CC, R for row-major", orders));
  }
  const auto order = [](char letter) { return letter == 'R' ? Order::row_major : Order::column_major; };
  return {type, result, order(orders[0]), order(orders[1])};
}

Epilogue parse_epilogue(std::string_view text) {
  Epilogue e;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('-');
    const std::string_view part = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    for (std::size_t i = 1; i < std::size(bias_names); ++i)
      if (part == bias_names[i]) e.bias = static_cast<Bias>(i);
    for (std::size_t i = 1; i < std::size(activation_names); ++i)
      if (part == activation_names[i]) e.activation = static_cast<Activation>(i);
    e.scale |= part == "scale";
    e.residual |= part == "residual";
    e.clamp |= part == "clamp";
  }
  // What was read is written again and held against the text, so that nothing has to be strict.
  if (to_string(e) != text)
    throw Refusal(
        RefusalId::epilogue_text,
        fmt::format(
            "'{}' is no epilogue; it is none, or of these in this order, with - between them: bias_of_columns or "
            "bias_of_rows; relu, gelu_erf, gelu_tanh or silu; scale; residual; clamp",
            text));
  return e;
}

}  // namespace lapidary
